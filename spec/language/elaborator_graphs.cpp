// Sequences, and control flow over graphs: what a host runs and decides while a call is elaborated (host.h).
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "spec/core/extract.h"
#include "spec/language/elaborator.h"

namespace ulpian::language {

using core::TensorId;
using core::TermId;

// --- the list of values: inputs of the call, then what the host makes

std::uint32_t Elaborator::add_place(TensorId t) {
  auto& inputs = b_.program().inputs;
  inputs.push_back(t);
  const auto place = static_cast<std::uint32_t>(inputs.size() - 1);
  if (t != core::None) host_places_.emplace(t, place);
  return place;
}

TensorId Elaborator::add_input(const InputDescription& in) {
  core::TensorNode node;
  node.type = in.type;
  node.kind = core::TensorKind::Input;
  for (const ExtentDescription& e : in.extents) {
    if (e.symbol.empty()) {
      node.extents.push_back(b_.integer(e.extent));
      continue;
    }
    auto [it, fresh] = size_symbols_.try_emplace(e.symbol, 0);
    if (fresh) it->second = b_.fresh_size(e.symbol);
    node.extents.push_back(b_.size(it->second));
  }
  const TensorId t = b_.add(std::move(node));
  known_.resize(t + 1);
  if (in.value && in.value->rank() == static_cast<int>(in.extents.size()) && in.value->type() == in.type && !is_complex(in.type)) known_[t] = in.value;
  add_place(t);
  return t;
}

Value Elaborator::add_inputs(const InputDescription& in) {
  if (!in.present) {
    add_place(core::None);
    Value nothing;
    nothing.plain = in.plain;
    return nothing;
  }
  Values items;
  for (const InputDescription& item : in.items) items.push_back(Value::of_tensor(add_input(item)));
  Value v = in.is_sequence ? sequence(items, in.type) : Value::of_tensor(add_input(in));
  v.plain = in.plain;
  return v;
}

Value Elaborator::sequence(std::span<const Value> tensors, ElementType type) {
  Value v = list(tensors);
  v.type = type;
  return v;
}

Value Elaborator::result_type(const Context& c, Position at, std::span<const Value> a) {
  need(c, at, "result_type", a, 2, 2);
  if (!a[0].is(Tag::Graph)) fail(c, at, fmt::format("{} where a graph is needed", describe_kind(a[0])));
  const Graph& graph = *a[0].graph;
  const std::int64_t k = static_integer(c, at, a[1], "the number of a result");
  if (k < 0 || k >= static_cast<std::int64_t>(graph.outputs.size()))
    fail_requirement(c, at, fmt::format("the graph has {} results; result {} is used", graph.outputs.size(), k), ErrorKind::Requirement);
  const GraphValue& v = graph.values[static_cast<std::size_t>(graph.outputs[static_cast<std::size_t>(k)])];
  return v.type && !v.is_sequence ? Value::of_type(*v.type) : Value();
}

Value Elaborator::sequence_of(const Context& c, Position at, std::span<const Value> a) {
  need(c, at, "sequence_of", a, 2, 2);
  if (a[0].is(Tag::Absent)) fail_requirement(c, at, "a sequence is made of an element type that the graph does not declare", ErrorKind::Unsupported);
  const ElementType type = type_argument(c, at, a[0]);
  for (const Value& x : list_of(c, at, a[1]))
    if (!x.is(Tag::Tensor) || b_.program().tensors[x.tensor].type != type) fail(c, at, fmt::format("{} in a sequence of {}", describe_kind(x), name_of(type)));
  return sequence(a[1].items(), type);
}

// --- asking the host

Host& Elaborator::host_of(const Context& c, Position at) {
  if (!host_) fail(c, at, "a graph is run only where the values it works on are known", ErrorKind::Unsupported, "run the whole program instead of elaborating one call");
  return *host_;
}

TensorId Elaborator::as_tensor(const Context& c, Position at, const Value& v) {
  if (v.is(Tag::Tensor)) return v.tensor;
  core::TensorNode node;
  node.name = "scalar";
  node.kind = core::TensorKind::Comprehension;
  node.body = v.is(Tag::Integer) ? b_.constant(ElementType::I64, static_cast<Bits>(v.integer)) : to_term(c, at, v);
  node.type = b_.type_of(node.body);
  if (node.type == ElementType::Z || node.type == ElementType::R) fail(c, at, fmt::format("{} where a tensor is needed", describe_kind(v)), ErrorKind::Definition, "cast it to an element type");
  need_closed(c, at, node.body);
  return b_.add(std::move(node));
}

std::uint32_t Elaborator::place_of(const Context& c, Position at, TensorId t) {
  if (auto it = host_places_.find(t); it != host_places_.end()) return it->second;
  auto made = host_of(c, at).compute(core::extract(b_.program(), t));
  if (!made) throw ElaborationError{std::move(made).error()};
  add_input(*made);
  const auto place = static_cast<std::uint32_t>(b_.program().inputs.size() - 1);
  host_places_.emplace(t, place);
  return place;
}

HostArgument Elaborator::host_argument(const Context& c, Position at, const Value& v) {
  HostArgument out;
  if (v.is(Tag::Absent)) return out;
  out.present = true;
  if (!v.is(Tag::List)) {
    const TensorId t = as_tensor(c, at, v);
    out.type = b_.program().tensors[t].type;
    out.parts = {place_of(c, at, t)};
    return out;
  }
  out.is_sequence = true;
  out.type = v.type;
  for (const Value& x : v.items()) {
    if (!x.is(Tag::Tensor)) fail(c, at, fmt::format("{} in a sequence of tensors", describe_kind(x)));
    out.type = b_.program().tensors[x.tensor].type;
    out.parts.push_back(place_of(c, at, x.tensor));
  }
  if (out.type == ElementType::Z) fail(c, at, "the element type of this empty sequence is not known");
  return out;
}

Value Elaborator::call_graph(const Context& c, Position at, const Graph& graph, std::span<const Value> arguments) {
  Host& host = host_of(c, at);
  if (arguments.size() != graph.inputs.size())
    fail_requirement(c, at, fmt::format("the graph {} takes {} inputs; it is given {}", graph.name.empty() ? "inside" : fmt::format("\"{}\"", graph.name), graph.inputs.size(), arguments.size()));
  std::vector<HostArgument> given;
  for (const Value& v : arguments) given.push_back(host_argument(c, at, v));
  auto results = host.apply(graph, given);
  if (!results) throw ElaborationError{std::move(results).error()};
  Values out;
  for (const InputDescription& r : *results) out.push_back(add_inputs(r));
  return list(out);
}

bool Elaborator::decides(TermId t) const {
  return host_ && !b_.is_static(t) && b_.type_of(t) != ElementType::R && b_.program().free_of(t).empty();
}

Tensor Elaborator::decided(const Context& c, Position at, TermId t) {
  core::TensorNode node;
  node.name = "condition";
  node.kind = core::TensorKind::Comprehension;
  node.type = b_.type_of(t) == ElementType::Z ? ElementType::I64 : b_.type_of(t);
  node.body = b_.type_of(t) == ElementType::Z ? b_.cast(ElementType::I64, t, CastMode::Plain) : t;
  auto value = host_of(c, at).value(place_of(c, at, b_.add(std::move(node))));
  if (!value) throw ElaborationError{std::move(value).error()};
  return std::move(*value);
}

// --- loops

struct Elaborator::Trips {
  std::int64_t count = 0;
  std::vector<Values> state;                 // by name, as the clause lists them; a single one is a list of one
  std::vector<Values> collected;             // per collected result, over the trips
  std::vector<std::uint32_t> mine;           // places that the loop made and its state may still use
};

namespace {

bool names_state(const Clause& c, Symbol name) {
  return std::any_of(c.state.begin(), c.state.end(), [&](const auto& s) { return s.first.name == name; });
}

void collect_tensors(const Value& v, std::set<TensorId>& out) {
  if (v.is(Tag::Tensor)) out.insert(v.tensor);
  if (v.is(Tag::List))
    for (const Value& x : v.items()) collect_tensors(x, out);
}

}  // namespace

// An input that nothing reads any more: its value is gone, and a program lists only inputs that it is given.
void Elaborator::abandon_input(std::uint32_t place) {
  core::TensorNode& node = b_.node(b_.program().inputs[place]);
  node.kind = core::TensorKind::Comprehension;
  for (std::size_t k = 0; k < node.extents.size(); ++k) node.variables.push_back(b_.fresh("i"));
  node.body = b_.unspecified(node.type);
  b_.program().inputs[place] = core::None;
}

// One trip: the names of the pattern take what the body gives. A pack of the state takes as many as it has; what is collected takes the rest.
void Elaborator::loop_trip(Application& a, const Clause& c, Trips& trips) {
  const auto before = static_cast<std::uint32_t>(b_.program().inputs.size());
  const Value given = eval(a.context, c.value);
  if (!given.is(Tag::List)) fail(a.context, c.at, "the body of a loop gives a list");
  const auto items = given.items();
  std::size_t at = 0;
  auto take = [&](std::size_t n) {
    if (n > items.size() - at) fail_requirement(a.context, c.at, fmt::format("the body gives {} results; the state alone needs more", items.size()));
    at += n;
    return items.subspan(at - n, n);
  };
  std::size_t needed = 0;
  for (const auto& p : c.pattern)
    for (std::size_t k = 0; k < c.state.size(); ++k)
      if (c.state[k].first.name == p.name) needed += trips.state[k].size();
  for (const Parameter& p : c.pattern) {
    if (!names_state(c, p.name)) {
      if (p.name != c.collect) fail(a.context, c.at, fmt::format("{} is neither state nor collected", spec_.symbols().name(p.name)));
      const auto part = take(items.size() < needed ? 0 : items.size() - needed);
      if (trips.count == 0) trips.collected.resize(part.size());
      if (part.size() != trips.collected.size()) fail_requirement(a.context, c.at, fmt::format("the body gives {} results in this trip, and another number before", items.size()));
      for (std::size_t k = 0; k < part.size(); ++k) trips.collected[k].push_back(part[k]);
      continue;
    }
    for (std::size_t k = 0; k < c.state.size(); ++k)
      if (c.state[k].first.name == p.name) {
        const auto part = take(trips.state[k].size());
        trips.state[k].assign(part.begin(), part.end());
      }
  }
  if (at != items.size()) fail_requirement(a.context, c.at, fmt::format("the body gives {} results; {} are used", items.size(), at));
  // What an earlier trip made and nothing holds any more is let go.
  std::set<TensorId> state, kept;
  for (const Values& s : trips.state)
    for (const Value& v : s) collect_tensors(v, state);
  for (const Values& s : trips.collected) collect_tensors(s.back(), kept);
  for (auto place = before; place < b_.program().inputs.size(); ++place) trips.mine.push_back(place);
  std::erase_if(trips.mine, [&](std::uint32_t place) {
    const TensorId t = b_.program().inputs[place];
    if (t == core::None || kept.count(t)) return true;
    if (state.count(t)) return false;
    host_->release(place);
    abandon_input(place);
    return true;
  });
}

void Elaborator::loop(Application& a, const Clause& c) {
  host_of(a.context, c.at);
  Trips trips;
  for (const auto& [name, initial] : c.state) {
    const Value v = eval(a.context, initial->kind == ExprKind::Splice ? initial->args[0] : initial);
    if (name.pack && !v.is(Tag::List)) fail(a.context, c.at, fmt::format("{}... begins as a list", spec_.symbols().name(name.name)));
    trips.state.push_back(name.pack ? Values(v.items().begin(), v.items().end()) : Values{v});
  }
  for (;; ++trips.count) {
    for (std::size_t k = 0; k < c.state.size(); ++k)
      a.scope.define(c.state[k].first.name, c.state[k].first.pack ? list(trips.state[k]) : trips.state[k][0]);
    a.scope.define(c.counter, Value::of(trips.count));
    if (!truth(a.context, c.at, eval(a.context, c.when))) break;
    step(a.context, c.at);
    loop_trip(a, c, trips);
  }
  loop_collect(a, c, trips);
}

// What the trips gave, stacked on a new first axis. Without any trip the graph's declarations say what there would have been: an extent that
// they leave out is 0, and axes that they leave out are none. Standards do not say what these are, so that any other is as good.
void Elaborator::loop_collect(Application& a, const Clause& c, const Trips& trips) {
  Values out;
  for (const Values& one : trips.collected) out.push_back(stacked(a.context, c.at, one));
  if (trips.count == 0) {
    const Value body = c.value->kind == ExprKind::Call ? eval(a.context, c.value->args[0]) : Value();
    if (!body.is(Tag::Graph)) fail(a.context, c.at, "a loop that collects calls a graph");
    const Graph& graph = *body.graph;
    std::size_t first = 0;
    for (const Values& s : trips.state) first += s.size();
    for (std::size_t k = first; k < graph.outputs.size(); ++k) {
      const GraphValue& v = graph.values[static_cast<std::size_t>(graph.outputs[k])];
      if (!v.type || v.is_sequence)
        fail_requirement(a.context, c.at, fmt::format("no trip is made, and the graph does not declare its output \"{}\" as a tensor of some element type", v.name), ErrorKind::Unsupported);
      core::TensorNode node;
      node.kind = core::TensorKind::Literal;
      node.type = *v.type;
      Extents extents{0};
      bool known = v.extents.has_value();
      if (v.extents)
        for (const Dimension& d : *v.extents) extents.push_back(d.extent.value_or(0)), known = known && d.extent;
      mark(a.context, c.at);
      if (!known) b_.program().undefined.push_back({b_.boolean(true), fmt::format("no trip is made, and the graph does not declare the extents of its output \"{}\"", v.name), b_.place()});
      for (std::int64_t n : extents) node.extents.push_back(b_.integer(n));
      node.literal = *v.type == ElementType::String ? Tensor(extents, std::vector<std::string>{}) : Tensor(*v.type, extents);
      out.push_back(Value::of_tensor(b_.add(std::move(node))));
    }
  }
  if (c.collect != NoSymbol) a.scope.define(c.collect, list(out));
}

Value Elaborator::stacked(const Context& c, Position at, std::span<const Value> tensors) {
  ensure(!tensors.empty());
  core::TensorNode node;
  node.name = "collected";
  node.kind = core::TensorKind::Comprehension;
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    if (!tensors[k].is(Tag::Tensor)) fail_requirement(c, at, fmt::format("{} is collected in trip {}; only tensors are stacked", describe_kind(tensors[k]), k));
    const core::TensorNode& first = b_.program().tensors[tensors[0].tensor];
    const core::TensorNode& here = b_.program().tensors[tensors[k].tensor];
    if (here.type != first.type || here.extents != first.extents)
      fail_requirement(c, at, fmt::format("what is collected has extents {} in trip {}, and {} before", show(extents_of(tensors[k].tensor)), k, show(extents_of(tensors[0].tensor))));
  }
  const std::vector<TermId> extents = b_.program().tensors[tensors[0].tensor].extents;
  node.type = b_.program().tensors[tensors[0].tensor].type;
  node.extents = {b_.integer(static_cast<std::int64_t>(tensors.size()))};
  node.extents.insert(node.extents.end(), extents.begin(), extents.end());
  Values index;
  for (std::size_t k = 0; k < node.extents.size(); ++k) {
    node.variables.push_back(b_.fresh(k == 0 ? "t" : "i"));
    index.push_back(Value::of_term(b_.variable(node.variables.back())));
  }
  const Value chosen = choose_between(c, at, list(tensors), 0, tensors.size(), index[0], std::span(index).subspan(1), nullptr, false);
  // Tensors of rank 0 are read where they are chosen.
  node.body = to_term(c, at, scalar(c, at, chosen));
  mark(c, at);
  node.place = b_.place();
  return Value::of_tensor(b_.add(std::move(node)));
}

