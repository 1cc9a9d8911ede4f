// Runs a schedule: memory, order, limits, threads.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "interp/evaluate/evaluate.h"
#include "interp/evaluate/frame.h"
#include "interp/evaluate/planner.h"
#include "interp/evaluate/pool.h"

namespace ulpian::interp::block {

// A tensor in memory; Z is held as i64.
struct Cell {
  std::optional<Tensor> tensor;
  std::shared_ptr<std::vector<Real>> reals;
  std::shared_ptr<std::vector<std::uint8_t>> poison;   // marks; empty if there can be none
  std::vector<std::uint32_t> origins;                  // places of the marks
  std::int64_t charged = 0;
};

struct DotScratch;

class Runner {
public:
  Runner(const core::Program& program, const Options& options, const Limits& limits);
  ~Runner();

  // Cells of the tensors that exist already, by tensor of the program.
  std::vector<Cell> cells;
  // Runs the steps; `check` is called for every condition, false stops with its diagnostic.
  void run(const Schedule& schedule, const std::function<void(const Check&, bool)>& check);

  // --- for the steps
  std::byte* out_bytes(BufferId b) { return writable_[b]; }
  const BufferView& view(BufferId b) const { return views_[b]; }
  std::int64_t elements(BufferId b) const { return buffers_[b].tensor->size(); }
  std::span<const BufferView> views() const { return views_; }
  std::span<const std::int64_t> variables() const { return variables_; }
  const core::Program& program() const { return program_; }
  const Options& options() const { return options_; }
  void check_limits() const;
  void check_limits_now_and_then(std::int64_t turn) const {
    if ((turn & 15) == 15) check_limits();
  }
  // Stops where so much more, beside the tensors, is above the limit.
  void need_memory(std::int64_t bytes) const;
  [[noreturn]] void stop(ErrorKind kind, std::string message, std::uint32_t place) const;
  [[noreturn]] void stop_poison(const Cell& cell, std::uint8_t mark, const std::string& note, std::size_t output = 0, std::int64_t position = -1) const;
  // The number of threads that work of this many tape instructions is worth.
  int threads_for(double work) const;
  // task(k, worker) for every k < count.
  void parallel(std::int64_t count, double work, const std::function<void(std::int64_t, int)>& task);
  std::int64_t offset_of(const Step& step) const;

private:
  void allocate(BufferId b, const BufferShape& shape);
  void publish(BufferId b);
  void release(BufferId b);
  void step(const Step& step);
  std::int64_t block_of(const Tape& tape) const;
  void map(const Step& step);
  void map_part(const Step& step);
  void rows(const Step& step);
  void sort(const Step& step);
  void where(const Step& step);
  void scatter(const Step& step);
  void alias(const Step& step);
  void recurrence(const Step& step);
  void dot(const Step& step);
  Frame& frame(const Step& step, int worker, std::int64_t block);
  struct RowState;
  class RowWork;
  void reduce_rows(const Step& step, Frame& frame, std::int64_t row, std::int64_t rows, RowState& state);
  void compact_row(const Step& step, Frame& frame, std::int64_t row, RowState& state);
  static void dot_chain(const float* a, const float* b, std::int64_t n, std::int64_t dot_block, std::int64_t position, Bits& sum, bool& some,
                        std::vector<std::optional<Bits>>& blocks);
  void charge(Cell& cell, std::int64_t bytes);

  const core::Program& program_;
  const Options& options_;
  const Limits& limits_;
  const Schedule* schedule_ = nullptr;
  std::vector<Cell> buffers_;
  std::vector<BufferView> views_;
  std::vector<std::byte*> writable_;
  std::vector<std::int64_t> variables_;
  std::int64_t memory_ = 0;
  std::unique_ptr<Pool> pool_;
  bool inside_recurrence_ = false;
  std::unordered_map<const Step*, std::vector<std::unique_ptr<Frame>>> frames_;
  std::unordered_map<const Step*, std::shared_ptr<DotScratch>> dots_;
};

}  // namespace ulpian::interp::block
