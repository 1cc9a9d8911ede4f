#include "spec/language/builtins.h"

#include <array>
#include <cctype>
#include <unordered_map>

namespace ulpian::language {
namespace {

struct Row {
  std::string_view name;
  Builtin builtin;
};

constexpr std::array Rows{
    Row{"true", Builtin::True}, Row{"false", Builtin::False}, Row{"inf", Builtin::Infinity}, Row{"nan", Builtin::NotANumber}, Row{"pi", Builtin::Pi},
    Row{"absent", Builtin::Absent}, Row{"present", Builtin::Present}, Row{"is_sequence", Builtin::IsSequence}, Row{"is_optional", Builtin::IsOptional}, Row{"len", Builtin::Len}, Row{"rank", Builtin::Rank}, Row{"shape", Builtin::Shape},
    Row{"type_of", Builtin::TypeOf}, Row{"values", Builtin::Values}, Row{"extent", Builtin::Extent}, Row{"range", Builtin::Range}, Row{"sort", Builtin::Sort},
    Row{"reverse", Builtin::Reverse}, Row{"find", Builtin::Find}, Row{"sum", Builtin::Sum}, Row{"prod", Builtin::Product}, Row{"min", Builtin::Minimum},
    Row{"max", Builtin::Maximum}, Row{"all", Builtin::All}, Row{"any", Builtin::Any}, Row{"refuse", Builtin::Refuse}, Row{"split", Builtin::Split},
    Row{"chars", Builtin::Chars}, Row{"replace", Builtin::Replace}, Row{"bits_of", Builtin::BitsOf}, Row{"is_float", Builtin::IsFloat},
    Row{"is_int", Builtin::IsInteger}, Row{"is_signed", Builtin::IsSigned}, Row{"is_complex", Builtin::IsComplex}, Row{"lowest", Builtin::Lowest},
    Row{"highest", Builtin::Highest}, Row{"wide", Builtin::Wide}, Row{"cast", Builtin::Cast}, Row{"bits", Builtin::Bits}, Row{"exactly", Builtin::Exactly},
    Row{"unspecified", Builtin::Unspecified}, Row{"random", Builtin::Random}, Row{"encoding", Builtin::Encoding}, Row{"measured", Builtin::Measured}, Row{"int", Builtin::Integer},
    Row{"real", Builtin::Real}, Row{"result_type", Builtin::ResultType}, Row{"sequence_of", Builtin::SequenceOf}, Row{"host", Builtin::Host},
};

std::unordered_map<std::string_view, BuiltinName> table() {
  std::unordered_map<std::string_view, BuiltinName> out;
  for (const Row& r : Rows) {
    BuiltinName b{r.builtin};
    if (r.name == "min") b.primitive = Primitive::Minimum;
    if (r.name == "max") b.primitive = Primitive::Maximum;
    out.emplace(r.name, b);
  }
  for (int k = 0; k < PrimitiveCount; ++k) {
    const PrimitiveRow& row = row_of(static_cast<Primitive>(k));
    if (std::isalpha(static_cast<unsigned char>(row.name[0])) && row.kind != PrimitiveKind::Logic) out.emplace(row.name, BuiltinName{Builtin::Primitive, row.primitive});
  }
  for (int k = 0; k < ElementTypeCount; ++k) {
    const auto t = static_cast<ElementType>(k);
    if (t != ElementType::Z && t != ElementType::R) out.emplace(name_of(t), BuiltinName{Builtin::Type, Primitive::Add, t});
  }
  return out;
}

}  // namespace

std::optional<BuiltinName> builtin_named(std::string_view name) {
  static const auto Table = table();
  auto it = Table.find(name);
  return it == Table.end() ? std::nullopt : std::optional(it->second);
}

}  // namespace ulpian::language
