// A whole program: its calls in order, each elaborated for the values it meets; dead values freed; limits; progress.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "interp/ideal/ideal.h"
#include "interp/session/call.h"

namespace ulpian::interp {

// Values of the graph around that a body reads, by name; null where there is none.
template <typename T> using BasicCaptured = std::function<const BasicDatum<T>*(const std::string& name)>;
using Captured = BasicCaptured<Tensor>;

// Readings of the definitions that calls inside bodies use: of equal operators on equal types the same one in all bodies and trips. What is
// missing is the first.
using BodyReadings = std::map<std::string, std::vector<std::uint8_t>>;

// Ideal: operator by operator, each operator's rounded outputs feeding the next.
enum class Answer : std::uint8_t { Canonical, Ideal };

struct SessionOptions {
  Answer answer = Answer::Canonical;
  Evaluator evaluator = Evaluator::Block;
  block::Options block;  // none of them changes a bit
  // By node: which reading of its definition, where one leaves a choice for the whole operator (language::Call::alternatives); else the first.
  std::vector<std::vector<std::uint8_t>> alternatives;
  BodyReadings body_readings;
  bool is_body = false;  // of a node around, whose notes it shares
  // Who runs the graphs that the graph's nodes hold, once per trip, if not the session: the definitions go on with what is given.
  std::function<Result<std::vector<Datum>>(const Graph& body, std::span<const Datum> inputs, const Captured& captured)> run_body;
  // Called after each call, in order.
  std::function<void(std::size_t node, double seconds)> progress;
};

// What a run notes besides its outputs.
struct RunNotes {
  // Calls on values where the standard says nothing: any result conforms there. The canonical one was used.
  std::vector<Diagnostic> undefined;
  // By output of the graph: whether it follows from one of those calls.
  std::vector<bool> follow;
  // Asked for by the caller: `undefined` also tells of calls of whose answer only some elements are open (Call::open_elements).
  bool open_elements = false;
  // Calls inside a body that leave a choice for the whole operator (language::Call::alternatives): as BodyReadings, how many there are of each.
  BodyReadings choices_inside;
  // Of an ideal answer, outputs of calls with elements that are not decided; they have the canonical value. Beyond MostUndecided only counted.
  struct Undecided {
    std::string call, place, output;  // `MatMul "m"`, `model.onnx, node 3`, `y`
    Extents extents;
    UndecidedElements elements;
  };
  static constexpr std::size_t MostUndecided = 100;
  std::vector<Undecided> undecided;
  std::int64_t undecided_elements = 0;
};

class Session {
public:
  Session(std::shared_ptr<const language::Specification> specification, std::shared_ptr<const Graph> graph, SessionOptions options = {});
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  const Graph& graph() const;
  // The inputs that a user gives: those of the graph, in order. One with a constant of its own is optional.
  // Checks types and declared extents (symbols must agree) before anything runs.
  Status check_inputs(std::span<const Datum> inputs) const;
  Status check_inputs(std::span<const std::optional<Tensor>> inputs) const { return check_inputs(as_data(inputs)); }
  // The canonical (or ideal) answer of every output. Calls are kept, so that a second run on inputs of the same extents elaborates nothing.
  Result<std::vector<Datum>> run_values(std::span<const Datum> inputs, const Captured& captured = {}, const Limits& limits = {}, RunNotes* notes = nullptr);
  // The same where inputs and outputs are tensors; another output is an error.
  Result<std::vector<Tensor>> run(std::span<const std::optional<Tensor>> inputs, const Limits& limits = {}, RunNotes* notes = nullptr);

private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ulpian::interp
