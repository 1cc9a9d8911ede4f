#include "interp/allowed/allowed.h"

#include <new>

#include <fmt/format.h>

#include "interp/allowed/equations.h"
#include "interp/allowed/single_valued.h"
#include "interp/evaluate/evaluate.h"
#include "interp/scalar/work.h"

namespace ulpian::interp {
namespace {

using Sets = std::vector<std::optional<AllowedTensor>>;

Diagnostic of_condition(const core::Program& p, const core::Condition& c, ErrorKind kind) {
  Diagnostic d;
  d.kind = kind;
  d.message = (p.op.empty() ? "" : p.op + ": ") + (c.message.empty() ? core::to_string(p, c.term) : c.message);
  if (c.place < p.places.size()) d.place = p.places[c.place];
  return d;
}

AllowedTensor anything(ElementType type, const Extents& extents) {
  allowed::Stored s;
  s.extents = extents;
  s.lanes = allowed::Lanes(type, {}, false);
  const auto size = element_count(extents);
  if (!size || *size > (std::int64_t{1} << 32)) {
    Diagnostic d;
    d.kind = ErrorKind::Limit;
    d.message = fmt::format("an output of extents {} is too large", to_string(extents));
    throw allowed::Stop{std::move(d)};
  }
  if (type == ElementType::String || is_complex(type)) {
    const Tensor none(type, extents);
    return AllowedTensor(none, none, std::vector<std::uint8_t>(static_cast<std::size_t>(*size), Anything));
  }
  const std::int64_t n = *size;
  s.lanes.n = n;
  const auto count = static_cast<std::size_t>(n);
  if (allowed::uses_doubles(type)) s.lanes.lo.assign(count, 0), s.lanes.hi.assign(count, 0);
  else s.lanes.ilo.assign(count, 0), s.lanes.ihi.assign(count, 0);
  for (std::int64_t i = 0; i < n; ++i) allowed::set_anything(s.lanes, i);
  return tensor_of(s);
}

Result<Sets> run(allowed::Equations& equations, const core::Program& p, std::span<const std::optional<AllowedTensor>> inputs, const Limits& limits, std::optional<Diagnostic>* undefined) {
  equations.bind(inputs);
  if (auto much = too_much_work(p, work_of(p, equations.evaluator().sizes), limits)) return std::move(*much);
  for (const core::Condition& c : p.path)
    if (!equations.truth(c).can_be_true) {
      Diagnostic d = of_condition(p, c, ErrorKind::Input);
      d.message = "these inputs are not those the program was elaborated for: " + d.message;
      return d;
    }
  for (const core::Condition& c : p.requirements)
    if (!equations.truth(c).can_be_true) return of_condition(p, c, ErrorKind::Requirement);
  allowed::Evaluator& evaluator = equations.evaluator();
  if (!evaluator.rules.profile->deviates()) evaluator.quick = std::make_shared<const allowed::QuickSums>(p, inputs, evaluator.sizes, limits);
  bool free = false;
  for (const core::Condition& c : p.undefined)
    if (equations.truth(c).can_be_true) {
      if (undefined) *undefined = of_condition(p, c, ErrorKind::Undefined);
      free = true;
      break;
    }
  Sets out;
  for (std::size_t k = 0; k < p.outputs.size(); ++k) {
    if (p.outputs[k] == core::None) out.emplace_back();
    else if (free) out.push_back(anything(p.tensor(p.outputs[k]).type, equations.extents_asked_for(p.outputs[k])));
    else out.push_back(equations.output(k));
  }
  return out;
}

// The inputs as single values; empty where one is a set.
std::optional<std::vector<std::optional<Tensor>>> points_of(const core::Program& p, std::span<const std::optional<AllowedTensor>> inputs, const Profile& profile) {
  std::vector<std::optional<Tensor>> values(inputs.size());
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (!inputs[k]) continue;
    const AllowedTensor& t = *inputs[k];
    if (t.unrounded() && p.inputs[k] != core::None && (!p.tensor(p.inputs[k]).rounded || profile.admits(Freedom::ExcessIntoCasts))) return std::nullopt;
    const auto flags = t.flags();
    const bool same = t.lower().bytes().data() == t.upper().bytes().data();
    for (std::size_t i = 0; i < flags.size(); ++i)
      if (!(same && flags[i] == 0) && !t.is_exact(static_cast<std::int64_t>(i))) return std::nullopt;
    values[k] = t.lower();
  }
  return values;
}

// The canonical answer, and nothing else.
Result<Sets> canonical_only(const core::Program& program, std::span<const std::optional<Tensor>> values, const Limits& limits, bool undefined_is_free,
                            std::optional<Diagnostic>* undefined) {
  std::optional<Diagnostic> found;
  auto out = evaluate(program, values, limits, &found);
  if (!out) return std::move(out).error();
  Sets sets;
  for (const std::optional<Tensor>& t : *out) {
    if (!t) sets.emplace_back();
    else if (found && undefined_is_free) sets.push_back(anything(t->type(), t->extents()));
    else sets.push_back(AllowedTensor::exactly(*t));
  }
  if (undefined && found) *undefined = std::move(found);
  return sets;
}

// The errors that end an evaluation.
template <typename T, typename Evaluate> Result<T> guarded(const core::Program& program, Evaluate&& evaluate) {
  Diagnostic failure;
  try {
    return evaluate();
  } catch (const allowed::Stop& stop) {
    failure = stop.diagnostic;
  } catch (const ExactTooLarge& e) {
    failure.kind = ErrorKind::Limit;
    failure.message = e.what();
  } catch (const std::bad_alloc&) {
    failure.kind = ErrorKind::Limit;
    failure.message = program.op + ": the memory of this machine does not suffice";
  }
  return failure;
}

}  // namespace

