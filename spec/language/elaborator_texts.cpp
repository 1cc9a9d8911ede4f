// The string primitives, on static strings and on elements.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "spec/language/elaborator.h"
#include "spec/strings/pattern.h"
#include "spec/strings/text.h"

namespace ulpian::language {

Value Elaborator::apply_text(const Context& c, Position at, Primitive p, std::span<const Value> arguments) {
  spend(1);
  std::array<Value, MostArguments> xs;
  ensure(arguments.size() <= xs.size());
  bool all_static = true;
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    const ElementType needed = argument_type(p, ElementType::String, k);
    xs[k] = needed == ElementType::Z ? index(c, at, arguments[k]) : scalar(c, at, arguments[k]);
    if (needed == ElementType::String && type_of(c, at, xs[k]) != ElementType::String)
      fail(c, at, fmt::format("{} of {}; it takes a string", name_of(p), describe_kind(xs[k])), ErrorKind::Definition, "numbers become strings by cast(string, e)");
    all_static = all_static && is_scalar_static(xs[k]);
  }
  const std::span<const Value> ready(xs.data(), arguments.size());
  if (p == Primitive::Matches) check_pattern(c, at, xs[1]);
  if (all_static) return static_text(p, ready);
  mark(c, at);
  std::array<core::TermId, MostArguments> ids{};
  for (std::size_t k = 0; k < ready.size(); ++k) ids[k] = to(c, at, xs[k], argument_type(p, ElementType::String, k));
  mark(c, at);
  return of_term(b_.primitive(p, std::span<const core::TermId>(ids.data(), ready.size())));
}

void Elaborator::check_pattern(const Context& c, Position at, const Value& pattern) {
  if (!pattern.is(Tag::String)) fail(c, at, "the pattern of matches must be known when the operator is applied");
  spend(pattern.string->size());
  if (const Pattern compiled(*pattern.string); !compiled.error().empty())
    fail_requirement(c, at, fmt::format("{:?} is no pattern of RE2: {}", *pattern.string, compiled.error()));
}

Value Elaborator::static_text(Primitive p, std::span<const Value> xs) {
  const std::string& x = *xs[0].string;
  spend(x.size() / 64);
  switch (p) {
    case Primitive::Length: return Value::of(text_length(x));
    case Primitive::Lower: return string(text_lower(x));
    case Primitive::Upper: return string(text_upper(x));
    case Primitive::Concatenate: return string(x + *xs[1].string);
    case Primitive::Matches: return Value::of_bool(Pattern(*xs[1].string).matches(x));
    case Primitive::PieceCount: return Value::of(text_piece_count(x, *xs[1].string, xs[2].integer));
    case Primitive::Piece: {
      const auto pieces = text_pieces(x, *xs[1].string, xs[2].integer);
      const std::int64_t k = xs[3].integer;
      return string(k >= 0 && k < static_cast<std::int64_t>(pieces.size()) ? std::string(pieces[static_cast<std::size_t>(k)]) : std::string());
    }
    default: ensure(false, name_of(p));
  }
}

}  // namespace ulpian::language
