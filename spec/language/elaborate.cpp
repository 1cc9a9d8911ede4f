#include "spec/language/elaborate.h"

#include <algorithm>

#include <fmt/format.h>

#include "spec/language/elaborator.h"

namespace ulpian::language {
namespace {

std::string bounded(const std::string& s) { return s.size() <= 80 ? s : s.substr(0, 77) + "..."; }

std::string_view kind_name(AttributeKind k) {
  switch (k) {
    case AttributeKind::Int: return "an integer";
    case AttributeKind::Float: return "a float";
    case AttributeKind::Bool: return "an integer, 0 or 1";
    case AttributeKind::String: return "a string";
    case AttributeKind::Dtype: return "an element type";
    case AttributeKind::Tensor: return "a tensor";
    case AttributeKind::Graph: return "a graph";
  }
  ensure(false);
}

}  // namespace

void Elaborator::wrong_attribute(const OperatorDefinition& op, const Clause& c) {
  Context where;
  where.file = op.file;
  fail_requirement(where, c.at, fmt::format("the attribute {} must be {}{}", spec_.symbols().name(c.name), c.is_list ? "a list, each " : "", kind_name(c.attribute_kind)));
}

Value Elaborator::dtype_attribute(const OperatorDefinition& op, const Clause& c, std::int64_t number) {
  if (number == 0 && c.optional) return Value();  // ONNX's UNDEFINED, which schemas have as the default
  if (auto t = element_type_numbered(op.name, number)) return Value::of_type(*t);
  Context where;
  where.file = op.file;
  fail_requirement(where, c.at, fmt::format("the attribute {} names the element type {}, which does not exist", spec_.symbols().name(c.name), number));
}

Value Elaborator::literal_attribute(const Clause& c, const Tensor& t) {
  core::TensorNode node;
  node.name = spec_.symbols().name(c.name);
  node.type = t.type();
  node.kind = core::TensorKind::Literal;
  for (std::int64_t e : t.extents()) node.extents.push_back(b_.integer(e));
  node.literal = t;
  return Value::of_tensor(b_.add(std::move(node)));
}

Value Elaborator::list_attribute(const OperatorDefinition& op, const Clause& c, const Attribute& a) {
  const AttributeKind k = c.attribute_kind;
  auto made = [&](const auto& xs, bool fits, auto convert) {
    if (!fits && !xs.empty()) wrong_attribute(op, c);  // files do not tell what an empty list is of
    Values out;
    for (const auto& x : xs) out.push_back(convert(x));
    return list(out);
  };
  if (auto* ns = std::get_if<std::vector<std::int64_t>>(&a))
    return made(*ns, k == AttributeKind::Int || k == AttributeKind::Bool || k == AttributeKind::Dtype,
                [&](std::int64_t n) { return k == AttributeKind::Dtype ? dtype_attribute(op, c, n) : Value::of(n); });
  if (auto* fs = std::get_if<std::vector<float>>(&a))
    return made(*fs, k == AttributeKind::Float, [&](float f) { return number(Exact::of_double(static_cast<double>(f))); });
  if (auto* ss = std::get_if<std::vector<std::string>>(&a)) return made(*ss, k == AttributeKind::String, [&](const std::string& s) { return string(s); });
  if (auto* ts = std::get_if<std::vector<Tensor>>(&a)) return made(*ts, k == AttributeKind::Tensor, [&](const Tensor& t) { return literal_attribute(c, t); });
  wrong_attribute(op, c);
}

Value Elaborator::attribute_value(const OperatorDefinition& op, const Clause& c, const Attribute& a) {
  const AttributeKind k = c.attribute_kind;
  if (k == AttributeKind::Graph) {
    const auto* graph = std::get_if<std::shared_ptr<const Graph>>(&a);
    if (!graph || !*graph) wrong_attribute(op, c);
    return Value::of_graph(graph->get());
  }
  if (c.is_list) return list_attribute(op, c, a);
  if (auto* n = std::get_if<std::int64_t>(&a)) {
    if (k == AttributeKind::Int || k == AttributeKind::Bool) return Value::of(*n);
    if (k == AttributeKind::Dtype) return dtype_attribute(op, c, *n);
  }
  if (auto* f = std::get_if<float>(&a); f && k == AttributeKind::Float) return number(Exact::of_double(static_cast<double>(*f)));
  if (auto* t = std::get_if<Tensor>(&a); t && k == AttributeKind::Tensor) return literal_attribute(c, *t);
  if (auto* s = std::get_if<std::string>(&a)) {
    if (k == AttributeKind::String) return string(*s);
    if (k == AttributeKind::Dtype)
      if (auto t = element_type_named(*s)) return Value::of_type(*t);
  }
  wrong_attribute(op, c);
}

std::map<std::string, Value> Elaborator::attribute_values(const OperatorDefinition& op, const Call& call) {
  std::map<std::string, Value> out;
  for (const auto& [name, value] : call.attributes) {
    const Symbol symbol = spec_.symbols().find(name);
    auto it = std::find_if(op.clauses.begin(), op.clauses.end(), [&](const Clause& c) { return c.kind == ClauseKind::Attribute && c.name == symbol; });
    if (symbol == NoSymbol || it == op.clauses.end()) {
      Context where;
      where.file = op.file;
      std::string known;
      for (const Clause& c : op.clauses)
        if (c.kind == ClauseKind::Attribute) known += (known.empty() ? "" : ", ") + spec_.symbols().name(c.name);
      Diagnostic d;
      d.kind = ErrorKind::Requirement;
      d.message = fmt::format("the attribute {} does not exist at version {}", bounded(name), call.version);
      d.place = {op.file->path, op.at.line, 0};
      d.hint = known.empty() ? "it has no attributes" : "its attributes are " + known;
      throw ElaborationError{std::move(d)};
    }
    out[name] = attribute_value(op, *it, value);
  }
  return out;
}

Elaborator::Values Elaborator::apply_operator(const OperatorDefinition& op, std::int64_t opset, const std::map<std::string, Value>& attributes,
                                              Values inputs, std::size_t outputs) {
  // Scopes outlive the call: closures made in them may be evaluated later.
  Application a;
  a.scope.definition = &op;
  a.scope.version = version_in_force(op, opset);
  a.scope.opset = opset;
  auto predefined = [&](std::string_view name, Value v) {
    const Symbol s = spec_.symbols().find(name);
    if (s != NoSymbol) a.scope.define(s, v);
  };
  predefined("opset", Value::of(opset));
  predefined("version", Value::of(a.scope.version));
  predefined("outputs", Value::of(static_cast<std::int64_t>(outputs)));
  a.attributes = &attributes;
  a.inputs = std::move(inputs);
  a.context.scope = &a.scope;
  a.context.file = op.file;
  for (const Clause& c : op.clauses)
    if (c.kind == ClauseKind::Out) a.outputs.push_back({&c, false, {}, false, {}});
  for (const Clause& c : op.clauses) clause(a, c);
  for (std::size_t k = a.next_input; k < a.inputs.size(); ++k)
    if (!a.inputs[k].is(Tag::Absent))
      fail_requirement(a.context, op.at, fmt::format("{} inputs are given; {} takes {}", a.inputs.size(), op.name, a.next_input));
  return results_of(a);
}

Elaborator::Values Elaborator::results_of(Application& a) {
  Values results;
  result_names_.clear();
  for (OutputState& o : a.outputs) {
    const std::string& name = spec_.symbols().name(o.clause->name);
    if (!o.defined)
      if (const Value* v = a.scope.find(o.clause->name); v && (v->is(Tag::Tensor) || v->is(Tag::List))) set_output(a, o, o.clause->at, *v);
    if (!o.defined) {
      if (!o.clause->optional) fail(a.context, o.clause->at, fmt::format("the output {} is not defined", name));
      results.push_back(Value());
      result_names_.push_back(name);
      continue;
    }
    const bool several = o.clause->variadic || o.clause->each != NoSymbol;
    for (std::size_t k = 0; k < o.values.size(); ++k) result_names_.push_back(several ? fmt::format("{}{}", name, k) : name);
    results.insert(results.end(), o.values.begin(), o.values.end());
  }
  return results;
}

void Elaborator::set_results(std::span<const Value> results) {
  core::Program& p = b_.program();
  bool plain = true;
  for (std::size_t k = 0; k < results.size(); ++k) {
    const Value& v = results[k];
    core::ResultInfo info;
    info.first = static_cast<std::uint32_t>(p.outputs.size());
    if (v.is(Tag::List)) {
      plain = false;
      info.kind = core::ResultKind::Sequence;
      info.type = v.type;
      info.count = static_cast<std::uint32_t>(v.list->size);
      for (std::size_t j = 0; j < v.list->size; ++j) {
        p.outputs.push_back(v.list->items[j].tensor);
        p.output_names.push_back(fmt::format("{}[{}]", result_names_[k], j));
      }
    } else {
      // A result without a value keeps its place among the outputs.
      if (v.is(Tag::Absent)) info.kind = core::ResultKind::Nothing;
      p.outputs.push_back(v.is(Tag::Absent) ? core::None : v.tensor);
      p.output_names.push_back(result_names_[k]);
    }
    p.results.push_back(info);
  }
  if (plain) p.results.clear();
}

core::Program Elaborator::run(const Call& call) {
  const OperatorDefinition* op = spec_.find(call.op, call.version);
  if (!op) {
    Diagnostic d;
    d.kind = ErrorKind::Unsupported;
    d.message = spec_.has(call.op) ? fmt::format("{} has no definition in force at version {}", call.op, call.version)
                                   : fmt::format("the operator {} is not defined", bounded(call.op));
    d.hint = "give its definition with --spec FILE; `ulpian spec list` shows what is defined";
    throw ElaborationError{std::move(d)};
  }
  allow_for(call);
  b_.program().op = call.op;
  alternatives_ = call.alternatives;
  Values inputs;
  for (const InputDescription& in : call.inputs) inputs.push_back(add_inputs(in));
  const auto attributes = attribute_values(*op, call);
  known_.resize(b_.program().tensors.size());
  const Values results = apply_operator(*op, call.version, attributes, std::move(inputs), call.outputs);
  if (call.outputs > results.size()) {
    Diagnostic d;
    d.kind = ErrorKind::Requirement;
    d.message = fmt::format("{} outputs are asked for; {} gives {}", call.outputs, call.op, results.size());
    d.place = {op->file->path, op->at.line, 0};
    throw ElaborationError{std::move(d)};
  }
  result_names_.resize(call.outputs);
  set_results(std::span(results).first(call.outputs));
  for (const auto& [term, value] : path_)
    b_.program().path.push_back({value ? term : b_.primitive(Primitive::Not, term), {}, 0});
  return b_.finish();
}

namespace {

Diagnostic of_limit(const LimitReached& x, const Call& call) {
  Diagnostic d;
  d.kind = ErrorKind::Limit;
  d.message = fmt::format("elaborating {} needs more {}", call.op, x.what);
  return d;
}

Diagnostic of_limit(const ExactTooLarge& x, const Call& call) {
  Diagnostic d;
  d.kind = ErrorKind::Limit;
  d.message = fmt::format("elaborating {} needs {}", call.op, x.what());
  return d;
}

Diagnostic of_limit(const TimeIsUp& x, const Call& call) {
  Diagnostic d;
  d.kind = ErrorKind::Limit;
  d.message = fmt::format("elaborating {} {}", call.op, x.what);
  return d;
}

}  // namespace

bool holds_graphs(const OperatorDefinition& definition) {
  return std::any_of(definition.clauses.begin(), definition.clauses.end(),
                     [](const Clause& c) { return c.kind == ClauseKind::Attribute && c.attribute_kind == AttributeKind::Graph; });
}

Result<core::Program> elaborate(const Specification& specification, const Call& call, const ElaborationLimits& limits, Host* host) {
  try {
    return Elaborator(specification, limits, {}, host).run(call);
  } catch (ElaborationError& x) {
    return std::move(x.diagnostic);
  } catch (const LimitReached& x) {
    return of_limit(x, call);
  } catch (const ExactTooLarge& x) {
    return of_limit(x, call);
  } catch (const TimeIsUp& x) {
    return of_limit(x, call);
  } catch (const UndecidedCondition& x) {
    Diagnostic d;
    d.kind = ErrorKind::Unsupported;
    d.message = fmt::format("whether {} holds decides the structure of {}, and nothing says it", x.text, call.op);
    d.place = x.place;
    d.hint = "give concrete extents with --shape";
    return d;
  }
}

Result<std::vector<core::Program>> elaborate_all(const Specification& specification, const Call& call, const ElaborationLimits& limits) {
  std::vector<core::Program> out;
  std::vector<std::vector<bool>> todo{{}};
  std::optional<Diagnostic> refusal;
  int runs = 0;
  while (!todo.empty()) {
    ++runs;
    std::vector<bool> decisions = std::move(todo.back());
    todo.pop_back();
    try {
      out.push_back(Elaborator(specification, limits, decisions).run(call));
    } catch (ElaborationError& x) {
      if (x.diagnostic.kind != ErrorKind::Requirement && x.diagnostic.kind != ErrorKind::Undefined) return std::move(x.diagnostic);
      refusal = std::move(x.diagnostic);
    } catch (const LimitReached& x) {
      return of_limit(x, call);
    } catch (const ExactTooLarge& x) {
      return of_limit(x, call);
    } catch (const TimeIsUp& x) {
      return of_limit(x, call);
    } catch (const UndecidedCondition&) {
      decisions.push_back(false);
      todo.push_back(decisions);
      decisions.back() = true;
      todo.push_back(std::move(decisions));
    }
    // Refused paths leave no program, but take their time.
    if (out.size() + todo.size() > static_cast<std::size_t>(limits.splits) || runs > 4 * limits.splits) {
      Diagnostic d;
      d.kind = ErrorKind::Limit;
      d.message = fmt::format("{} splits into more than {} programs under these symbolic extents", call.op, limits.splits);
      d.hint = "give concrete extents with --shape";
      return d;
    }
  }
  if (out.empty() && refusal) return *refusal;
  return out;
}

}  // namespace ulpian::language
