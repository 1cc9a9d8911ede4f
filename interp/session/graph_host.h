// The host of calls that hold graphs (spec/language/host.h): bodies run in sessions of their own, which are kept, so that a second trip
// elaborates nothing anew. One text for machine values and for sets; a World says what differs.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "interp/limits.h"
#include "spec/core/datum.h"
#include "spec/core/graph.h"
#include "spec/core/program.h"
#include "spec/language/elaborate.h"

namespace ulpian::interp {

inline language::InputDescription describe(ElementType type, const Extents& extents) {
  language::InputDescription d;
  d.type = type;
  for (std::int64_t n : extents) d.extents.push_back({n, {}});
  return d;
}

// A description of a value, without its elements.
template <typename T>
language::InputDescription describe(const BasicDatum<T>& value) {
  if (const T* t = value.tensor()) return describe(t->type(), t->extents());
  language::InputDescription d;
  d.present = value.is_present();
  if (const auto* s = value.sequence()) {
    d.is_sequence = true;
    d.type = s->type;
    for (const T& t : s->items) d.items.push_back(describe(t.type(), t.extents()));
  }
  return d;
}

// Values of any kind as a program takes them: a sequence item by item, an absent one as nothing.
template <typename T>
std::vector<std::optional<T>> flattened(std::span<const BasicDatum<T>> values) {
  std::vector<std::optional<T>> out;
  for (const auto& v : values) {
    if (!v.is_present()) out.emplace_back();
    for (std::size_t k = 0; k < v.count(); ++k) out.emplace_back(v.part(k));
  }
  return out;
}

// A program's results from its outputs.
template <typename T>
std::vector<BasicDatum<T>> results_of(const core::Program& program, std::vector<std::optional<T>> outputs) {
  std::vector<BasicDatum<T>> out;
  if (program.results.empty()) {
    for (auto& t : outputs) out.emplace_back(std::move(t));
    return out;
  }
  for (const core::ResultInfo& r : program.results) {
    if (r.kind == core::ResultKind::Nothing) {
      out.emplace_back();
    } else if (r.kind == core::ResultKind::Tensor) {
      out.emplace_back(std::move(outputs.at(r.first)));
    } else {
      typename BasicDatum<T>::Sequence s;
      s.type = r.type;
      for (std::uint32_t k = 0; k < r.count; ++k) s.items.push_back(std::move(*outputs.at(r.first + k)));
      out.emplace_back(std::move(s));
    }
  }
  return out;
}

template <typename Visit>
void for_each_body(const Node& node, Visit visit) {
  for (const auto& [name, attribute] : node.attributes) {
    if (const auto* body = std::get_if<std::shared_ptr<const Graph>>(&attribute)) visit(**body);
    if (const auto* bodies = std::get_if<std::vector<std::shared_ptr<const Graph>>>(&attribute))
      for (const auto& body : *bodies) visit(*body);
  }
}

// Which calls inside bodies count as equal (BodyReadings).
template <typename T>
std::string reading_key(const Node& node, std::span<const BasicDatum<T>> inputs) {
  std::string key = node.op + "@" + std::to_string(node.version);
  for (const auto& v : inputs) {
    key += ' ';
    if (const T* t = v.tensor()) key += name_of(t->type());
    else if (const auto* s = v.sequence()) key += name_of(s->type);
  }
  return key;
}

// World: `Tensor`; `Result<std::vector<std::optional<Tensor>>> run(program, values, limits)`; `Result<std::vector<BasicDatum<Tensor>>>
// apply(graph, inputs, limits)`; `Result<ulpian::Tensor> certain(tensor)`; `std::int64_t bytes(tensor)`.
template <typename World>
class GraphHost final : public language::Host {
public:
  using T = typename World::Tensor;
  GraphHost(World world, const Limits& limits) : world_(std::move(world)), limits_(limits) {}

  // The call's own inputs, before anything else.
  void add(std::vector<std::optional<T>> inputs) {
    values_ = std::move(inputs);
    inputs_ = values_.size();
  }
  // The list of values as the finished program takes it.
  const std::vector<std::optional<T>>& values() const { return values_; }

  Result<language::InputDescription> compute(const core::Program& program) override {
    auto outputs = world_.run(program, values_, rest());
    if (!outputs) return std::move(outputs).error();
    ensure(outputs->size() == 1 && (*outputs)[0]);
    keep(std::move(*(*outputs)[0]));
    return describe(BasicDatum<T>(*values_.back()));
  }

  Result<std::vector<language::InputDescription>> apply(const Graph& graph, std::span<const language::HostArgument> arguments) override {
    std::vector<BasicDatum<T>> inputs;
    for (const language::HostArgument& a : arguments) {
      if (!a.present) {
        inputs.emplace_back();
      } else if (!a.is_sequence) {
        inputs.emplace_back(values_.at(a.parts[0]));
      } else {
        typename BasicDatum<T>::Sequence s;
        s.type = a.type;
        for (std::uint32_t place : a.parts) s.items.push_back(*values_.at(place));
        inputs.emplace_back(std::move(s));
      }
    }
    auto results = world_.apply(graph, inputs, rest());
    if (!results) return std::move(results).error();
    std::vector<language::InputDescription> out;
    for (const BasicDatum<T>& r : *results) {
      out.push_back(describe(r));
      if (!r.is_present()) values_.emplace_back();
      for (std::size_t k = 0; k < r.count(); ++k) keep(r.part(k));
    }
    return out;
  }

  Result<Tensor> value(std::uint32_t place) override { return world_.certain(*values_.at(place)); }

  void release(std::uint32_t place) override {
    auto& v = values_.at(place);
    if (place < inputs_ || !v) return;
    made_bytes_ -= world_.bytes(*v);
    v.reset();
  }

private:
  Limits rest() const {
    Limits out = limits_;
    out.memory_bytes -= std::min(made_bytes_, out.memory_bytes);
    return out;
  }
  void keep(T tensor) {
    made_bytes_ += world_.bytes(tensor);
    values_.emplace_back(std::move(tensor));
  }
  World world_;
  Limits limits_;
  std::vector<std::optional<T>> values_;
  std::int64_t made_bytes_ = 0;
  std::size_t inputs_ = 0;
};

// The elaboration of a call that may hold graphs, within the limits of its run.
inline language::ElaborationLimits elaboration_limits(const Limits& limits) {
  language::ElaborationLimits out;
  out.deadline = limits.deadline;
  out.cancelled = limits.cancelled;
  return out;
}

}  // namespace ulpian::interp
