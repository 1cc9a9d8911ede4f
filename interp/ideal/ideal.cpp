#include "interp/ideal/ideal.h"

#include <bit>
#include <limits>

#include <fmt/format.h>

#include "interp/ideal/enclosures.h"
#include "interp/ideal/nearness.h"
#include "interp/ideal/real_element.h"

namespace ulpian::interp {
namespace {

// What an operation over the reals takes, in canonical ones.
constexpr std::int64_t WorkOfStep = 100;
constexpr double Largest = std::numeric_limits<double>::max();

// Per element whether it is decided.
using Decided = std::vector<bool>;

// Both ends of an interval around a number of f64, rounded to one type. An end is off by an ulp of f64 at most, which the radius is enlarged by.
template <typename Round>
Decided settle(const Tensor& values, const Tensor& radii, Tensor& answer, Round round) {
  const double *v = values.data<double>(), *r = radii.data<double>();
  Decided out(static_cast<std::size_t>(values.size()));
  for (std::size_t k = 0; k < out.size(); ++k) {
    const double magnitude = v[k] < 0 ? -v[k] : v[k], radius = r[k] == 0 ? 0 : r[k] * (1 + 2 * RadiusSlack) + magnitude * 0x1p-51;
    if (!(magnitude <= Largest) || !(radius <= Largest)) continue;
    // Without a radius the number itself, a zero with its sign.
    out[k] = round(k, radius == 0 ? v[k] : v[k] - radius, radius == 0 ? v[k] : v[k] + radius, answer);
  }
  return out;
}

Decided settle(const core::Program& program, std::size_t output, const Tensor& values, const Tensor& radii, Tensor& answer) {
  const ElementType type = answer.type();
  const CastMode mode = RealElements::ending(program, output);
  if (type == ElementType::F32 && mode == CastMode::Plain) {
    auto* to = answer.writable<float>();
    return settle(values, radii, answer, [&](std::size_t k, double low, double high, Tensor&) {
      const auto a = static_cast<float>(low), b = static_cast<float>(high);
      if (std::bit_cast<std::uint32_t>(a) != std::bit_cast<std::uint32_t>(b)) return false;
      to[k] = a;
      return true;
    });
  }
  return settle(values, radii, answer, [&](std::size_t k, double low, double high, Tensor& t) {
    const Bits a = from_double(type, low, mode);
    if (a != from_double(type, high, mode)) return false;
    t.set(static_cast<std::int64_t>(k), a);
    return true;
  });
}

// The quick way: what enclosures.h covers, and where both ends of an interval round to one element.
class Quick {
public:
  Quick(const core::Program& program, std::span<const std::optional<Tensor>> inputs, const Limits& limits, const block::Options& options)
      : p_(program), inputs_(inputs), limits_(limits), options_(options), near_(nearnesses(program)) {}

  bool canonical_is_ideal(std::size_t output) const { return near_.decides(p_, output); }

  // Fills what it decides. What it cannot do within the limits is done one by one, within the same.
  Decided decide(std::size_t output, Tensor& answer) {
    Decided out(static_cast<std::size_t>(answer.size()));
    if (!whole_) whole_.emplace(enclosing(p_, near_), inputs_, *this);
    const auto [values, radii] = whole_->of(output);
    if (!values || values->extents() != answer.extents()) return out;
    out = settle(p_, output, *values, *radii, answer);
    std::vector<std::int64_t> left;
    for (std::size_t k = 0; k < out.size(); ++k)
      if (!out[k]) left.push_back(static_cast<std::int64_t>(k));
    // A few again, more closely.
    if (left.empty() || std::ssize(left) > answer.size() / 16 + 64) return out;
    const auto count = std::ssize(left);
    std::vector<std::optional<Tensor>> inputs(inputs_.begin(), inputs_.end());
    Tensor indices(ElementType::I64, {count, answer.rank()});
    auto* index = indices.writable<std::int64_t>();
    for (std::int64_t position : left) {
      for (auto d = static_cast<std::size_t>(answer.rank()); d-- > 0; position /= answer.extents()[d]) index[d] = position % answer.extents()[d];
      index += answer.rank();
    }
    inputs.emplace_back(std::move(indices));
    const Run few(enclosing_at(p_, near_, output, count), inputs, *this);
    const auto [value, radius] = few.of(output);
    if (!value) return out;
    Tensor some(answer.type(), {count});
    const Decided here = settle(p_, output, *value, *radius, some);
    for (std::size_t k = 0; k < here.size(); ++k)
      if (here[k]) answer.set(left[k], some.at(static_cast<std::int64_t>(k))), out[static_cast<std::size_t>(left[k])] = true;
    return out;
  }

private:
  struct Run {
    Run(std::optional<Enclosing> program, std::span<const std::optional<Tensor>> inputs, const Quick& quick) : enclosing(std::move(program)) {
      if (!enclosing) return;
      if (const auto plan = Plan::make(enclosing->program, quick.options_))
        if (auto outputs = plan->run(inputs, quick.limits_)) bounds = std::move(*outputs);
    }
    std::pair<const Tensor*, const Tensor*> of(std::size_t output) const {
      if (bounds.empty() || enclosing->values[output] == core::None) return {};
      const auto &value = bounds[enclosing->values[output]], &radius = bounds[enclosing->radii[output]];
      return value && radius ? std::pair{&*value, &*radius} : std::pair<const Tensor*, const Tensor*>();
    }
    std::optional<Enclosing> enclosing;
    std::vector<std::optional<Tensor>> bounds;
  };

  const core::Program& p_;
  std::span<const std::optional<Tensor>> inputs_;
  const Limits& limits_;
  const block::Options& options_;
  Nearnesses near_;
  std::optional<Run> whole_;
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
    answer = Tensor::from_bytes(canonical.type(), canonical.extents(), canonical.bytes());
    const Decided decided = quick ? quick->decide(output, answer) : Decided(static_cast<std::size_t>(canonical.size()));
    for (std::int64_t k = 0; k < canonical.size(); ++k) {
      if (decided[static_cast<std::size_t>(k)]) continue;
      ++asked_;
      const auto real = reals_.element(output, k, limits_);
      const auto bits = real ? RealElements::rounded(p_, output, *real) : std::nullopt;
      left_ -= reals_.steps();
      if ((!bits || k % 256 == 0) && limits_.stopped()) return limit("more time than is allowed");
      if (left_ < 0) return limit("more operations over the reals than are allowed");
      if (bits) answer.set(k, *bits);
      else note(undecided, k, reals_.why_missing());
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
