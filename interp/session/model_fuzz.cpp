// Any bytes as an ONNX model that is run: both evaluators must end within their limits, agree on every bit, and stay inside the allowed sets.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "interp/session/allowed_session.h"
#include "interp/session/session.h"
#include "spec/import/onnx/import_onnx.h"

namespace {

using namespace ulpian;
using namespace ulpian::interp;

constexpr std::int64_t MostElements = 4096;

const std::shared_ptr<const language::Specification>& specification() {
  static const auto spec = language::Specification::load().value();
  return spec;
}

// Small values of both signs, and among floats an infinity and a NaN.
std::optional<Tensor> input_for(const GraphValue& v) {
  Extents extents;
  std::int64_t count = 1;
  for (const Dimension& d : v.extents.value_or(std::vector<Dimension>{})) {
    extents.push_back(d.extent.value_or(2));
    if (extents.back() < 0 || extents.back() > MostElements) return std::nullopt;
    count *= extents.back();
    if (count > MostElements) return std::nullopt;
  }
  const ElementType type = v.type.value_or(ElementType::F32);
  Tensor out(type, std::move(extents));
  if (type == ElementType::String || is_complex(type)) return out;
  for (std::int64_t k = 0; k < out.size(); ++k) {
    const std::int64_t small = k % 7 - (is_float(type) ? 3 : 0);
    const Bits b = type == ElementType::Bool ? static_cast<Bits>(k % 2) : convert(ElementType::I64, type, static_cast<Bits>(small), CastMode::Plain);
    out.set(k, b);
  }
  return out;
}

Limits limits() {
  Limits out;
  out.memory_bytes = 32 << 20;
  out.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  OnnxImportOptions options;
  options.memory_limit = 1 << 22;
  options.node_limit = 200;
  options.is_defined = [](std::string_view op, std::int64_t version) {
    return specification()->find(op, version) ? Definedness::Defined : specification()->has(op) ? Definedness::UnknownVersion : Definedness::UnknownOperator;
  };
  auto imported = import_onnx(std::as_bytes(std::span(data, size)), options);
  if (!imported) return 0;
  const auto graph = std::make_shared<const Graph>(std::move(*imported));
  std::vector<std::optional<Tensor>> inputs;
  for (const ValueId id : graph->inputs) inputs.push_back(input_for(graph->values[static_cast<std::size_t>(id)]));

  SessionOptions scalar;
  scalar.evaluator = Evaluator::Scalar;
  auto block = Session(specification(), graph).run(inputs, limits());
  auto plain = Session(specification(), graph, scalar).run(inputs, limits());
  if (!block) ensure(!to_string(block.error()).empty());
  if (!block || !plain) {
    // A limit may be met by one alone.
    const auto limited = [](const auto& r) { return !r && r.error().kind == ErrorKind::Limit; };
    ensure(block.ok() == plain.ok() || limited(block) || limited(plain), to_string((block ? plain : block).error()));
    return 0;
  }
  for (std::size_t k = 0; k < block->size(); ++k) ensure(same_elements((*block)[k], (*plain)[k]), "the evaluators differ");

  std::vector<std::optional<AllowedTensor>> sets(inputs.size());
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (inputs[k]) sets[k] = AllowedTensor::exactly(*inputs[k]);
  auto allowed = AllowedSession(specification(), graph, *profile_named("standard")).run(sets, limits());
  if (!allowed) {
    ensure(!to_string(allowed.error()).empty());
    return 0;
  }
  for (std::size_t k = 0; k < block->size(); ++k) {
    const Tensor& t = (*block)[k];
    if (t.type() == ElementType::String || is_complex(t.type())) continue;
    ensure(t.extents() == (*allowed)[k].extents(), "the allowed answer has other extents");
    for (std::int64_t i = 0; i < t.size(); ++i)
      ensure((*allowed)[k].contains(i, t.at(i)), "the canonical answer is not allowed: output " + std::to_string(k) + ", element " + std::to_string(i) + ": " + (*allowed)[k].describe(i));
  }
  return 0;
}
