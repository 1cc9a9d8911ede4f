#include "interp/scalar/terms.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "interp/canonical/canonical.h"
#include "spec/numbers/philox.h"
#include "spec/strings/text.h"

namespace ulpian::interp {
namespace {

using core::None;
using core::ReduceKind;
using core::Term;
using core::TermId;
using core::TermKind;
using Cause = Poison::Cause;

struct Deeper {
  int& depth;
  explicit Deeper(int& d) : depth(++d) {}
  ~Deeper() { --depth; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;
};

}  // namespace

Terms::Terms(const core::Program& program, const Limits& limits)
    : tensors(program.tensors.size()),
      sizes(program.sizes.size()),
      program_(program),
      limits_(limits),
      variables_(program.variables.size(), Value(std::int64_t{0})),
      changed_(program.variables.size()),
      memo_(program.terms.size()) {}

void Terms::set(core::Variable variable, Value value) {
  variables_[variable] = std::move(value);
  changed_[variable] = ++clock_;
}

// A value that was computed at `clock` still holds if no free variable was set since.
bool Terms::current(TermId id, std::uint64_t clock) const {
  if (clock == 0) return false;
  for (core::Variable v : program_.free_of(id))
    if (changed_[v] > clock) return false;
  return true;
}

Value Terms::value(TermId id) {
  const Deeper deeper(depth_);
  if (depth_ > MostTermDepth) stop(ErrorKind::Limit, fmt::format("terms nest deeper than {}", MostTermDepth), program_.term(id).place);
  for (;;) {
    tick();
    const Term& t = program_.term(id);
    const auto a = program_.arguments_of(id);
    switch (t.kind) {
      case TermKind::Constant: return constant(t);
      case TermKind::Variable: return variables_[t.data];
      case TermKind::Size:
        if (!sizes[t.data]) stop(ErrorKind::Input, fmt::format("the size \"{}\" does not follow from the inputs", program_.sizes[t.data].name), t.place);
        return *sizes[t.data];
      // What is chosen stands in the place of the select or read: chains of them need no depth.
      case TermKind::Select: {
        const Value condition = value(a[0]);
        if (is_poison(condition)) return condition;
        id = bits(condition) ? a[1] : a[2];
        continue;
      }
      case TermKind::ReadElse: {
        bool outside = false;
        Value v = read(id, a.first(a.size() - 1), outside);
        if (!outside) return v;
        id = a.back();
        continue;
      }
      case TermKind::Choice: id = a[0]; continue;
      default: break;
    }
    Memo& known = memo_[id];
    if (current(id, known.clock)) return known.value;
    Value v = compute(id);
    // Poison may pass: an element of a recurrence that is not there yet.
    if (is_poison(v)) return v;
    charge(held_by(v) - held_by(known.value));
    known = {clock_, v};
    return v;
  }
}

Value Terms::compute(TermId id) {
  const Term& t = program_.term(id);
  switch (t.kind) {
    case TermKind::Primitive: return primitive(id);
    case TermKind::Cast: {
      const TermId a = program_.arguments_of(id)[0];
      const Value v = value(a);
      return is_poison(v) ? v : apply_cast(program_.term(a).type, t.type, static_cast<CastMode>(t.operation), v, id);
    }
    case TermKind::Read: {
      bool outside = false;
      return read(id, program_.arguments_of(id), outside);
    }
    case TermKind::Reduce: return reduce(id);
    case TermKind::Fold: return fold(id);
    case TermKind::Nth: return nth(id);
    case TermKind::Unspecified: return zero_value(t.type);
    case TermKind::Random: return random(id);
    case TermKind::Constant:
    case TermKind::Variable:
    case TermKind::Size:
    case TermKind::Select:
    case TermKind::ReadElse:
    case TermKind::Choice: break;  // `value` has them
  }
  ensure(false);
}

Value Terms::constant(const Term& t) const {
  if (t.type == ElementType::Z) return static_cast<std::int64_t>(t.data);
  if (t.type == ElementType::R) return Real(program_.reals[t.data]);
  if (t.type == ElementType::String) return program_.texts[t.data];
  if (is_complex(t.type)) return Complex{t.data & 0xffffffffu, t.data >> 32};
  return Bits{t.data};
}

Value Terms::read(TermId id, std::span<const TermId> index, bool& outside) {
  const auto tensor = static_cast<core::TensorId>(program_.term(id).data);
  ensure(tensors[tensor].has_value(), program_.tensor(tensor).name);
  std::int64_t position = 0;
  std::optional<Poison> wrong;
  for (std::uint32_t axis = 0; axis < index.size(); ++axis) {
    const Value v = value(index[axis]);
    if (is_poison(v)) return v;
    const std::int64_t k = integer(v), extent = tensors[tensor]->extents()[axis];
    if ((k < 0 || k >= extent) && !wrong)
      wrong = Poison{.cause = Cause::OutOfRange, .term = id, .tensor = tensor, .axis = axis, .index = k, .extent = extent};
    if (!wrong) position = position * extent + k;
  }
  outside = wrong.has_value();
  if (wrong) return *wrong;
  Value v = tensors[tensor]->at(position);
  if (auto* p = std::get_if<Poison>(&v); p && p->cause == Cause::NotComputed && p->term == None) p->term = id, p->tensor = tensor;
  return v;
}

Value Terms::primitive(TermId id) {
  const auto a = program_.arguments_of(id);
  const ElementType type = program_.term(a[0]).type;
  if (type == ElementType::R || type == ElementType::String) check_time();  // exact numbers and texts may be long
  Value x[MostArguments];
  for (std::size_t k = 0; k < a.size(); ++k) {
    x[k] = value(a[k]);
    if (is_poison(x[k])) return x[k];
  }
  const auto p = static_cast<Primitive>(program_.term(id).operation);
  switch (p) {
    case Primitive::Concatenate: {
      const auto bytes = static_cast<std::int64_t>(text(x[0]).size() + text(x[1]).size());
      charge(bytes);  // no text that the memory does not hold
      release(bytes);
      break;
    }
    case Primitive::Piece: return piece(id, std::span(x, a.size()));
    case Primitive::PieceCount: return text_piece_count(text(x[0]), text(x[1]), integer(x[2]));
    case Primitive::Matches: return Bits{matches(text(x[0]), text(x[1])) ? 1u : 0u};
    default: break;
  }
  return apply_primitive(p, type, std::span(x, a.size()), id);
}

Value Terms::piece(TermId id, std::span<const Value> x) {
  Pieces& known = pieces_[id];
  const std::int64_t most = integer(x[2]);
  if (known.pieces.empty() || known.most != most || known.text != text(x[0]) || known.mark != text(x[1])) {
    const std::int64_t count = text_piece_count(text(x[0]), text(x[1]), most);
    const auto bytes = static_cast<std::int64_t>(text(x[0]).size()) + count * static_cast<std::int64_t>(sizeof(std::string_view));
    release(known.charged);
    known = Pieces{};
    charge(bytes);
    known.charged = bytes;
    known.text = text(x[0]);
    known.mark = text(x[1]);
    known.most = most;
    known.pieces = text_pieces(known.text, known.mark, most);
  }
  const std::int64_t k = integer(x[3]);
  return k >= 0 && k < static_cast<std::int64_t>(known.pieces.size()) ? std::string(known.pieces[static_cast<std::size_t>(k)]) : std::string();
}

bool Terms::matches(const std::string& text, const std::string& pattern) {
  const Pattern& compiled = patterns_.try_emplace(pattern, pattern).first->second;
  ensure(compiled.error().empty(), compiled.error());  // the elaborator refuses others
  return compiled.matches(text);
}

Value Terms::random(TermId id) {
  std::int64_t x[3] = {};
  const auto a = program_.arguments_of(id);
  for (std::size_t k = 0; k < a.size(); ++k) {
    const Value v = value(a[k]);
    if (is_poison(v)) return v;
    x[k] = integer(v);
  }
  return Bits{std::bit_cast<std::uint64_t>(random_unit(x[0], x[1], x[2]))};
}

// --- limits and errors

void Terms::check_time() {
  if (!limits_.stopped()) return;
  const bool cancelled = limits_.cancelled != nullptr && limits_.cancelled->load(std::memory_order_relaxed);
  stop(ErrorKind::Limit, cancelled ? "evaluation was cancelled" : "evaluation took longer than the time allowed");
}

void Terms::charge(std::int64_t bytes) {
  if (bytes > limits_.memory_bytes - memory_)
    stop(ErrorKind::Limit, fmt::format("{} bytes are needed beside {} in use; {} are allowed", bytes, memory_, limits_.memory_bytes));
  memory_ += bytes;
}

void Terms::stop(ErrorKind kind, std::string message, std::uint32_t place) const {
  Diagnostic d;
  d.kind = kind;
  d.message = program_.op.empty() ? std::move(message) : program_.op + ": " + message;
  if (place < program_.places.size()) d.place = program_.places[place];
  throw Stop{std::move(d)};
}

Diagnostic Terms::describe(const Poison& p) const {
  const std::string name = p.tensor == None ? "" : program_.tensor(p.tensor).name;
  Diagnostic d;
  d.kind = ErrorKind::Definition;
  switch (p.cause) {
    case Cause::OutOfRange:
      d.message = fmt::format("\"{}\" is read at index {} of axis {}, whose extent is {}", name, p.index, p.axis, p.extent);
      d.help("guard the read with `if`, or say with `else` what stands outside");
      break;
    case Cause::NotComputed: d.message = fmt::format("the recurrence reads \"{}\" before that element is defined", name); break;
    case Cause::Overflow: d.message = "an integer does not fit into 64 bits"; break;
    case Cause::DoesNotFit: d.message = fmt::format("the integer {} does not fit into {}", p.index, p.term == None ? "its type" : name_of(program_.term(p.term).type)); break;
    case Cause::Undecided:
      d.kind = ErrorKind::Limit;
      d.message = fmt::format("a comparison, floor or rounding of a real number is undecided at {} bits", Real::MostBits);
      break;
    case Cause::Empty: d.message = "the maximum, minimum or order of nothing has no value"; break;
    case Cause::Unsupported:
      d.kind = ErrorKind::Unsupported;
      d.message = "this operation is not available yet for strings or complex numbers";
      break;
  }
  if (!program_.op.empty()) d.message = program_.op + ": " + d.message;
  if (p.term != None) {
    d.place = program_.places.empty() ? Place{} : program_.places[program_.term(p.term).place];
    const std::string text = core::to_string(program_, p.term);
    if (text.size() <= 200) d.note("in " + text);
  }
  return d;
}

// --- loops

Loop::Loop(Terms& terms, std::span<const core::Variable> variables, std::span<const TermId> extents)
    : terms_(terms), variables_(variables), extents_(extents), at_(variables.size()), extent_(variables.size()) {
  for (core::Variable v : variables) former_.push_back(terms_.variables_[v]);
}

Loop::~Loop() {
  for (std::size_t k = 0; k < variables_.size(); ++k) terms_.set(variables_[k], std::move(former_[k]));
}

bool Loop::first() { return !surely_empty() && settle(0, false); }

// Whether an extent that no variable before it changes is 0: a box such as [2^62, 2^62, 0] is not to be walked through.
bool Loop::surely_empty() {
  for (std::size_t level = 1; level < extents_.size(); ++level) {
    for (core::Variable v : terms_.program_.free_of(extents_[level]))
      if (std::find(variables_.begin(), variables_.end(), v) != variables_.end()) return false;
    const Value extent = terms_.value(extents_[level]);
    if (is_poison(extent)) return false;
    if (integer(extent) > 0) continue;
    const Value outermost = terms_.value(extents_[0]);
    return !is_poison(outermost);
  }
  return false;
}
bool Loop::next() { return settle(variables_.size(), true); }

// Gives the variables from `level` on their first values; `carry` asks to step the variable before `level` first.
bool Loop::settle(std::size_t level, bool carry) {
  for (;;) {
    terms_.tick();
    if (carry) {
      do {
        if (level == 0) return false;
        --level;
      } while (++at_[level] >= extent_[level]);
      terms_.set(variables_[level], Value(at_[level]));
      ++level;
    }
    if (level == variables_.size()) return true;
    const Value extent = terms_.value(extents_[level]);
    if (const auto* p = std::get_if<Poison>(&extent)) {
      poison_ = *p;
      return false;
    }
    extent_[level] = integer(extent);
    carry = extent_[level] <= 0;
    if (carry) continue;
    at_[level] = 0;
    terms_.set(variables_[level], Value(std::int64_t{0}));
    ++level;
  }
}

std::int64_t Loop::count() {
  bool rectangular = true;
  for (TermId e : extents_)
    for (core::Variable v : terms_.program_.free_of(e))
      if (std::find(variables_.begin(), variables_.end(), v) != variables_.end()) rectangular = false;
  if (!first()) return 0;
  std::int64_t n = 1;
  if (rectangular) {
    for (std::int64_t e : extent_)
      if (__builtin_mul_overflow(n, e, &n)) return INT64_MAX;  // the time will not suffice
    return n;
  }
  while (next()) ++n;
  return n;
}

}  // namespace ulpian::interp
