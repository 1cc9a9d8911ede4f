#include "interp/ideal/ideal.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "interp/ideal/enclosures.h"
#include "interp/ideal/nearness.h"
#include "interp/ideal/real_element.h"

namespace ulpian::interp {
namespace {

// What an operation over the reals takes, in canonical ones.
constexpr std::int64_t WorkOfStep = 100;
constexpr double Largest = std::numeric_limits<double>::max();

// The positions of elements, ascending.
using Positions = std::vector<std::int64_t>;

// An interval of f64 around a number; empty where there is none. An end is off by an ulp of f64 at most, which the radius is enlarged by.
std::optional<std::pair<double, double>> interval(double value, double radius) {
  const double magnitude = std::abs(value);
  // Without a radius the number itself, a zero with its sign.
  if (radius == 0 && magnitude <= Largest) return std::pair{value, value};
  radius = radius * (1 + 2 * RadiusSlack) + magnitude * 0x1p-51;
  if (!(magnitude <= Largest) || !(radius <= Largest)) return std::nullopt;
  return std::pair{value - radius, value + radius};
}

// What a run has found of an output: value + low, within a radius; a part that is missing is 0.
struct Found {
  const Tensor *values = nullptr, *lows = nullptr, *radii = nullptr;
};

// As a pair of f64 is rounded to f64: once, by an addition. Its low part's ends are off by less than an ulp of f64.
std::optional<Bits> rounded_pair(double value, double low, double radius) {
  if (!(std::abs(value) <= Largest) || !(std::abs(low) <= Largest) || !(radius <= Largest)) return std::nullopt;
  if (radius == 0) return std::bit_cast<Bits>(value == 0 ? value : value + low);  // a zero has its sign
  radius = radius * (1 + 2 * RadiusSlack) + std::abs(low) * 0x1p-51;
  const auto least = std::bit_cast<Bits>(value + (low - radius)), greatest = std::bit_cast<Bits>(value + (low + radius));
  return least == greatest ? std::optional(least) : std::nullopt;
}

Positions settle_pairs(const Found& found, Tensor& answer) {
  Positions left;
  const auto at = [](const Tensor* t, std::int64_t k) { return t ? t->data<double>()[k] : 0; };
  for (std::int64_t k = 0; k < answer.size(); ++k) {
    if (const auto bits = rounded_pair(found.values->data<double>()[k], at(found.lows, k), at(found.radii, k))) answer.set(k, *bits);
    else left.push_back(k);
  }
  return left;
}

// Elements of f32 whose intervals each round to one; false where one does not. Loops that compilers turn into vectors: nothing branches, and what is
// gathered over the elements is integers.
constexpr std::int64_t SettledAtOnce = 32;
bool settle_group(const double* values, const double* radii, float* to) {
  double least[SettledAtOnce], greatest[SettledAtOnce];
  float low[SettledAtOnce], high[SettledAtOnce];
  for (std::int64_t k = 0; k < SettledAtOnce; ++k) {
    const double radius = radii[k] * (1 + 2 * RadiusSlack) + std::abs(values[k]) * 0x1p-51;
    least[k] = values[k] - radius;
    greatest[k] = values[k] + radius;
  }
  // What is not finite makes the ends' difference so; its exponent, all ones, carries into the sign.
  std::uint64_t carries = 0;
  for (std::int64_t k = 0; k < SettledAtOnce; ++k) carries |= (std::bit_cast<std::uint64_t>(greatest[k] - least[k]) & ~(std::uint64_t{1} << 63)) + (std::uint64_t{1} << 52);
  for (std::int64_t k = 0; k < SettledAtOnce; ++k) low[k] = static_cast<float>(least[k]);
  for (std::int64_t k = 0; k < SettledAtOnce; ++k) high[k] = static_cast<float>(greatest[k]);
  std::uint32_t apart = 0;
  for (std::int64_t k = 0; k < SettledAtOnce; ++k) apart |= std::bit_cast<std::uint32_t>(low[k]) ^ std::bit_cast<std::uint32_t>(high[k]);
  std::memcpy(to, low, sizeof low);
  return apart == 0 && carries >> 63 == 0;
}

// Where both ends of an interval round to one element, that one; the positions of the others.
Positions settle(const Found& found, Tensor& answer, CastMode mode) {
  const ElementType type = answer.type();
  if (arithmetic_for(type) == Arithmetic::Pairs) return settle_pairs(found, answer);
  Positions left;
  const Tensor& values = *found.values;
  const Tensor exact = found.radii ? Tensor() : Tensor(ElementType::F64, values.extents());
  const double *v = values.data<double>(), *r = found.radii ? found.radii->data<double>() : exact.data<double>();
  const auto one = [&](std::int64_t k) {
    const auto ends = interval(v[k], r[k]);
    const Bits low = ends ? from_double(type, ends->first, mode) : 0;
    if (ends && low == from_double(type, ends->second, mode)) answer.set(k, low);
    else left.push_back(k);
  };
  if (type != ElementType::F32 || mode != CastMode::Plain) {
    for (std::int64_t k = 0; k < values.size(); ++k) one(k);
    return left;
  }
  // Most elements of f32 are decided: a group without a branch, and one by one where something in it is not.
  auto* to = answer.writable<float>();
  std::int64_t first = 0;
  for (; first + SettledAtOnce <= values.size(); first += SettledAtOnce)
    if (!settle_group(v + first, r + first, to + first))
      for (std::int64_t k = first; k < first + SettledAtOnce; ++k) one(k);
  for (; first < values.size(); ++first) one(first);
  return left;
}

// The quick way: what enclosures.h covers, and where both ends of an interval round to one element.
class Quick {
public:
  Quick(const core::Program& program, std::span<const std::optional<Tensor>> inputs, const Limits& limits, const block::Options& options)
      : p_(program), inputs_(inputs), limits_(limits), options_(options), near_(nearnesses(program)) {}

