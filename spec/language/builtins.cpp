#include "spec/language/builtins.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace ulpian::language {
namespace {

struct Row {
  std::string_view name;
  Builtin builtin;
};

constexpr std::array Rows{
    Row{"true", Builtin::True}, Row{"false", Builtin::False}, Row{"inf", Builtin::Infinity}, Row{"nan", Builtin::NotANumber}, Row{"pi", Builtin::Pi},
    Row{"absent", Builtin::Absent}, Row{"present", Builtin::Present}, Row{"len", Builtin::Len}, Row{"rank", Builtin::Rank}, Row{"shape", Builtin::Shape},
    Row{"type_of", Builtin::TypeOf}, Row{"values", Builtin::Values}, Row{"extent", Builtin::Extent}, Row{"range", Builtin::Range}, Row{"sort", Builtin::Sort},
    Row{"reverse", Builtin::Reverse}, Row{"find", Builtin::Find}, Row{"sum", Builtin::Sum}, Row{"prod", Builtin::Product}, Row{"min", Builtin::Minimum},
    Row{"max", Builtin::Maximum}, Row{"all", Builtin::All}, Row{"any", Builtin::Any}, Row{"refuse", Builtin::Refuse}, Row{"split", Builtin::Split},
    Row{"chars", Builtin::Chars}, Row{"replace", Builtin::Replace}, Row{"bits_of", Builtin::BitsOf}, Row{"is_float", Builtin::IsFloat},
    Row{"is_int", Builtin::IsInteger}, Row{"is_signed", Builtin::IsSigned}, Row{"is_complex", Builtin::IsComplex}, Row{"lowest", Builtin::Lowest},
    Row{"highest", Builtin::Highest}, Row{"wide", Builtin::Wide}, Row{"cast", Builtin::Cast}, Row{"exactly", Builtin::Exactly},
    Row{"unspecified", Builtin::Unspecified}, Row{"random", Builtin::Random}, Row{"measured", Builtin::Measured}, Row{"int", Builtin::Integer},
    Row{"real", Builtin::Real}, Row{"host", Builtin::Host}, Row{"piece", Builtin::Piece}, Row{"piece_count", Builtin::PieceCount},
};

}  // namespace

std::optional<BuiltinName> builtin_named(std::string_view name) {
  auto it = std::find_if(Rows.begin(), Rows.end(), [&](const Row& r) { return r.name == name; });
  if (it != Rows.end()) {
    BuiltinName b{it->builtin};
    if (name == "min") b.primitive = Primitive::Minimum;
    if (name == "max") b.primitive = Primitive::Maximum;
    return b;
  }
  if (auto type = element_type_named(name); type && *type != ElementType::Z && *type != ElementType::R) return BuiltinName{Builtin::Type, Primitive::Add, *type};
  if (!name.empty() && std::isalpha(static_cast<unsigned char>(name[0])) && name != "and" && name != "or" && name != "not") {
    for (int arity : {1, 2})
      if (auto p = primitive_named(name, arity)) return BuiltinName{Builtin::Primitive, *p};
  }
  return std::nullopt;
}

}  // namespace ulpian::language