// --- sequences and values of any kind, as inputs and outputs

void Elaborator::sequence_input(Application& a, const Clause& c, const Value& v) {
  const std::string& name = spec_.symbols().name(c.name);
  if (!v.is(Tag::List)) fail_requirement(a.context, c.at, fmt::format("{} is a tensor; a sequence is needed", name));
  match_type(a, c, v.type);
  for (std::size_t k = 0; k < v.list->size; ++k) {
    core::TensorNode& node = b_.node(v.list->items[k].tensor);
    if (node.kind == core::TensorKind::Input && node.name.empty()) node.name = fmt::format("{}[{}]", name, k);
    match_type(a, c, node.type);
    input_elements(c, v.list->items[k].tensor);
  }
  a.scope.define(c.name, v);
}

// The element type is only held to its set: several such inputs may differ.
void Elaborator::any_input(Application& a, const Clause& c, const Value& v) {
  const std::string& name = spec_.symbols().name(c.name);
  auto check = [&](ElementType type) {
    const std::size_t names = a.scope.size();
    match_type(a, c, type);
    a.scope.forget(names);
  };
  if (v.is(Tag::Tensor)) {
    core::TensorNode& node = b_.node(v.tensor);
    if (node.kind == core::TensorKind::Input && node.name.empty()) node.name = name;
    check(node.type);
    input_elements(c, v.tensor);
  } else if (v.is(Tag::List)) {
    check(v.type);
    for (std::size_t k = 0; k < v.list->size; ++k) {
      core::TensorNode& node = b_.node(v.list->items[k].tensor);
      if (node.kind == core::TensorKind::Input && node.name.empty()) node.name = fmt::format("{}[{}]", name, k);
      input_elements(c, v.list->items[k].tensor);
    }
  }
}