  bool canonical_is_ideal(std::size_t output) const { return near_.decides(p_, output); }

  // Fills what it decides; the positions of the rest, which have no value yet. What it cannot do within the limits is done one by one, within the same.
  Positions decide(std::size_t output, Tensor& answer) {
    const Arithmetic arithmetic = arithmetic_for(answer.type());
    std::optional<Run>& whole = whole_[static_cast<std::size_t>(arithmetic)];
    if (!whole) whole.emplace(enclosing(p_, near_, arithmetic), inputs_, arithmetic, *this);
    const Found found = whole->of(output);
    if (!found.values || found.values->extents() != answer.extents()) return all(answer);
    const CastMode mode = RealElements::ending(p_, output);
    Positions left = settle(found, answer, mode);
    // The others again, more closely.
    if (left.empty()) return left;
    const auto count = std::ssize(left);
    std::vector<std::optional<Tensor>> inputs(inputs_.begin(), inputs_.end());
    if (std::ranges::any_of(answer.extents(), [](std::int64_t e) { return e > std::numeric_limits<std::int32_t>::max(); })) return left;
    Tensor indices(ElementType::I32, {count, answer.rank()});
    auto* index = indices.writable<std::int32_t>();
    for (std::int64_t position : left) {
      for (auto d = static_cast<std::size_t>(answer.rank()); d-- > 0; position /= answer.extents()[d]) index[d] = static_cast<std::int32_t>(position % answer.extents()[d]);
      index += answer.rank();
    }
    inputs.emplace_back(std::move(indices));
    const Run few(enclosing_at(p_, near_, output, count), inputs, arithmetic, *this);
    const Found closer = few.of(output);
    if (!closer.values) return left;
    Tensor some(answer.type(), {count});
    Positions still = settle(closer, some, mode);
    auto open = still.begin();
    for (std::int64_t k = 0; k < count; ++k) {
      if (open != still.end() && *open == k) *open++ = left[static_cast<std::size_t>(k)];
      else answer.set(left[static_cast<std::size_t>(k)], some.at(k));
    }
    return still;
  }

  static Positions all(const Tensor& answer) {
    Positions out(static_cast<std::size_t>(answer.size()));
    std::iota(out.begin(), out.end(), std::int64_t{0});
    return out;
  }

private:
  struct Run {
    Run(std::optional<Enclosing> program, std::span<const std::optional<Tensor>> inputs, Arithmetic arithmetic, const Quick& quick) : enclosing(std::move(program)) {
      // Element by element a program runs as it is defined.
      if (!enclosing || runs_by_elements(enclosing->program)) return;
      block::Options options = quick.options_;
      options.dot_block = arithmetic == Arithmetic::Pairs ? EnclosingPairsDotBlock : EnclosingDotBlock;
      if (const auto plan = Plan::make(enclosing->program, options))
        if (auto outputs = plan->run(inputs, quick.limits_)) bounds = std::move(*outputs);
    }
    Found of(std::size_t output) const {
      if (bounds.empty()) return {};
      const auto part = [&](std::uint32_t k) { return k == core::None ? nullptr : &bounds[k].value(); };
      return {part(enclosing->values[output]), part(enclosing->lows[output]), part(enclosing->radii[output])};
    }
    std::optional<Enclosing> enclosing;
    std::vector<std::optional<Tensor>> bounds;
  };

