#include "diff/check/draw.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "spec/numbers/exact.h"

namespace ulpian::diff {
namespace {

Diagnostic usage(std::string message, std::string hint = {}) {
  Diagnostic d;
  d.kind = ErrorKind::Usage;
  d.message = std::move(message);
  d.hint = std::move(hint);
  return d;
}

std::optional<std::int64_t> integer_of(std::string_view text) {
  std::int64_t v = 0;
  auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (ec != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return v;
}

std::optional<double> number_of(std::string_view text) {
  bool negative = false;
  if (!text.empty() && text[0] == '-') {
    negative = true;
    text.remove_prefix(1);
  }
  auto e = Exact::parse(text);
  if (!e) return std::nullopt;
  return negative ? -e->to_double() : e->to_double();
}

const GraphValue* input_named(const Graph& graph, const std::string& name) {
  const auto it = std::find_if(graph.inputs.begin(), graph.inputs.end(), [&](ValueId id) { return graph.values[static_cast<std::size_t>(id)].name == name; });
  return it == graph.inputs.end() ? nullptr : &graph.values[static_cast<std::size_t>(*it)];
}

// "2x3", or nothing for a scalar.
std::optional<Extents> extents_of_text(std::string_view text) {
  Extents out;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find_first_of("x,", start), text.size());
    const auto n = integer_of(text.substr(start, end - start));
    if (!n || *n < 0 || out.size() == 64) return std::nullopt;
    out.push_back(*n);
    start = end + 1;
  }
  return out;
}

// The least and the greatest number of a type.
std::pair<double, double> numbers_of(ElementType type) {
  if (type == ElementType::Bool) return {0, 1};
  if (!is_float(type)) {
    const bool is_signed = convert(ElementType::I64, type, ~Bits{0}, CastMode::Saturate) != 0;
    const double span = std::ldexp(1.0, bits_of(type) - is_signed);
    return {is_signed ? -span : 0, span - 1};
  }
  const double most = to_double(type, largest_finite(type));
  return {format_of(type).has_sign ? -most : std::ldexp(1.0, format_of(type).min_exponent()), most};
}

std::set<std::string> symbols_of(const Graph& graph) {
  std::set<std::string> out;
  for (ValueId id : graph.inputs) {
    const GraphValue& v = graph.values[static_cast<std::size_t>(id)];
    if (!v.extents) continue;
    for (const Dimension& d : *v.extents)
      if (!d.extent && !d.symbol.empty()) out.insert(d.symbol);
  }
  return out;
}

std::string known_names(const Graph& graph) {
  std::string out = "inputs:";
  for (ValueId id : graph.inputs) out += " " + graph.values[static_cast<std::size_t>(id)].name;
  const auto symbols = symbols_of(graph);
  if (!symbols.empty()) out += "; dimensions:";
  for (const std::string& s : symbols) out += " " + s;
  return out;
}

// Integers in [low, high], held to the type's limits.
void fill_integers(Tensor& t, Source& source, std::int64_t low, std::int64_t high) {
  const std::uint64_t span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  for (std::int64_t k = 0; k < t.size(); ++k) {
    const std::uint64_t step = span == ~std::uint64_t{0} ? source.bits() : source.below(span + 1);
    t.set(k, convert(ElementType::I64, t.type(), static_cast<Bits>(low) + step, CastMode::Saturate));
  }
}

std::int64_t to_limit(double v) { return v >= 0x1p63 ? INT64_MAX : v <= -0x1p63 ? INT64_MIN : static_cast<std::int64_t>(v); }

Status fill_range(Tensor& t, Source& source, const std::string& name, double low, double high) {
  const ElementType type = t.type();
  if (is_float(type)) {
    for (std::int64_t k = 0; k < t.size(); ++k) {
      const double u = source.unit();
      t.set(k, from_double(type, low * (1 - u) + high * u, CastMode::Saturate));
    }
    return success();
  }
  const std::int64_t first = to_limit(std::ceil(low)), last = to_limit(std::floor(high));
  if (first > last) return usage(fmt::format("--range {}={}:{}: no integer lies there", name, low, high));
  if (type == ElementType::Bool)
    for (std::int64_t k = 0; k < t.size(); ++k) t.set(k, first >= 1 || (last >= 1 && (source.bits() & 1)));
  else
    fill_integers(t, source, first, last);
  return success();
}

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) { return Source(a * 0x9e3779b97f4a7c15u + b).bits(); }

// Symbols that nobody gives and that no given shape decides.
constexpr std::int64_t DefaultFirst = 1, DefaultOther = 32;