// An output that is a sequence, or may be one: its value as it leaves the definition.
void Elaborator::set_sequence(Application& a, OutputState& out, Position at, const Value& v) {
  const Clause& c = *out.clause;
  const std::string& name = spec_.symbols().name(c.name);
  if (!v.is(Tag::List)) {
    if (c.sequence || !(v.is(Tag::Tensor) || v.is(Tag::Absent))) fail(a.context, at, fmt::format("the output {} is a sequence, not {}", name, describe_kind(v)));
    if (v.is(Tag::Tensor)) {
      const ElementType has = b_.program().tensors[v.tensor].type;
      if (has == ElementType::Z || has == ElementType::R) fail(a.context, at, fmt::format("the output {} has elements of {}, which no tensor of a program holds", name, name_of(has)));
    }
    out.values.push_back(v);
    out.defined = true;
    return;
  }
  std::optional<ElementType> type = c.sequence ? named_type(a, c.type) : std::nullopt;
  if (!type && v.type != ElementType::Z) type = v.type;
  for (const Value& x : v.items()) {
    if (!x.is(Tag::Tensor)) fail(a.context, at, fmt::format("{} in the sequence {}", describe_kind(x), name));
    const ElementType has = b_.program().tensors[x.tensor].type;
    if (type && has != *type) fail_requirement(a.context, at, fmt::format("a sequence of {} cannot hold a tensor of {}", name_of(*type), name_of(has)));
    type = has;
  }
  if (!type) fail(a.context, at, fmt::format("the element type of the empty sequence {} is not known", name));
  out.values.push_back(sequence(v.items(), *type));
  out.defined = true;
}

}  // namespace ulpian::language
