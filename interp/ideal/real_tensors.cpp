// Reads and equations: elements of tensors, each found once.
#include <algorithm>
#include <array>

#include "interp/ideal/real_element_parts.h"

namespace ulpian::interp {

using core::None;
using core::TensorKind;
using core::TermId;

namespace {

std::int64_t position_of(std::span<const std::int64_t> index, const Extents& extents) {
  std::int64_t position = 0;
  for (std::size_t d = 0; d < index.size(); ++d) position = position * extents[d] + index[d];
  return position;
}

}  // namespace

RealElements::Bound::Bound(RealElements& owner, std::span<const core::Variable> variables) : owner_(owner), variables_(variables) {
  former_.reserve(variables_.size());
  for (core::Variable v : variables_) former_.push_back(owner_.variables_[v]);
}
RealElements::Bound::~Bound() {
  for (std::size_t k = 0; k < variables_.size(); ++k) owner_.variables_[variables_[k]] = std::move(former_[k]);
}

RealElements::Maybe RealElements::read(TermId id, std::span<const TermId> index, bool& outside) {
  const auto tensor = static_cast<core::TensorId>(p_.term(id).data);
  std::array<std::int64_t, 8> few{};
  std::vector<std::int64_t> many(index.size() > few.size() ? index.size() : 0);
  const std::span<std::int64_t> at = many.empty() ? std::span(few).first(index.size()) : std::span(many);
  for (std::size_t d = 0; d < index.size(); ++d) {
    const auto k = integer(index[d]);
    if (!k) return std::nullopt;
    at[d] = *k;
  }
  const Extents* extents = extents_of(tensor);
  if (!extents) return std::nullopt;
  for (std::size_t d = 0; d < at.size(); ++d) outside = outside || at[d] < 0 || at[d] >= (*extents)[d];
  return outside ? std::nullopt : tensor_element(tensor, at);
}

RealElements::Maybe RealElements::tensor_element(core::TensorId id, Index index) {
  const core::TensorNode& n = p_.tensor(id);
  if (unsupported(n.type)) return missing(Missing::Meaning);
  switch (n.kind) {
    case TensorKind::Input: {
      const Extents* extents = extents_of(id);
      return extents ? input_element(id, position_of(index, *extents)) : std::nullopt;
    }
    case TensorKind::Literal: return held(n.literal->type(), n.literal->at(position_of(index, n.literal->extents())));
    case TensorKind::Comprehension:
    case TensorKind::Recurrence: return equation_element(id, index);
    case TensorKind::Where: {
      const auto* all = coordinates(id);
      const std::size_t place = static_cast<std::size_t>(index[0]) * n.variables.size() + static_cast<std::size_t>(index[1]);
      return all && place < all->size() ? Maybe((*all)[place]) : std::nullopt;
    }
    case TensorKind::Measured: return term(n.body);
    case TensorKind::Scatter: return scattered(id, index);
  }
  ensure(false);
}

RealElements::Maybe RealElements::input_element(core::TensorId id, std::int64_t position) {
  const std::size_t slot = slot_[id];
  if (slot >= inputs_.size()) return missing(Missing::Meaning);
  if (const Source& s = sources_[slot]; s.of) return s.of->output_element(s.output, position);
  const Tensor& t = *inputs_[slot];
  if (reads_) reads_->emplace_back(slot, position);
  return held(t.type(), t.at(position));
}

RealElements::Maybe RealElements::equation_element(core::TensorId id, Index index) {
  const core::TensorNode& n = p_.tensor(id);
  const Extents* extents = extents_of(id);
  if (!extents) return std::nullopt;
  const std::int64_t position = position_of(index, *extents);
  if (const auto it = elements_[id].find(position); it != elements_[id].end()) return it->second;
  ensure(index.size() == n.variables.size());
  if (n.kind == TensorKind::Recurrence) climb(id, index);
  const Bound bound(*this, n.variables);
  for (std::size_t d = 0; d < index.size(); ++d) variables_[n.variables[d]] = Value(index[d]);
  Maybe v = term(n.body);
  if (v && remembered_ < MostRemembered) ++remembered_, elements_[id].emplace(position, *v);
  return v;
}

// The same place in all earlier steps first, in order: what a step reads is then known, and nothing nests deeper than a step or two.
void RealElements::climb(core::TensorId id, Index index) {
  const std::size_t own = p_.recurrences[p_.tensor(id).group].variables.size();
  const Extents extents = *extents_of(id);
  std::int64_t step = 0, rest = 0;
  for (std::size_t d = 0; d < index.size(); ++d) (d < own ? step : rest) = (d < own ? step : rest) * extents[d] + index[d];
  std::int64_t& next = climbed_[id][rest];
  std::vector<std::int64_t> at(index.begin(), index.end());
  while (next < step) {
    std::int64_t s = next++;
    for (std::size_t d = own; d-- > 0; s /= extents[d]) at[d] = s % extents[d];
    // Nobody may need it: that it is not found is no answer yet.
    const Missing before = work_->missing;
    const bool found = tensor_element(id, at).has_value();
    if (!found && work_->missing != Missing::Steps && work_->missing != Missing::Time) work_->missing = before;
    if (!found && work_->missing != before) return;
  }
}

RealElements::Maybe RealElements::scattered(core::TensorId id, Index index) {
  using core::ReduceKind;
  using core::ScatterMode;
  const core::TensorNode& n = p_.tensor(id);
  Maybe value = tensor_element(n.scatter.base, index);
  const Extents* extents = extents_of(id);
  if (!value || !extents) return std::nullopt;
  const Updates* all = updates(id, *extents);
  if (!all) return std::nullopt;
  const auto here = all->find(position_of(index, *extents));
  if (here == all->end()) return value;
  const Bound bound(*this, n.variables);
  for (const std::vector<std::int64_t>& update : here->second) {
    for (std::size_t k = 0; k < update.size(); ++k) variables_[n.variables[k]] = Value(update[k]);
    Maybe v = term(n.body);
    if (!v) return std::nullopt;
    switch (n.scatter.mode) {
      case ScatterMode::Last:
      case ScatterMode::Any: value = std::move(v); break;
      case ScatterMode::Add: value = combine(ReduceKind::Sum, n.type, *value, *v); break;
      case ScatterMode::Multiply: value = combine(ReduceKind::Product, n.type, *value, *v); break;
      case ScatterMode::Maximum: value = combine(ReduceKind::Maximum, n.type, *value, *v); break;
      case ScatterMode::Minimum: value = combine(ReduceKind::Minimum, n.type, *value, *v); break;
    }
    if (!value) return std::nullopt;
  }
  return value;
}

// Where each update goes, found once for all elements.
const RealElements::Updates* RealElements::updates(core::TensorId id, const Extents& extents) {
  if (const auto it = updates_.find(id); it != updates_.end()) return &it->second;
  const core::TensorNode& n = p_.tensor(id);
  Updates all;
  const bool whole = each(n.variables, n.domain, [&] {
    if (n.scatter.filter != None) {
      const auto keep = truth(n.scatter.filter);
      if (!keep) return false;
      if (!*keep) return true;
    }
    std::int64_t position = 0;
    for (std::size_t d = 0; d < extents.size(); ++d) {
      const auto k = integer(n.scatter.index[d]);
      if (!k) return false;
      if (*k < 0 || *k >= extents[d]) return true;
      position = position * extents[d] + *k;
    }
    std::vector<std::int64_t>& at = all[position].emplace_back();
    for (core::Variable v : n.variables) at.push_back(std::get<std::int64_t>(*variables_[v]));
    return true;
  });
  if (!whole) return nullptr;
  return &updates_.emplace(id, std::move(all)).first->second;
}

const std::vector<std::int64_t>* RealElements::coordinates(core::TensorId id) {
  if (const auto it = coordinates_.find(id); it != coordinates_.end()) return &it->second;
  const core::TensorNode& n = p_.tensor(id);
  std::vector<std::int64_t> all;
  const bool whole = each(n.variables, n.domain, [&] {
    const auto holds = truth(n.body);
    if (holds && *holds)
      for (core::Variable v : n.variables) all.push_back(std::get<std::int64_t>(*variables_[v]));
    return holds.has_value();
  });
  if (!whole) return nullptr;
  return &coordinates_.emplace(id, std::move(all)).first->second;
}

const Extents* RealElements::extents_of(core::TensorId id) {
  if (extents_[id]) return &*extents_[id];
  Extents out;
  for (TermId e : p_.tensor(id).extents) {
    const auto n = integer(e);
    if (!n) return nullptr;
    out.push_back(*n);
  }
  return &extents_[id].emplace(std::move(out));
}

std::optional<std::int64_t> RealElements::size(core::Size s) {
  if (sizes_[s]) return sizes_[s];
  const core::TensorId by = p_.sizes[s].defined_by;
  if (by == None) return missing(Missing::Meaning);
  const core::TensorNode& n = p_.tensor(by);
  if (n.kind == TensorKind::Measured) sizes_[s] = integer(n.body);
  else if (n.kind == TensorKind::Where)
    if (const auto* all = coordinates(by)) sizes_[s] = n.variables.empty() ? 0 : static_cast<std::int64_t>(all->size() / n.variables.size());
  return sizes_[s];
}

bool RealElements::each(std::span<const core::Variable> variables, std::span<const TermId> extents, const std::function<bool()>& visit) {
  const Bound bound(*this, variables);
  std::vector<std::int64_t> at(variables.size()), extent(variables.size());
  std::size_t level = 0;
  bool carry = false;
  for (;;) {
    if (!spend()) return false;
    if (carry) {
      do {
        if (level == 0) return true;
        --level;
      } while (++at[level] >= extent[level]);
      variables_[variables[level]] = Value(at[level]);
      ++level;
      carry = false;
    }
    if (level == variables.size()) {
      if (!visit()) return false;
      carry = true;
      continue;
    }
    const auto n = integer(extents[level]);
    if (!n) return false;
    extent[level] = *n;
    if (*n <= 0) {
      carry = true;
      continue;
    }
    at[level] = 0;
    variables_[variables[level]] = Value(std::int64_t{0});
    ++level;
  }
}

}  // namespace ulpian::interp