  const core::Program& p_;
  std::span<const std::optional<Tensor>> inputs_;
  const Limits& limits_;
  const block::Options options_;
  Nearnesses near_;
  std::array<std::optional<Run>, 2> whole_;  // by Arithmetic
};

class Elements {
public:
  Elements(const core::Program& program, std::span<const std::optional<Tensor>> inputs, const Limits& limits) : p_(program), limits_(limits), reals_(program, inputs) {}
  std::int64_t asked() const { return asked_; }

  Diagnostic limit(const char* what) const {
    Diagnostic d;
    d.kind = ErrorKind::Limit;
    d.message = fmt::format("{}: the ideal answer needs {}", p_.op, what);
    return d;
  }

  // The ideal values in place of the canonical ones.
  Status fill(std::size_t output, Tensor& answer, Quick* quick, UndecidedElements& undecided) {
    if (answer.type() == ElementType::String || is_complex(answer.type())) return leave(answer, undecided, "texts and complex numbers are not computed over the reals");
    const auto extents = reals_.output_extents(output, limits_);
    if (limits_.stopped()) return limit("more time than is allowed");
    if (!extents) return leave(answer, undecided, "its extents: " + reals_.why_missing());
    if (*extents != answer.extents()) return leave(answer, undecided, fmt::format("over the reals its extents are {}", to_string(*extents)));
    const Tensor canonical = answer;
    answer = Tensor(canonical.type(), canonical.extents());
    for (std::int64_t k : quick ? quick->decide(output, answer) : Quick::all(answer)) {
      ++asked_;
      const auto real = reals_.element(output, k, limits_);
      const auto bits = real ? RealElements::rounded(p_, output, *real) : std::nullopt;
      left_ -= reals_.steps();
      if ((!bits || k % 256 == 0) && limits_.stopped()) return limit("more time than is allowed");
      if (left_ < 0) return limit("more operations over the reals than are allowed");
      answer.set(k, bits ? *bits : canonical.at(k));
      if (!bits) note(undecided, k, reals_.why_missing());
    }
    return success();
  }

private:
  static void note(UndecidedElements& undecided, std::int64_t position, std::string reason) {
    ++undecided.count;
    if (undecided.first.size() >= UndecidedElements::MostListed) return;
    if (reason.empty()) reason = "the definition gives no value here";
    undecided.first.push_back({position, std::move(reason)});
  }
  static Status leave(const Tensor& answer, UndecidedElements& undecided, const std::string& reason) {
    for (std::int64_t k = 0; k < answer.size(); ++k) note(undecided, k, reason);
    return success();
  }
  const core::Program& p_;
  const Limits& limits_;
  RealElements reals_;
  std::int64_t asked_ = 0;
  std::int64_t left_ = limits_.work / WorkOfStep;
};

}  // namespace

Result<IdealAnswer> ideal_answer(const core::Program& program, std::span<const std::optional<Tensor>> inputs, std::vector<std::optional<Tensor>> canonical,
                                 const Limits& limits, const IdealOptions& options) {
  IdealAnswer out;
  out.outputs = std::move(canonical);
  Quick quick(program, inputs, limits, options.block);
  Elements elements(program, inputs, limits);
  for (std::size_t k = 0; k < out.outputs.size(); ++k) {
    if (quick.canonical_is_ideal(k) || !out.outputs[k]) continue;
    if (std::ssize(out.outputs[k]->bytes()) > limits.memory_bytes) return elements.limit("more memory than is allowed");
    UndecidedElements undecided;
    undecided.output = k;
    if (Status s = elements.fill(k, *out.outputs[k], options.quick ? &quick : nullptr, undecided); !s) return s.error();
    if (undecided.count > 0) out.undecided.push_back(std::move(undecided));
  }
  out.by_elements = elements.asked();
  return out;
}

}  // namespace ulpian::interp
