// Who runs graphs while a call that holds some (If, Loop, Scan) is elaborated, and tells the values that decide what is done next.
//
// Control flow over graphs belongs to the static stage: which branch is taken and how often a body runs is settled where the values are known,
// and what elaboration then yields is a plain core program over the results. A host is how the static stage comes by values: the interpreter
// gives a canonical one and one over sets.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "spec/core/diagnostic.h"
#include "spec/core/graph.h"
#include "spec/core/program.h"

namespace ulpian::language {

struct InputDescription;

// The values of one elaboration stand in one list: first the tensors of the call's inputs (a sequence item by item; an absent input takes a
// place, too), then what the host made, in order. The finished program takes the whole list as its inputs.
struct HostArgument {
  bool present = false;
  bool is_sequence = false;
  ElementType type = ElementType::F32;
  std::vector<std::uint32_t> parts;  // places in the list
};

class Host {
public:
  virtual ~Host() = default;
  // The value of a program's only output. Its inputs are the places of the list so far; the value is appended.
  virtual Result<InputDescription> compute(const core::Program& program) = 0;
  // The results of a graph on these arguments. Their tensors are appended, result by result.
  virtual Result<std::vector<InputDescription>> apply(const Graph& graph, std::span<const HostArgument> arguments) = 0;
  // The elements at a place. An error where they are not certain (sets): what follows from them is not, either.
  virtual Result<Tensor> value(std::uint32_t place) = 0;
  // Nobody reads this place any more.
  virtual void release(std::uint32_t place) = 0;
};

}  // namespace ulpian::language