std::string declared(const std::vector<Dimension>& extents) {
  std::string out = "[";
  for (const Dimension& d : extents) out += (out.size() > 1 ? ", " : "") + (d.extent ? std::to_string(*d.extent) : d.symbol.empty() ? "?" : d.symbol);
  return out + "]";
}

// Explicit shapes give their symbols to the other inputs.
Status symbols_of_shapes(const Graph& graph, const DrawOptions& options, std::map<std::string, std::int64_t>& symbols) {
  for (ValueId id : graph.inputs) {
    const GraphValue& v = graph.values[static_cast<std::size_t>(id)];
    const auto given = options.shapes.find(v.name);
    if (given == options.shapes.end() || !v.extents) continue;
    const auto wrong = [&] { return usage(fmt::format("--shape {}: {} is given; the model declares {}", v.name, to_string(given->second), declared(*v.extents))); };
    if (v.extents->size() != given->second.size()) return wrong();
    for (std::size_t d = 0; d < v.extents->size(); ++d) {
      const Dimension& dim = (*v.extents)[d];
      if (dim.extent && *dim.extent != given->second[d]) return wrong();
      if (dim.extent || dim.symbol.empty()) continue;
      const auto [it, added] = symbols.try_emplace(dim.symbol, given->second[d]);
      if (!added && it->second != given->second[d]) return usage(fmt::format("the dimension {} would be {} and {}", dim.symbol, it->second, given->second[d]));
    }
  }
  return success();
}

}  // namespace

Status parse_shape(const std::string& text, const Graph& graph, DrawOptions& options) {
  const std::size_t mark = text.rfind('=');
  const std::string wrong = fmt::format("--shape {}: NAME=2x3x4 for an input (NAME= for a scalar, NAME=2x3+4x3 for a sequence, NAME=none for an empty one or an optional without a value), or SYMBOL=4 for a dimension", text);
  if (mark == std::string::npos) return usage(wrong, known_names(graph));
  const std::string name = text.substr(0, mark);
  if (options.shapes.count(name) || options.items.count(name) || options.nothing.count(name) || options.symbols.count(name)) return usage(fmt::format("--shape is given twice for \"{}\"", name));
  const std::string_view shapes = std::string_view(text).substr(mark + 1);
  const GraphValue* input = input_named(graph, name);
  if (input && shapes == "none") {
    if (!input->is_sequence && !input->is_optional) return usage(fmt::format("--shape {}: the input is a tensor", text));
    if (input->is_sequence && !input->is_optional) options.items[name] = {};
    else options.nothing.insert(name);
    return success();
  }
  std::vector<Extents> all;
  for (std::size_t start = 0; start <= shapes.size();) {
    const std::size_t end = std::min(shapes.find('+', start), shapes.size());
    auto extents = extents_of_text(shapes.substr(start, end - start));
    if (!extents) return usage(wrong, known_names(graph));
    all.push_back(std::move(*extents));
    start = end + 1;
  }
  if (input && input->is_sequence) {
    options.items[name] = std::move(all);
    return success();
  }
  if (all.size() != 1) return usage(input ? fmt::format("--shape {}: the input is no sequence", text) : wrong, known_names(graph));
  const Extents extents = all.front();
  if (input) {
    options.shapes[name] = extents;
    return success();
  }
  if (!symbols_of(graph).count(name)) return usage(fmt::format("--shape {}: the model has no such input or dimension", text), known_names(graph));
  if (extents.size() != 1) return usage(wrong, known_names(graph));
  options.symbols[name] = extents[0];
  return success();
}

Status parse_range(const std::string& text, const Graph& graph, DrawOptions& options) {
  const std::size_t mark = text.rfind('=');
  const std::size_t colon = text.find(':', mark == std::string::npos ? 0 : mark);
  const std::string wrong = fmt::format("--range {}: NAME=LOW:HIGH", text);
  if (mark == std::string::npos || colon == std::string::npos) return usage(wrong, known_names(graph));
  const std::string name = text.substr(0, mark);
  if (!input_named(graph, name)) return usage(fmt::format("--range {}: the model has no such input", text), known_names(graph));
  const auto low = number_of(std::string_view(text).substr(mark + 1, colon - mark - 1)), high = number_of(std::string_view(text).substr(colon + 1));
  if (!low || !high || !(*low <= *high)) return usage(wrong);
  if (options.ranges.count(name)) return usage(fmt::format("--range is given twice for \"{}\"", name));
  if (const GraphValue* v = input_named(graph, name); v->type && *v->type != ElementType::String && !is_complex(*v->type)) {
    const auto [least, most] = numbers_of(*v->type);
    if (*low < least || *high > most) return usage(fmt::format("--range {}: {} holds numbers from {} to {}", text, name_of(*v->type), least, most));
  }
  options.ranges[name] = {*low, *high};
  return success();
}

