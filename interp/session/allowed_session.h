// A whole graph over sets: the allowed answer of every output, given sets of its inputs. Enclosures widen along a graph; verdicts are made on
// single operators or fused regions, and the whole graph's sets are a diagnostic (numerics.md, section 2).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "interp/allowed/allowed.h"
#include "interp/session/call.h"
#include "interp/session/session.h"
#include "spec/core/datum.h"

namespace ulpian::interp {

using AllowedDatum = BasicDatum<AllowedTensor>;

AllowedDatum exactly(const Datum& value);

class AllowedSession {
public:
  AllowedSession(std::shared_ptr<const language::Specification> specification, std::shared_ptr<const Graph> graph, Profile profile);
  ~AllowedSession();
  // Called after each node.
  std::function<void(std::size_t node)> progress;
  // As SessionOptions::alternatives.
  std::vector<std::vector<std::uint8_t>> alternatives;
  BodyReadings body_readings;
  bool is_body = false;
  // In the order of the graph's inputs; one that is empty takes its constant.
  Result<std::vector<AllowedDatum>> run_values(std::span<const AllowedDatum> inputs, const BasicCaptured<AllowedTensor>& captured = {}, const Limits& limits = {});
  // The same where inputs and outputs are tensors; another output is an error.
  Result<std::vector<AllowedTensor>> run(std::span<const std::optional<AllowedTensor>> inputs, const Limits& limits = {});

private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ulpian::interp
