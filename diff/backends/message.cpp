#include "diff/backends/message.h"

#include <fmt/format.h>

#include "diff/backends/json.h"
#include "diff/backends/value_codec.h"

namespace ulpian::diff {
namespace {

// ---- writing ----

json encode_port(const Port& port) {
  json extents = json::array();
  for (std::int64_t e : port.extents) extents.push_back(e < 0 ? json(nullptr) : json(e));
  return {{"name", port.name}, {"type", name_of(port.type)}, {"extents", std::move(extents)}};
}

json encode_ports(const std::vector<Port>& ports) {
  json out = json::array();
  for (const Port& p : ports) out.push_back(encode_port(p));
  return out;
}

json encode_values(const Values& values, OutgoingFrame& frame) {
  json out = json::array();
  for (const Value& v : values) out.push_back(encode_value(v, frame));
  return out;
}

struct EncodeRequest {
  OutgoingFrame& frame;

  json operator()(const HelloRequest& r) const {
    return {{"type", "hello"},
            {"protocol", {{"least", ProtocolVersion}, {"most", ProtocolVersion}}},
            {"threads", r.threads},
            {"limits", {{"header_bytes", r.limits.header_bytes}, {"payload_bytes", r.limits.payload_bytes}}}};
  }
  json operator()(const PrepareRequest& r) const {
    ensure(r.bytes != nullptr);
    json out = {{"type", "prepare"}, {"program", r.program}, {"format", r.format}, {"bytes", r.bytes->size()}};
    if (!r.inputs.empty()) out["inputs"] = encode_ports(r.inputs);
    frame.append(std::as_bytes(std::span(*r.bytes)));
    return out;
  }
  json operator()(const RunRequest& r) const {
    json batches = json::array();
    for (const Values& b : r.batches) batches.push_back(encode_values(b, frame));
    return {{"type", "run"}, {"program", r.program}, {"batches", std::move(batches)}};
  }
  json operator()(const ReleaseRequest& r) const { return {{"type", "release"}, {"program", r.program}}; }
  json operator()(const ByeRequest&) const { return {{"type", "bye"}}; }
};

json encode_outcome(const Refused& r) { return {{"type", "refused"}, {"reason", name_of(r.reason)}, {"message", r.message}}; }
json encode_outcome(const Failed& f) { return {{"type", "failed"}, {"message", f.message}}; }
json encode_outcome(const OutOfMemory& m) { return {{"type", "failed"}, {"cause", "memory"}, {"message", m.message}}; }

struct EncodeBatch {
  OutgoingFrame& frame;

  json operator()(const Outputs& o) const {
    json out = {{"type", "outputs"}, {"values", encode_values(o.values, frame)}};
    json state = json::object();
    if (o.float_state.flushes_subnormals) state["flushes_subnormals"] = *o.float_state.flushes_subnormals;
    if (!o.float_state.rounding.empty()) state["rounding"] = o.float_state.rounding;
    if (!state.empty()) out["float_state"] = std::move(state);
    return out;
  }
  json operator()(const Refused& r) const { return encode_outcome(r); }
  json operator()(const Failed& f) const { return encode_outcome(f); }
  json operator()(const OutOfMemory& m) const { return encode_outcome(m); }
  json operator()(const Crashed&) const { ensure(false, "a backend does not report its own crash"); }
  json operator()(const Hung&) const { ensure(false, "a backend does not report its own hang"); }
};

struct EncodeAnswer {
  OutgoingFrame& frame;