namespace {

Result<Extents> extents_of_input(const GraphValue& v, const DrawOptions& options, const std::map<std::string, std::int64_t>& symbols) {
  if (const auto given = options.shapes.find(v.name); given != options.shapes.end()) return given->second;
  if (!v.extents) return usage(fmt::format("the rank of input \"{}\" is not declared", v.name), fmt::format("--shape {}=2x3", v.name));
  Extents out;
  for (const Dimension& dim : *v.extents) {
    const auto s = dim.extent || dim.symbol.empty() ? symbols.end() : symbols.find(dim.symbol);
    out.push_back(dim.extent ? *dim.extent : s != symbols.end() ? s->second : out.empty() ? DefaultFirst : DefaultOther);
  }
  return out;
}

bool draws_integers(const GraphValue& v, const DrawOptions& options) { return v.type && is_integer(*v.type) && !options.ranges.count(v.name); }

}  // namespace

DataKind kind_of_sample(int sample) { return static_cast<DataKind>(sample % DataKindCount); }

DataKind kind_of(const DrawOptions& options) {
  return options.kinds.empty() ? kind_of_sample(options.sample) : options.kinds[static_cast<std::size_t>(options.sample) % options.kinds.size()];
}

namespace {

// One tensor's numbers. `bytes` is what has been drawn so far.
Result<Tensor> draw_tensor(const GraphValue& v, Extents extents, Source& source, const DrawOptions& options, bool leading, std::int64_t& bytes) {
  const auto count = element_count(extents);
  if (!count || *count > (options.memory_limit - bytes) / bytes_of(*v.type)) {
    Diagnostic d = usage(fmt::format("input \"{}\" of extents {} is larger than the memory limit", v.name, to_string(extents)), "choose smaller extents with --shape");
    d.kind = ErrorKind::Input;
    return d;
  }
  bytes += *count * bytes_of(*v.type);
  Tensor t(*v.type, std::move(extents));
  const auto range = options.ranges.find(v.name);
  const auto high = options.integer_high.find(v.name);
  if (range != options.ranges.end()) {
    if (Status s = fill_range(t, source, v.name, range->second.first, range->second.second); !s) return s.error();
  } else if (is_float(*v.type)) {
    fill_float(t, source, kind_of(options), leading, options.edges);
  } else if (*v.type == ElementType::Bool) {
    for (std::int64_t i = 0; i < t.size(); ++i) t.set(i, source.bits() & 1);
  } else {
    fill_integers(t, source, 0, high == options.integer_high.end() ? 255 : high->second);
  }
  return t;
}

constexpr std::size_t DefaultItems = 2;

Result<Datum> draw_sequence(const GraphValue& v, Source& source, const DrawOptions& options, const std::map<std::string, std::int64_t>& symbols, std::int64_t& bytes) {
  std::vector<Extents> shapes;
  if (const auto given = options.items.find(v.name); given != options.items.end()) {
    shapes = given->second;
  } else {
    auto extents = extents_of_input(v, options, symbols);
    if (!extents) return std::move(extents.error().help(fmt::format("--shape {}=2x3+4x3", v.name)));
    shapes.assign(DefaultItems, *extents);
  }
  Datum::Sequence s{*v.type, {}};
  for (Extents& extents : shapes) {
    auto t = draw_tensor(v, std::move(extents), source, options, true, bytes);
    if (!t) return std::move(t).error();
    s.items.push_back(std::move(*t));
  }
  return Datum(std::move(s));
}

}  // namespace

std::vector<std::string> chosen_dimensions(const Graph& graph, const DrawOptions& options) {
  std::set<ValueId> constant;
  for (const auto& [id, tensor] : graph.constants) constant.insert(id);
  std::map<std::string, std::int64_t> symbols = options.symbols;
  if (!symbols_of_shapes(graph, options, symbols)) return {};
  std::vector<std::string> out;
  for (ValueId id : graph.inputs) {
    const GraphValue& v = graph.values[static_cast<std::size_t>(id)];
    if (!v.extents || v.is_sequence || constant.count(id) || options.shapes.count(v.name) || options.nothing.count(v.name)) continue;
    for (std::size_t d = 0; d < v.extents->size(); ++d) {
      const Dimension& dim = (*v.extents)[d];
      if (dim.extent || symbols.count(dim.symbol)) continue;
      std::string text = fmt::format("{} = {}", dim.symbol.empty() ? fmt::format("{}[{}]", v.name, d) : dim.symbol, d == 0 ? DefaultFirst : DefaultOther);
      if (std::find(out.begin(), out.end(), text) == out.end()) out.push_back(std::move(text));
    }
  }
  return out;
}