Result<Sets> evaluate_allowed(const core::Program& program, std::span<const std::optional<AllowedTensor>> inputs, const Profile& profile, const Limits& limits,
                              std::optional<Diagnostic>* undefined, bool unrounded) {
  const bool canonical = profile.exactly_canonical();
  if (canonical || allowed::is_single_valued(program, profile, unrounded)) {
    if (const auto values = points_of(program, inputs, profile)) return canonical_only(program, *values, limits, !canonical, undefined);
    if (canonical) {
      Diagnostic d;
      d.kind = ErrorKind::Usage;
      d.message = program.op + ": a profile that admits only the canonical value takes single values, not sets";
      return d;
    }
  }
  return guarded<Sets>(program, [&]() -> Result<Sets> {
    allowed::Equations equations(program, profile, limits);
    if (unrounded) equations.hand_on();
    return run(equations, program, inputs, limits, undefined);
  });
}

Result<AllowedSamples> allowed_at(const core::Program& program, std::span<const std::optional<AllowedTensor>> inputs, const Profile& profile,
                                  std::span<const std::vector<std::int64_t>> positions, const Limits& limits) {
  AllowedSamples out;
  out.single_valued = profile.exactly_canonical() || (allowed::is_single_valued(program, profile, false) && points_of(program, inputs, profile));
  if (out.single_valued) return out;
  return guarded<AllowedSamples>(program, [&]() -> Result<AllowedSamples> {
    allowed::Equations equations(program, profile, limits);
    equations.bind(inputs);
    allowed::Evaluator& evaluator = equations.evaluator();
    std::vector<core::TensorId> asked, copies;
    std::size_t most = 0;
    for (std::size_t k = 0; k < program.outputs.size() && k < positions.size(); ++k) {
      const core::TensorId id = program.outputs[k];
      if (id == core::None) continue;
      asked.push_back(allowed::source_of(program, id));
      if (asked.back() != id) copies.push_back(id);
      most = std::max(most, positions[k].size());
    }
    const std::int64_t work = work_of_sample(program, evaluator.sizes, static_cast<std::int64_t>(most), asked, copies);
    if (auto much = too_much_work(program, work, limits)) return std::move(*much);
    bool free = false;
    for (const core::Condition& c : program.undefined) free = free || equations.truth(c).can_be_true;
    // Sums of all elements at once pay where many are asked for.
    if (!profile.deviates() && work > work_of(program, evaluator.sizes) / 64)
      evaluator.quick = std::make_shared<const allowed::QuickSums>(program, inputs, evaluator.sizes, limits);
    for (std::size_t k = 0; k < program.outputs.size(); ++k) {
      out.outputs.emplace_back();
      if (program.outputs[k] == core::None || k >= positions.size() || positions[k].empty()) continue;
      const Extents extents{static_cast<std::int64_t>(positions[k].size())};
      out.outputs.back() = AllowedSample{positions[k], free ? anything(program.tensor(program.outputs[k]).type, extents) : equations.at(k, positions[k])};
    }
    return std::move(out);
  });
}

}  // namespace ulpian::interp
