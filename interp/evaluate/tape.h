// A tape: terms compiled into a list of typed instructions over registers of many lanes. Lanes are consecutive points of a box of index
// variables in row-major order; a block of them is evaluated at once, so that no instruction costs a call per element.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "interp/canonical/canonical.h"
#include "interp/evaluate/kernels.h"
#include "interp/evaluate/nodes.h"

namespace ulpian::interp::block {

using Register = std::uint16_t;
inline constexpr Register NoRegister = 0xffff;

// A linear form over what is known when a block runs: lane axes, uniform variables, registers. Terms lie in Tape::form_terms, in this order.
struct Form {
  std::int64_t constant = 0;
  std::uint32_t first = 0;
  std::uint16_t lanes = 0, uniforms = 0, scalars = 0, vectors = 0;
  std::uint8_t origin = 0;  // of a FormValue that may overflow
};
struct FormTerm {
  std::uint16_t index = 0;  // lane axis, uniform slot, register
  std::int64_t coefficient = 0;
};

// Of an origin: nothing is read there, but an integer stored that its type may not hold.
inline constexpr std::uint32_t PlaceOfStore = 0x80000000u;

struct IndexCheck {
  Form index;
  std::int64_t extent = 0;
};

// A read of a buffer at a position that is a form; `checks` are the indices not proved inside.
struct ReadPlan {
  BufferId buffer = 0;
  int width = 0;            // bytes of an element; 0 for R and strings
  ElementType type = ElementType::F32;
  Form position;
  std::uint32_t first_check = 0, checks = 0;
  bool has_else = false;
  bool uniform = false;     // one lane
  Register otherwise = NoRegister;
  Register otherwise_poison = NoRegister;
  Register poison = NoRegister;   // where the poison mask goes, if there can be any
  std::uint8_t origin = 0;        // mark of an index outside
  bool buffer_poison = false;
};

enum class Code : std::uint8_t {
  Kernel,        // kernel(dst, a, b, c)
  Broadcast,     // dst = a[0] in all lanes
  FormValue,     // dst = form `extra` (Z); c: where its poison mask goes, if it may overflow
  Read,          // read `extra`
  Generic,       // operation `extra`, one lane after another; c: where its poison mask goes
  PoisonEither,  // dst = a ? a : b
  PoisonSelect,  // dst = a ? b : c where a are conditions; an absent register is free of poison
  PoisonMark,    // dst = origin `extra` everywhere
  Loop,          // loop `extra`
};

struct Instruction {
  Code code = Code::Kernel;
  bool uniform = false;  // one lane only
  Register dst = NoRegister, a = NoRegister, b = NoRegister, c = NoRegister;
  std::uint32_t extra = 0;
  Kernel kernel = nullptr;
};

// What has no typed loop.
struct GenericOperation {
  NodeKind kind = NodeKind::Primitive;   // Primitive, Cast, Constant (R, string), Select of R or strings
  std::uint8_t operation = 0;
  ElementType from = ElementType::Z, to = ElementType::Z;
  std::uint64_t data = 0;                // of a constant; else the mark of what has no value (overflow of Z, undecided R)
};

// A reduction or fold whose leaves are evaluated one after another, all lanes of the block at once.
struct Loop {
  bool fold = false;
  bool uniform = false;
  core::ReduceKind kind = core::ReduceKind::Sum;
  ElementType type = ElementType::F32;       // of the accumulator
  ElementType body_type = ElementType::F32;  // of the leaves
  std::uint8_t origin = 0;                   // mark of what could not be decided (R)
  std::vector<std::uint16_t> slots;      // uniform variables
  std::vector<std::int64_t> extents;
  std::vector<Instruction> body;
  Register value = NoRegister, second = NoRegister, filter = NoRegister, body_poison = NoRegister, filter_poison = NoRegister;
  Register initial = NoRegister, initial_poison = NoRegister;
  Register accumulator = NoRegister, accumulator_poison = NoRegister;  // fold: what the body reads
  Register out = NoRegister, out_poison = NoRegister;
  std::size_t scratch = 0;               // offset per lane into the frame's scratch
};

enum class RegisterClass : std::uint8_t { Bytes, Real, Text };

struct RegisterInfo {
  RegisterClass kind = RegisterClass::Bytes;
  std::uint8_t width = 1;
  bool uniform = false;
  std::uint32_t slot = 0;  // of the frame: index among slots of this width
};

struct Root {
  NodeId node = None;
  ElementType type = ElementType::F32;
  Register value = NoRegister;
  Register poison = NoRegister;  // none: cannot be poison
};

struct Tape {
  std::vector<std::int64_t> extents;   // of the lane axes, outermost first; collapsed where nothing can tell
  std::int64_t lanes = 1;              // all of them
  std::size_t split = 0;               // axes before TapeRequest::no_collapse_at
  std::vector<Instruction> setup;      // once per frame
  std::vector<Instruction> body;       // per block
  std::vector<Root> roots;

  std::vector<RegisterInfo> registers;
  std::vector<std::uint32_t> slot_widths;   // bytes per lane of each slot
  std::vector<bool> slot_uniform;
  std::vector<FormTerm> form_terms;
  std::vector<Form> forms;
  std::vector<ReadPlan> reads;
  std::vector<IndexCheck> checks;
  std::vector<GenericOperation> operations;
  std::vector<Loop> loops;
  std::vector<std::uint32_t> origins;  // places that poison can come from; mark k + 1
  std::vector<VariableId> context;     // uniform slots below this size are variables of the step's surroundings
  std::int64_t dot_block = DotBlock;   // Options::dot_block
  std::uint16_t uniform_slots = 0;
  std::size_t scratch_per_lane = 0;
  double cost = 1;                     // rough number of instructions per lane
};

struct LaneAxis {
  VariableId variable = 0;
  std::int64_t extent = 1;
};

struct TapeRequest {
  std::vector<NodeId> roots;
  std::vector<LaneAxis> axes;            // outermost first
  std::vector<VariableId> context;       // variables with one value while the tape runs
  std::size_t no_collapse_at = 0;        // axes before and after this one are never joined (0: none)
};
// For people: one line per instruction.
std::string describe(const Tape& tape, int indent = 0);

Tape compile(Nodes& nodes, const TapeRequest& request, Instructions level);

}  // namespace ulpian::interp::block
