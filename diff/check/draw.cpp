#include "diff/check/draw.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <random>
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

bool is_input(const Graph& graph, const std::string& name) {
  return std::any_of(graph.inputs.begin(), graph.inputs.end(), [&](ValueId id) { return graph.values[static_cast<std::size_t>(id)].name == name; });
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

// Numbers without the standard library's distributions, which differ between implementations.
class Source {
public:
  explicit Source(std::uint64_t seed) : engine_(seed * 0x9e3779b97f4a7c15ull + 0x1234567) {}
  std::uint64_t bits() { return engine_(); }
  double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }              // [0, 1)
  double bell() {                                                                      // nearly normal, in [-6, 6]
    double s = -6;
    for (int k = 0; k < 12; ++k) s += unit();
    return s;
  }
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(unit() * static_cast<double>(n)); }
  double power_of_two(int low, int high) { return std::ldexp(1.0, low + static_cast<int>(below(high - low + 1))) * (bits() & 1 ? 1 : -1); }

private:
  std::mt19937_64 engine_;
};

void fill_float(Tensor& t, Source& source, int kind) {
  const ElementType type = t.type();
  const std::int64_t row = t.extents().empty() ? 1 : std::max<std::int64_t>(t.extents().back(), 1);
  double last = 0;
  for (std::int64_t k = 0; k < t.size(); ++k) {
    double v = 0;
    switch (kind) {
      case 0: v = source.bell(); break;
      case 1: v = source.power_of_two(-6, 3); break;
      case 2: v = k % row == (k / row) % row ? 1.0 : source.unit() < 0.1 ? source.bell() : 0.0; break;
      case 3: v = k % 2 ? -last : std::floor(source.bell() * 4) / 4; break;
      default: v = source.bell() * source.power_of_two(-20, 6); break;
    }
    last = v;
    t.set(k, from_double(type, v));
  }
}

}  // namespace

Status parse_shape(const std::string& text, const Graph& graph, DrawOptions& options) {
  const std::size_t mark = text.rfind('=');
  const std::string wrong = fmt::format("--shape {}: NAME=2x3x4 for an input, or SYMBOL=4 for a dimension", text);
  if (mark == std::string::npos) return usage(wrong, known_names(graph));
  const std::string name = text.substr(0, mark);
  Extents extents;
  std::size_t start = mark + 1;
  while (start < text.size()) {
    std::size_t end = text.find_first_of("x,", start);
    if (end == std::string::npos) end = text.size();
    const auto n = integer_of(std::string_view(text).substr(start, end - start));
    if (!n || *n < 0) return usage(wrong, known_names(graph));
    extents.push_back(*n);
    start = end + 1;
  }
  if (is_input(graph, name)) {
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
  if (!is_input(graph, name)) return usage(fmt::format("--range {}: the model has no such input", text), known_names(graph));
  const auto low = number_of(std::string_view(text).substr(mark + 1, colon - mark - 1)), high = number_of(std::string_view(text).substr(colon + 1));
  if (!low || !high || !(*low <= *high)) return usage(wrong);
  options.ranges[name] = {*low, *high};
  return success();
}

Result<std::vector<std::optional<Tensor>>> draw_inputs(const Graph& graph, const DrawOptions& options) {
  std::set<ValueId> constant;
  for (const auto& [id, tensor] : graph.constants) constant.insert(id);
  std::map<std::string, std::int64_t> symbols = options.symbols;
  std::vector<std::optional<Tensor>> out(graph.inputs.size());
  // Explicit shapes give their symbols to the other inputs.
  for (ValueId id : graph.inputs) {
    const GraphValue& v = graph.values[static_cast<std::size_t>(id)];
    auto given = options.shapes.find(v.name);
    if (given == options.shapes.end() || !v.extents || v.extents->size() != given->second.size()) continue;
    for (std::size_t d = 0; d < v.extents->size(); ++d)
      if (!(*v.extents)[d].extent && !(*v.extents)[d].symbol.empty()) symbols.try_emplace((*v.extents)[d].symbol, given->second[d]);
  }
  std::int64_t bytes = 0;
  for (std::size_t k = 0; k < graph.inputs.size(); ++k) {
    if (constant.count(graph.inputs[k])) continue;
    const GraphValue& v = graph.values[static_cast<std::size_t>(graph.inputs[k])];
    if (!v.type || v.is_sequence || v.is_optional || *v.type == ElementType::String || is_complex(*v.type))
      return usage(fmt::format("input \"{}\" has a type that is not drawn; give it as a file", v.name), "--inputs DIR");
    Extents extents;
    if (auto given = options.shapes.find(v.name); given != options.shapes.end()) {
      extents = given->second;
    } else if (!v.extents) {
      return usage(fmt::format("the rank of input \"{}\" is not declared", v.name), fmt::format("--shape {}=2x3", v.name));
    } else {
      for (std::size_t d = 0; d < v.extents->size(); ++d) {
        const Dimension& dim = (*v.extents)[d];
        std::int64_t n = d == 0 ? 1 : 32;
        if (dim.extent) n = *dim.extent;
        else if (auto s = symbols.find(dim.symbol); !dim.symbol.empty() && s != symbols.end()) n = s->second;
        extents.push_back(n);
      }
    }
    const auto count = element_count(extents);
    if (!count || *count > (options.memory_limit - bytes) / bytes_of(*v.type)) {
      Diagnostic d = usage(fmt::format("input \"{}\" of extents {} is larger than the memory limit", v.name, to_string(extents)), "choose smaller extents with --shape");
      d.kind = ErrorKind::Input;
      return d;
    }
    bytes += *count * bytes_of(*v.type);
    Tensor t(*v.type, extents);
    Source source(options.seed * 1000003 + static_cast<std::uint64_t>(options.sample) * 7919 + k);
    auto range = options.ranges.find(v.name);
    if (range != options.ranges.end()) {
      const auto [low, high] = range->second;
      for (std::int64_t i = 0; i < t.size(); ++i) {
        if (is_float(*v.type)) t.set(i, from_double(*v.type, low + (high - low) * source.unit(), CastMode::Saturate));
        else t.set(i, convert(ElementType::I64, *v.type, from_int64(ElementType::I64, static_cast<std::int64_t>(std::ceil(low)) + source.below(static_cast<std::int64_t>(std::floor(high) - std::ceil(low)) + 1)), CastMode::Saturate));
      }
    } else if (is_float(*v.type)) {
      fill_float(t, source, options.sample % 5);
    } else if (*v.type == ElementType::Bool) {
      for (std::int64_t i = 0; i < t.size(); ++i) t.set(i, source.bits() & 1);
    } else {
      for (std::int64_t i = 0; i < t.size(); ++i)
        t.set(i, convert(ElementType::I64, *v.type, from_int64(ElementType::I64, source.below(options.integer_high + 1)), CastMode::Saturate));
    }
    out[k] = std::move(t);
  }
  return out;
}

}  // namespace ulpian::diff
