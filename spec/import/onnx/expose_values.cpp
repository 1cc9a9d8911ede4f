// Further outputs for a model, by editing its bytes: a backend must see exactly the user's model, with whatever this schema doesn't know.
#include <fmt/format.h>

#include <optional>
#include <unordered_set>

#include "spec/import/onnx/export_onnx.h"
#include "spec/import/onnx/names.h"
#include "spec/import/onnx/parse_model.h"
#include "spec/import/onnx/schema.h"
#include "spec/import/onnx/value_info.h"

namespace ulpian {

namespace {

// Reads protobuf's wire format; empty at its end or where it is malformed.
class Wire {
public:
  explicit Wire(std::string_view bytes) : bytes_(bytes) {}
  std::size_t position() const { return position_; }
  bool at_end() const { return position_ >= bytes_.size(); }

  std::optional<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64 && !at_end(); shift += 7) {
      const auto byte = static_cast<std::uint8_t>(bytes_[position_++]);
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  }
  bool skip(std::uint64_t count) {
    if (count > bytes_.size() - position_) return false;
    position_ += count;
    return true;
  }
  bool skip_value(std::uint64_t wire_type) {
    switch (wire_type) {
      case 0: return varint().has_value();
      case 1: return skip(8);
      case 2: {
        const auto length = varint();
        return length && skip(*length);
      }
      case 5: return skip(4);
      default: return false;
    }
  }

private:
  std::string_view bytes_;
  std::size_t position_ = 0;
};

struct Field {
  std::size_t length_at = 0;  // of the length before the payload
  std::size_t begin = 0;
  std::size_t end = 0;
};

// The last graph field: several are one graph, to which the last one adds.
std::optional<Field> find_graph(std::string_view model) {
  constexpr std::uint64_t GraphTag = 7 << 3 | 2;
  static_assert(onnx::ModelProto::kGraphFieldNumber == 7);
  std::optional<Field> found;
  Wire wire(model);
  while (!wire.at_end()) {
    const auto tag = wire.varint();
    if (!tag) return std::nullopt;
    Field field;
    field.length_at = wire.position();
    if (*tag == GraphTag) {
      const auto length = wire.varint();
      field.begin = wire.position();
      if (!length || !wire.skip(*length)) return std::nullopt;
      field.end = wire.position();
      found = field;
    } else if (!wire.skip_value(*tag & 7)) {
      return std::nullopt;
    }
  }
  return found;
}

std::string encoded_varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7F) | 0x80);
  return out += static_cast<char>(value);
}

Diagnostic wrong(const std::string& source, std::string message) {
  Diagnostic d;
  d.message = std::move(message);
  d.program_place = source;
  return d;
}

std::unordered_set<std::string> names_of(const onnx::GraphProto& graph) {
  std::unordered_set<std::string> out;
  for (const auto& v : graph.input()) out.insert(v.name());
  for (const auto& t : graph.initializer()) out.insert(t.name());
  for (const auto& t : graph.sparse_initializer()) out.insert(t.values().name());
  for (const auto& node : graph.node())
    for (const auto& name : node.output()) out.insert(name);
  return out;
}

}  // namespace

Result<std::string> expose_values(std::span<const std::byte> model, std::span<const GraphValue> values, const std::string& source) {
  google::protobuf::Arena arena;
  auto* parsed = google::protobuf::Arena::CreateMessage<onnx::ModelProto>(&arena);
  if (auto s = onnx_file::parse_model(model, source, 100, *parsed); !s) return std::move(s).error();
  const std::string_view bytes(reinterpret_cast<const char*>(model.data()), model.size());
  const auto graph = find_graph(bytes);
  if (!graph) return wrong(source, "not an ONNX model: it has no graph");

  const auto names = names_of(parsed->graph());
  std::unordered_set<std::string> outputs;
  for (const auto& v : parsed->graph().output()) outputs.insert(v.name());
  onnx::GraphProto additions;
  for (const GraphValue& v : values) {
    if (v.name.empty() || !names.contains(v.name)) return wrong(source, fmt::format("the graph has no value {}", onnx_file::shown(v.name)));
    if (outputs.insert(v.name).second) onnx_file::write_value_info(v, *additions.add_output());
  }
  const std::string added = additions.SerializeAsString();
  std::string out(bytes.substr(0, graph->length_at));
  out += encoded_varint(graph->end - graph->begin + added.size());
  out += bytes.substr(graph->begin, graph->end - graph->begin);
  out += added;
  out += bytes.substr(graph->end);
  return out;
}

}  // namespace ulpian
