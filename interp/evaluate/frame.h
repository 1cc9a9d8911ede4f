// Runs a tape: the registers of one thread, and the lanes they hold at the moment.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "interp/canonical/canonical.h"
#include "interp/evaluate/tape.h"

namespace ulpian::interp::block {

// A tensor in memory, as tapes read it.
struct BufferView {
  const std::byte* data = nullptr;
  const std::uint8_t* poison = nullptr;
  const Real* reals = nullptr;
  const std::string* texts = nullptr;
};

struct FreeAligned {
  void operator()(std::byte* p) const { ::operator delete(p, std::align_val_t{64}); }
};
using AlignedBytes = std::unique_ptr<std::byte[], FreeAligned>;
AlignedBytes aligned_bytes(std::size_t size);  // not cleared

// The part [low, high) of n lanes in which 0 <= value + step * lane < extent.
inline void narrow(std::int64_t value, std::int64_t step, std::int64_t extent, std::int64_t& low, std::int64_t& high) {
  if (step == 0) {
    if (value < 0 || value >= extent) low = high = 0;
    return;
  }
  if (step == 1) {
    low = std::max(low, -value);
    high = std::min(high, extent - value);
    if (high <= low) low = high = 0;
    return;
  }
  const auto ceiling = [](std::int64_t a, std::int64_t b) { return a / b + (a % b > 0 ? 1 : 0); };  // b > 0
  if (step > 0) {
    if (value < 0) low = std::max(low, ceiling(-value, step));
    high = std::min(high, value >= extent ? 0 : ceiling(extent - value, step));
  } else {
    if (value >= extent) low = std::max(low, ceiling(value - extent + 1, -step));
    high = std::min(high, value < 0 ? 0 : ceiling(value + 1, -step));
  }
  // Nothing left: an empty part that still lies within the run.
  if (high <= low) low = high = 0;
}

class Frame {
public:
  // At most `block` lanes at once. `variables`: values of the surroundings' variables, by id. `check` is called now and then in long loops, here too:
  // it throws where a limit is met.
  Frame(const Tape& tape, const core::Program& program, std::span<const BufferView> buffers, std::span<const std::int64_t> variables,
        std::int64_t block, Instructions level, std::function<void()> check);
  ~Frame();
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  std::int64_t block() const { return block_; }
  // Starts over with other values of the surroundings' variables.
  void begin(std::span<const std::int64_t> variables);
  // Where the next run writes root `k`, if it likes; the value is then at value(k), which may be elsewhere (a tensor read in place).
  void redirect(std::size_t k, void* out) { storage_[tape_.roots[k].value] = static_cast<std::byte*>(out); }
  void restore(std::size_t k);
  // Lanes [start, start + count) of the whole box.
  void run(std::int64_t start, std::int64_t count);
  // The lanes of `outer` times `inner`: axes before `split` at points [outer, outer + outers), those from it on at [inner, inner + inners).
  void run_cross(std::size_t split, std::int64_t outer, std::int64_t outers, std::int64_t inner, std::int64_t inners);

  const void* value(std::size_t k) const { return current_[tape_.roots[k].value]; }
  const std::uint8_t* poison(std::size_t k) const;
  std::vector<Real>& reals(std::size_t k) { return reals_[tape_.registers[tape_.roots[k].value].slot]; }
  std::vector<std::string>& texts(std::size_t k) { return texts_[tape_.registers[tape_.roots[k].value].slot]; }
  std::int64_t lanes() const { return lanes_; }

private:
  void add_segments(std::size_t first_axis, std::size_t last_axis, std::int64_t start, std::int64_t count, std::int64_t lane);
  void execute(const std::vector<Instruction>& list);
  void look(std::int64_t lanes);
  std::int64_t base_of(const Form& f) const;
  void form_checked(const Form& f, std::int64_t* out, std::uint8_t* mark, std::int64_t n) const;
  void form_lanes(const Form& f, std::int64_t* out, std::int64_t n) const;
  void read(const Instruction& i);
  void expand();
  struct Runs;
  void read_segments(const ReadPlan& p, Register dst);
  void read_run(const Runs& runs, std::int64_t lane, std::int64_t n, std::int64_t from, std::int64_t* checks) const;
  template <class F> void for_each_run(const ReadPlan& p, Runs& runs, F&& f);
  void read_gather(const ReadPlan& p, Register dst);
  void read_one(const ReadPlan& p, Register dst);
  void read_objects(const ReadPlan& p, Register dst);
  void generic(const Instruction& i);
  void generic_bits(const GenericOperation& o, const Instruction& i, std::int64_t n);
  void generic_objects(const GenericOperation& o, const Instruction& i, std::int64_t n);
  void poison(const Instruction& i);
  void loop(const Loop& l);
  void reduce_loop(const Loop& l);
  void dot_loop(const Loop& l, std::int64_t leaves);
  void arg_loop(const Loop& l, std::int64_t leaves);
  void real_loop(const Loop& l);
  void fold_loop(const Loop& l);
  template <class F> void for_each_leaf(const Loop& l, F&& f);
  void loop_poison(const Loop& l, std::int64_t n);
  void combine_lanes(const Loop& l, std::byte* d, const std::byte* a, const std::byte* b, std::int64_t n) const;
  const std::byte* filtered(const Loop& l, const std::byte* value, Bits otherwise, std::byte* scratch, std::int64_t n) const;

  template <class T> T* own(Register r) {
    current_[r] = storage_[r];
    return reinterpret_cast<T*>(storage_[r]);
  }
  template <class T> const T* get(Register r) const { return reinterpret_cast<const T*>(current_[r]); }
  std::int64_t count_of(bool uniform) const { return uniform ? 1 : lanes_; }

  const Tape& tape_;
  const core::Program& program_;
  std::span<const BufferView> buffers_;
  const KernelTable& kernels_;
  std::int64_t block_ = 0;
  std::int64_t lanes_ = 0;
  AlignedBytes memory_;
  std::vector<std::byte*> storage_;        // per register
  std::vector<std::byte*> home_;           // per root: its register's own storage
  std::vector<const std::byte*> current_;  // per register: its storage, or a tensor's own bytes
  std::vector<std::vector<Real>> reals_;   // per slot
  std::vector<std::vector<std::string>> texts_;
  std::vector<std::int64_t> uniforms_;
  std::byte* scratch_ = nullptr;
  AlignedBytes scratch_memory_;
  // Segments: runs of lanes along the last axis.
  std::size_t rank_ = 0;
  std::vector<std::int64_t> coordinates_;  // rank_ each; the last one is the first lane's
  std::vector<std::int32_t> lengths_;
  // Or, of a cross: every inner run behind every outer point. Expanded to the above only where an instruction asks for it.
  bool cross_ = false, expanded_ = true;
  std::size_t split_ = 0;
  std::int64_t outers_ = 0;
  std::vector<std::int64_t> outer_at_, inner_at_;
  std::vector<std::int32_t> inner_lengths_;
  std::vector<std::int64_t> starts_;       // of the reads of a cross
  std::vector<std::int64_t> positions_;    // of gathers
  std::function<void()> check_;
  std::int64_t leaves_ = 0, work_ = 0;     // since the last check
  std::vector<std::uint8_t> valid_;
};

}  // namespace ulpian::interp::block