int leading_input(const Graph& graph, const DrawOptions& options) {
  std::set<ValueId> constant;
  for (const auto& [id, tensor] : graph.constants) constant.insert(id);
  std::map<std::string, std::int64_t> symbols = options.symbols;
  if (!symbols_of_shapes(graph, options, symbols)) return -1;
  int best = -1;
  std::int64_t most = 0;
  for (std::size_t k = 0; k < graph.inputs.size(); ++k) {
    const GraphValue& v = graph.values[static_cast<std::size_t>(graph.inputs[k])];
    if ((constant.count(graph.inputs[k]) && !options.shapes.count(v.name)) || options.ranges.count(v.name) || options.nothing.count(v.name)) continue;
    if (!v.type || !is_float(*v.type) || v.is_sequence) continue;
    const auto extents = extents_of_input(v, options, symbols);
    const auto count = extents ? element_count(*extents) : std::nullopt;
    if (count && *count > most) most = *count, best = static_cast<int>(k);
  }
  return best;
}

Result<std::vector<Datum>> draw_inputs(const Graph& graph, const DrawOptions& options) {
  std::set<ValueId> constant;
  for (const auto& [id, tensor] : graph.constants) constant.insert(id);
  std::map<std::string, std::int64_t> symbols = options.symbols;
  if (Status s = symbols_of_shapes(graph, options, symbols); !s) return s.error();
  const int leading = leading_input(graph, options);
  std::vector<Datum> out(graph.inputs.size());
  std::int64_t bytes = 0;
  for (std::size_t k = 0; k < graph.inputs.size(); ++k) {
    const GraphValue& v = graph.values[static_cast<std::size_t>(graph.inputs[k])];
    if (constant.count(graph.inputs[k]) && !options.shapes.count(v.name) && !options.ranges.count(v.name)) continue;
    if (options.nothing.count(v.name)) continue;
    if (!v.type || *v.type == ElementType::String || is_complex(*v.type))
      return usage(fmt::format("input \"{}\" has a type that is not drawn; give it as a file", v.name), "--inputs DIR");
    Source source(mixed(mixed(options.seed, static_cast<std::uint64_t>(options.sample)), k));
    if (v.is_sequence) {
      auto sequence = draw_sequence(v, source, options, symbols, bytes);
      if (!sequence) return std::move(sequence).error();
      out[k] = std::move(*sequence);
      continue;
    }
    auto extents = extents_of_input(v, options, symbols);
    if (!extents) return std::move(extents).error();
    auto t = draw_tensor(v, std::move(*extents), source, options, leading == static_cast<int>(k), bytes);
    if (!t) return std::move(t).error();
    out[k] = std::move(*t);
  }
  return out;
}

Result<std::vector<Datum>> draw_valid_inputs(const std::shared_ptr<const language::Specification>& specification, const std::shared_ptr<const Graph>& graph,
                                                             DrawOptions options, const interp::Limits& limits) {
  constexpr std::int64_t Highs[] = {255, 31, 7, 1, 0};
  auto inputs = draw_inputs(*graph, options);
  std::vector<std::string> integers;
  for (ValueId id : graph->inputs)
    if (const GraphValue& v = graph->values[static_cast<std::size_t>(id)]; draws_integers(v, options)) integers.push_back(v.name);
  if (!inputs || integers.empty()) return inputs;
  interp::Session session(specification, graph, {});
  // Refused by a definition, and by which: another one refusing is a step ahead.
  const auto refusal = [&](const std::vector<Datum>& x) -> std::optional<Diagnostic> {
    auto ran = session.run_values(x, {}, limits);
    if (ran || ran.error().kind != ErrorKind::Requirement) return std::nullopt;
    return std::move(ran).error();
  };
  if (!refusal(*inputs)) return inputs;
  const auto drawn = *inputs;
  // All at the same, falling; then each back up as far as it may go.
  for (std::size_t h = 1; h < std::size(Highs); ++h) {
    for (const std::string& name : integers) options.integer_high[name] = Highs[h];
    inputs = draw_inputs(*graph, options);
    if (!inputs || refusal(*inputs)) continue;
    if (integers.size() == 1) return inputs;
    for (const std::string& name : integers)
      for (std::size_t up = 0; up < h; ++up) {
        DrawOptions wider = options;
        wider.integer_high[name] = Highs[up];
        auto more = draw_inputs(*graph, wider);
        if (!more || refusal(*more)) continue;
        options = std::move(wider);
        inputs = std::move(more);
        break;
      }
    return inputs;
  }
  return drawn;
}

}  // namespace ulpian::diff