  json operator()(const Introduction& i) const {
    json out = {{"type", "hello"}, {"protocol", ProtocolVersion}, {"name", i.name}, {"version", i.version}, {"formats", i.formats},
                {"shapes", i.static_shapes ? "static" : "dynamic"}};
    json types = json::array();
    for (ElementType t : i.element_types) types.push_back(name_of(t));
    out["element_types"] = std::move(types);
    if (i.largest_payload) out["largest_payload"] = i.largest_payload;
    for (const auto& [name, text] : i.details) {
      json value = json::parse(text, nullptr, false);
      out[name] = value.is_discarded() ? json(text) : std::move(value);
    }
    return out;
  }
  json operator()(const PreparedAnswer& p) const {
    json out = {{"type", "prepared"}, {"inputs", encode_ports(p.inputs)}, {"outputs", encode_ports(p.outputs)}};
    if (p.seconds >= 0) out["seconds"] = p.seconds;
    return out;
  }
  json operator()(const RunAnswer& r) const {
    json batches = json::array();
    for (const Outcome& o : r.batches) {
      batches.push_back(std::visit(EncodeBatch{frame}, o.what));
      if (o.seconds >= 0) batches.back()["seconds"] = o.seconds;
    }
    return {{"type", "outputs"}, {"batches", std::move(batches)}};
  }
  json operator()(const DoneAnswer&) const { return {{"type", "done"}}; }
  json operator()(const Refused& r) const { return encode_outcome(r); }
  json operator()(const Failed& f) const { return encode_outcome(f); }
  json operator()(const OutOfMemory& m) const { return encode_outcome(m); }
};

// ---- reading ----

Port decode_port(const json& header) {
  Port port;
  port.name = text_of(member(header, "name"), "a port's \"name\"");
  port.type = stored_type_of(member(header, "type"), "a port's \"type\"");
  for (const json& e : array_of(member(header, "extents"), "\"extents\"")) port.extents.push_back(e.is_null() ? -1 : count_of(e, "an extent"));
  return port;
}

std::vector<Port> decode_ports(const json& header, const char* name) {
  std::vector<Port> out;
  const json* ports = optional_member(header, name);
  if (!ports) return out;
  for (const json& p : array_of(*ports, name)) out.push_back(decode_port(p));
  return out;
}

Values decode_values(const json& list, BlobCursor& blobs) {
  Values out;
  for (const json& v : array_of(list, "a list of values")) out.push_back(decode_value(v, blobs));
  return out;
}

double seconds_of(const json& header) {
  const json* seconds = optional_member(header, "seconds");
  if (!seconds) return -1;
  if (!seconds->is_number()) throw Malformed{"\"seconds\" is no number"};
  return seconds->get<double>();
}

Refused decode_refused(const json& header) {
  const std::string reason = text_of(member(header, "reason"), "\"reason\"");
  if (reason != "unsupported" && reason != "invalid") throw Malformed{fmt::format("\"reason\" is {}; it is \"unsupported\" or \"invalid\"", shown(reason))};
  return {reason == "invalid" ? Refusal::Invalid : Refusal::Unsupported, text_of(member(header, "message"), "\"message\"")};
}

bool is_memory(const json& header) {
  const json* cause = optional_member(header, "cause");
  return cause && text_of(*cause, "\"cause\"") == "memory";
}

std::string message_of(const json& header) { return text_of(member(header, "message"), "\"message\""); }

Introduction decode_introduction(const json& header) {
  const std::int64_t version = count_of(member(header, "protocol"), "\"protocol\"");
  if (version != ProtocolVersion) throw Malformed{fmt::format("the backend speaks version {} of the protocol; this is version {}", version, ProtocolVersion)};
  Introduction out;
  for (const auto& [name, value] : header.items()) {
    if (name == "name") out.name = text_of(value, "\"name\"");
    else if (name == "version") out.version = text_of(value, "\"version\"");
    else if (name == "formats") {
      for (const json& f : array_of(value, "\"formats\"")) out.formats.push_back(text_of(f, "a format"));
    } else if (name == "element_types") {
      for (const json& t : array_of(value, "\"element_types\"")) out.element_types.push_back(stored_type_of(t, "an element type"));
    } else if (name == "shapes") {
      out.static_shapes = text_of(value, "\"shapes\"") == "static";
    } else if (name == "largest_payload") {
      out.largest_payload = static_cast<std::uint64_t>(count_of(value, "\"largest_payload\""));
    } else if (name != "type" && name != "id" && name != "protocol") {
      out.details.emplace_back(name, dump(value));
    }
  }
  if (out.name.empty()) throw Malformed{"\"name\" is missing"};
  if (out.formats.empty()) throw Malformed{"\"formats\" is missing or empty"};
  return out;
}

Outcome decode_batch(const json& header, BlobCursor& blobs) {
  Outcome out;
  out.seconds = seconds_of(header);
  const std::string type = text_of(member(header, "type"), "a batch's \"type\"");
  if (type == "refused") {
    out.what = decode_refused(header);
  } else if (type == "failed" && is_memory(header)) {
    out.what = OutOfMemory{.message = message_of(header)};
  } else if (type == "failed") {
    out.what = Failed{FailureCause::Internal, message_of(header)};
  } else if (type == "outputs") {
    Outputs outputs;
    outputs.values = decode_values(member(header, "values"), blobs);
    if (const json* state = optional_member(header, "float_state")) {
      if (const json* flush = optional_member(*state, "flushes_subnormals"); flush && flush->is_boolean()) {
        outputs.float_state.flushes_subnormals = flush->get<bool>();
      }
      if (const json* rounding = optional_member(*state, "rounding")) outputs.float_state.rounding = text_of(*rounding, "\"rounding\"");
    }
    out.what = std::move(outputs);
  } else {
    throw Malformed{fmt::format("a batch of type {}; it is \"outputs\", \"refused\" or \"failed\"", shown(type))};
  }
  return out;
}

RunAnswer decode_run_answer(const json& header, BlobCursor& blobs) {
  RunAnswer out;
  for (const json& b : array_of(member(header, "batches"), "\"batches\"")) out.batches.push_back(decode_batch(b, blobs));
  return out;
}

Answer decode_answer_header(const json& header, BlobCursor& blobs) {
  Answer out;
  const std::string type = text_of(member(header, "type"), "\"type\"");
  out.id = count_of(member(header, "id"), "\"id\"");
  if (type == "hello") out.what = decode_introduction(header);
  else if (type == "prepared") out.what = PreparedAnswer{decode_ports(header, "inputs"), decode_ports(header, "outputs"), seconds_of(header)};
  else if (type == "outputs") out.what = decode_run_answer(header, blobs);
  else if (type == "done") out.what = DoneAnswer{};
  else if (type == "refused") out.what = decode_refused(header);
  else if (type == "failed" && is_memory(header)) out.what = OutOfMemory{.message = message_of(header)};
  else if (type == "failed") out.what = Failed{FailureCause::Internal, message_of(header)};
  else throw Malformed{fmt::format("a message of type {}", shown(type))};
  return out;
}

HelloRequest decode_hello_request(const json& header) {
  const json& protocol = member(header, "protocol");
  const std::int64_t least = count_of(member(protocol, "least"), "\"least\"");
  const std::int64_t most = count_of(member(protocol, "most"), "\"most\"");
  if (least > ProtocolVersion || most < ProtocolVersion) {
    throw Malformed{fmt::format("versions {} to {} of the protocol are asked for; this backend speaks version {}", least, most, ProtocolVersion)};
  }
  HelloRequest out;
  if (const json* threads = optional_member(header, "threads")) out.threads = count_of(*threads, "\"threads\"");
  if (const json* limits = optional_member(header, "limits")) {
    if (const json* n = optional_member(*limits, "header_bytes")) out.limits.header_bytes = static_cast<std::uint64_t>(count_of(*n, "\"header_bytes\""));
    if (const json* n = optional_member(*limits, "payload_bytes")) out.limits.payload_bytes = static_cast<std::uint64_t>(count_of(*n, "\"payload_bytes\""));
  }
  return out;
}

PrepareRequest decode_prepare(const json& header, BlobCursor& blobs) {
  PrepareRequest out;
  out.program = count_of(member(header, "program"), "\"program\"");
  out.format = text_of(member(header, "format"), "\"format\"");
  const auto bytes = blobs.next(count_of(member(header, "bytes"), "\"bytes\""));
  out.bytes = std::make_shared<const std::string>(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  out.inputs = decode_ports(header, "inputs");
  return out;
}

RunRequest decode_run(const json& header, BlobCursor& blobs) {
  RunRequest out;
  out.program = count_of(member(header, "program"), "\"program\"");
  for (const json& b : array_of(member(header, "batches"), "\"batches\"")) out.batches.push_back(decode_values(b, blobs));
  return out;
}

Request decode_request_header(const json& header, BlobCursor& blobs) {
  Request out;
  const std::string type = text_of(member(header, "type"), "\"type\"");
  out.id = count_of(member(header, "id"), "\"id\"");
  if (type == "hello") out.what = decode_hello_request(header);
  else if (type == "prepare") out.what = decode_prepare(header, blobs);
  else if (type == "run") out.what = decode_run(header, blobs);
  else if (type == "release") out.what = ReleaseRequest{count_of(member(header, "program"), "\"program\"")};
  else if (type == "bye") out.what = ByeRequest{};
  else throw Malformed{fmt::format("a message of type {}", shown(type))};
  return out;
}

template <typename T, typename Decode>
Result<T> decode(const Frame& frame, Decode decode_header) {
  try {
    const json header = parse_json(frame.header);
    BlobCursor blobs(frame.payload.bytes());
    T out = decode_header(header, blobs);
    blobs.expect_end();
    return out;
  } catch (const Malformed& e) {
    return diagnostic(ErrorKind::Input, e.message);
  } catch (const std::bad_alloc&) {
    return diagnostic(ErrorKind::Limit, "no memory for a message's values");
  }
}

template <typename T, typename Encode>
OutgoingFrame encode_with_id(const T& message) {
  OutgoingFrame frame;
  json header = std::visit(Encode{frame}, message.what);
  header["id"] = message.id;
  frame.finish(dump(header));
  return frame;
}

}  // namespace

OutgoingFrame encode(const Request& request) { return encode_with_id<Request, EncodeRequest>(request); }
OutgoingFrame encode(const Answer& answer) { return encode_with_id<Answer, EncodeAnswer>(answer); }
Result<Request> decode_request(const Frame& frame) { return decode<Request>(frame, decode_request_header); }
Result<Answer> decode_answer(const Frame& frame) { return decode<Answer>(frame, decode_answer_header); }

}  // namespace ulpian::diff
