// Contractions whose lanes are read where they lie, without packing: a convolution with few filters, one channel by itself. Lanes that step
// over elements are first brought together, all elements of one remainder behind each other: then every read is of neighbours.
#include <algorithm>
#include <limits>
#include <map>

#include "interp/canonical/canonical.h"
#include "interp/evaluate/dot.h"
#include "interp/evaluate/dot_kernels.h"
#include "interp/evaluate/planner.h"
#include "interp/evaluate/run.h"

namespace ulpian::interp::block {
namespace {

constexpr std::int64_t Depth = 384;               // positions per pass
constexpr std::int64_t MostRowBytes = 512 * 1024; // of packed rows: they are read once for every piece of a run
constexpr std::int64_t LeastRun = 8;
constexpr std::int64_t MostStep = 64;
constexpr std::int64_t MostMaskBytes = 8 << 20;

std::int64_t step_along(const DotRead::Steps& steps, VariableId v) {
  for (const auto& [variable, step] : steps)
    if (variable == v) return step;
  return 0;
}

// The last lane axis, and those before it that continue it in all that is read and written.
struct Run {
  std::size_t axes = 0;  // lane axes outside of it
  std::int64_t length = 1, step = 0;
};

Run run_of(const DotPlan& p) {
  Run run;
  run.axes = p.lane_axes.size() - 1;
  const DotAxis& last = p.lane_axes[run.axes];
  run.length = last.extent;
  run.step = step_along(p.lane_read.steps, last.variable);
  while (run.axes > 0) {
    const DotAxis& a = p.lane_axes[run.axes - 1];
    bool continues = a.stride == run.length && step_along(p.lane_read.steps, a.variable) == run.length * run.step;
    for (const auto& c : p.lane_read.checks) continues = continues && step_along(c.steps, a.variable) == run.length * step_along(c.steps, last.variable);
    if (!continues) break;
    run.length *= a.extent;
    --run.axes;
  }
  return run;
}

}  // namespace

// The read that a term is, where its indices are linear and what lies outside is +0.
std::optional<DotRead> Planner::plain_read(NodeId id) const {
  const Node& n = nodes_[id];
  if (n.kind != NodeKind::Read && n.kind != NodeKind::ReadElse) return std::nullopt;
  const auto b = static_cast<BufferId>(n.data);
  const BufferShape& shape = nodes_.buffer(b);
  auto args = nodes_.arguments(id);
  if (shape.poison || shape.type != n.type || std::ranges::find(shape.extents, 0) != shape.extents.end()) return std::nullopt;
  if (n.kind == NodeKind::ReadElse) {
    const Node& otherwise = nodes_[args.back()];
    if (otherwise.kind != NodeKind::Constant || otherwise.data != 0) return std::nullopt;
    args = args.first(args.size() - 1);
  }
  DotRead read;
  read.buffer = b;
  std::int64_t stride = 1;
  for (std::size_t k = args.size(); k-- > 0;) {
    const LinearForm form = nodes_.form_of(args[k]);
    // Indices far outside must not overflow as positions.
    const Range range = nodes_.range(args[k]);
    constexpr std::int64_t Far = std::int64_t{1} << 40;
    std::int64_t farthest = 0;
    if (range.low < -Far || range.high > Far || __builtin_mul_overflow(std::max(-range.low, range.high), stride, &farthest) || farthest > (std::int64_t{1} << 56)) return std::nullopt;
    DotRead::Check check{form.constant, {}, shape.extents[k]};
    for (const auto& part : form.parts) {
      if (nodes_[part.atom].kind != NodeKind::Variable) return std::nullopt;
      check.steps.emplace_back(static_cast<VariableId>(nodes_[part.atom].data), part.coefficient);
      auto at = std::ranges::find(read.steps, check.steps.back().first, [](const auto& s) { return s.first; });
      if (at == read.steps.end()) at = read.steps.insert(at, {check.steps.back().first, 0});
      at->second += part.coefficient * stride;
    }
    read.constant += form.constant * stride;
    if (nodes_.inside(args[k], shape.extents[k]) != std::optional(true)) {
      if (n.kind == NodeKind::Read) return std::nullopt;
      read.checks.push_back(std::move(check));
    }
    stride *= shape.extents[k];
  }
  return read;
}

// Whether the contraction goes without packing; then the plan says how.
bool Planner::direct_dot(DotPlan& plan, NodeId row, NodeId lane, std::span<const VariableId> binders) const {
  const DotKernels kernels = dot_kernels(plan.type, options_.instructions);
  if (kernels.direct == nullptr || plan.lane_axes.empty() || plan.positions < 1 || plan.positions > options_.dot_block) return false;
  if (plan.rows * plan.positions * bytes_of(plan.type) > MostRowBytes) return false;
  auto r = plain_read(row), l = plain_read(lane);
  if (!r || !l || !r->checks.empty() || nodes_[row].type != plan.type || nodes_[lane].type != plan.type) return false;
  plan.row_read = std::move(*r);
  plan.lane_read = std::move(*l);
  const Run run = run_of(plan);
  if (plan.lane_axes.back().stride != 1 || run.length < LeastRun || run.step < 1 || run.step > MostStep) return false;
  // Bringing elements together has to be worth it.
  const double elements = static_cast<double>(*element_count(nodes_.buffer(plan.lane_read.buffer).extents));
  if (run.step > 1 && elements > 4 * static_cast<double>(plan.batch) * static_cast<double>(plan.rows * plan.lanes) * static_cast<double>(plan.positions)) return false;
  plan.position_axes.clear();
  for (VariableId v : binders) plan.position_axes.push_back({v, nodes_.variable_data(v).extent, 0});
  plan.direct = true;
  return true;
}

namespace {

// The sums of value * step, for all points of some axes in order.
std::vector<std::int64_t> sums_over(std::span<const DotAxis> axes, const DotRead::Steps& steps) {
  std::vector<std::int64_t> all{0};
  for (const DotAxis& a : axes) {
    const std::int64_t step = step_along(steps, a.variable);
    std::vector<std::int64_t> next;
    next.reserve(all.size() * static_cast<std::size_t>(a.extent));
    for (std::int64_t base : all)
      for (std::int64_t k = 0; k < a.extent; ++k) next.push_back(base + k * step);
    all = std::move(next);
  }
  return all;
}
std::vector<std::int64_t> offsets_of(std::span<const DotAxis> axes) {
  DotRead::Steps steps;
  for (const DotAxis& a : axes) steps.emplace_back(a.variable, a.stride);
  return sums_over(axes, steps);
}

std::int64_t floor_divide(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }  // b > 0

template <class T> T settled(T x) { return x == x ? x : std::numeric_limits<T>::quiet_NaN(); }

// A part of a run that one call of the kernel does.
struct Piece {
  std::int64_t start = 0, count = 0;
  int vectors = 1;
};
// The lanes of a run that lie inside, by position, and those that do at all positions.
struct Inside {
  std::vector<std::pair<std::int64_t, std::int64_t>> of_position;
  std::int64_t low = 0, high = 0;
};
// The masks of a run's pieces (positions times vectors; empty: all lanes lie inside): the same for all runs whose checks begin alike. Those of
// long runs are made when they are needed.
struct RunMasks {
  std::vector<std::int64_t> begins;
  bool stored = false;
  std::vector<std::vector<std::uint16_t>> of_piece;
};

template <class T> class DirectContraction {
public:
  DirectContraction(Runner& runner, const DotPlan& plan, T* out)
      : runner_(runner), p_(plan), out_(out), kernels_(dot_kernels(plan.type, runner.options().instructions)), width_(kernels_.lanes / 2), run_(run_of(plan)) {
    const std::span<const DotAxis> outer(p_.lane_axes.data(), run_.axes);
    row_out_ = offsets_of(p_.row_axes);
    batch_out_ = offsets_of(p_.batch_axes);
    outer_out_ = offsets_of(outer);
    positions_ = sums_over(p_.position_axes, p_.lane_read.steps);
    batch_in_ = sums_over(p_.batch_axes, p_.lane_read.steps);
    outer_in_ = sums_over(outer, p_.lane_read.steps);
    base_ = p_.lane_read.constant + around(p_.lane_read.steps);
  }

  void run(int threads) {
    cut();
    pack_rows();
    bring_together();
    find_masks();
    const auto outers = static_cast<std::int64_t>(outer_out_.size()), items = p_.batch * outers;
    const double work = 2.0 * static_cast<double>(items * run_.length) * static_cast<double>(p_.rows * p_.positions) / 16;
    const std::int64_t tasks = threads == 1 ? 1 : std::min<std::int64_t>(items, threads * 8);
    const std::int64_t bytes_of_sums = p_.rows * most_vectors_ * width_ * static_cast<std::int64_t>(sizeof(T));
    runner_.need_memory((bytes_of_sums + p_.positions * (16 + 2 * most_vectors_)) * threads);
    runner_.parallel(tasks, threads == 1 ? 0 : work, [&](std::int64_t task, int) {
      AlignedBytes sums = aligned_bytes(static_cast<std::size_t>(bytes_of_sums));
      std::int64_t since = 0;
      for (std::int64_t k = items * task / tasks; k < items * (task + 1) / tasks; ++k) item(k / outers, k % outers, reinterpret_cast<T*>(sums.get()), since);
    });
  }

private:
  // What the variables of the surroundings add.
  std::int64_t around(const DotRead::Steps& steps) const {
    std::int64_t sum = 0;
    const auto mine = [](const std::vector<DotAxis>& axes, VariableId v) { return std::ranges::find(axes, v, &DotAxis::variable) != axes.end(); };
    for (const auto& [v, step] : steps)
      if (!mine(p_.batch_axes, v) && !mine(p_.row_axes, v) && !mine(p_.lane_axes, v) && !mine(p_.position_axes, v)) sum += step * runner_.variables()[v];
    return sum;
  }

  void cut() {
    const std::int64_t most = kernels_.direct_vectors(static_cast<int>(std::min<std::int64_t>(p_.rows, kernels_.rows)));
    vectors_ = (run_.length + width_ - 1) / width_;
    pieces_ = (vectors_ + most - 1) / most;
    most_vectors_ = (vectors_ + pieces_ - 1) / pieces_;
  }
  Piece piece_of(std::int64_t k) const {
    const std::int64_t done = vectors_ * k / pieces_, now = vectors_ * (k + 1) / pieces_ - done;
    // The last piece goes back to where it is whole; what it does again comes out the same.
    const std::int64_t start = std::max<std::int64_t>(0, std::min(done * width_, run_.length - now * width_));
    return {start, std::min(now * width_, run_.length - start), static_cast<int>(now)};
  }

  // Panels as the kernel takes them, for every batch index that they depend on.
  void pack_rows() {
    rows_by_batch_ = std::ranges::any_of(p_.batch_axes, [&](const DotAxis& a) { return step_along(p_.row_read.steps, a.variable) != 0; });
    const auto batches = rows_by_batch_ ? sums_over(p_.batch_axes, p_.row_read.steps) : std::vector<std::int64_t>{0};
    const auto rows = sums_over(p_.row_axes, p_.row_read.steps), positions = sums_over(p_.position_axes, p_.row_read.steps);
    const std::int64_t bytes = static_cast<std::int64_t>(batches.size()) * p_.rows * p_.positions * static_cast<std::int64_t>(sizeof(T));
    runner_.need_memory(bytes);
    rows_ = aligned_bytes(static_cast<std::size_t>(bytes));
    T* to = reinterpret_cast<T*>(rows_.get());
    const T* from = reinterpret_cast<const T*>(runner_.view(p_.row_read.buffer).data) + p_.row_read.constant + around(p_.row_read.steps);
    for (const std::int64_t b : batches)
      for (std::int64_t r = 0; r < p_.rows; r += kernels_.rows) {
        const std::int64_t n = std::min<std::int64_t>(kernels_.rows, p_.rows - r);
        const std::int64_t* first = rows.data() + r;
        for (const std::int64_t k : positions)
          for (std::int64_t j = 0; j < n; ++j) *to++ = from[b + first[j] + k];
      }
  }

  void bring_together() {
    lanes_ = reinterpret_cast<const T*>(runner_.view(p_.lane_read.buffer).data);
    tables_.resize(static_cast<std::size_t>(run_.step));
    if (run_.step == 1) {
      tables_[0] = positions_;
      return;
    }
    const std::int64_t n = runner_.elements(p_.lane_read.buffer), s = run_.step, each = (n + s - 1) / s;
    runner_.need_memory(each * s * static_cast<std::int64_t>(sizeof(T)));
    together_ = aligned_bytes(static_cast<std::size_t>(each * s) * sizeof(T));
    T* to = reinterpret_cast<T*>(together_.get());
    for (std::int64_t r = 0; r < s; ++r) {
      T* d = to + r * each;
      const T* x = lanes_ + r;
      const std::int64_t count = (n - r + s - 1) / s;
      if (s == 2) {
        for (std::int64_t k = 0; k < count; ++k) d[k] = x[2 * k];
      } else {
        for (std::int64_t k = 0; k < count; ++k) d[k] = x[s * k];
      }
    }
    lanes_ = to;
    for (std::int64_t r = 0; r < s; ++r) {
      auto& table = tables_[static_cast<std::size_t>(r)];
      for (const std::int64_t k : positions_) {
        const std::int64_t quotient = floor_divide(r + k, s);
        table.push_back((r + k - quotient * s) * each + quotient);
      }
    }
  }

  // A check of the lanes' read: its index where a run begins, what positions add to it, and between what it stays from there.
  struct Check {
    std::int64_t constant, low, high, step, extent;
    std::vector<std::int64_t> batch, outer, positions;
  };
  static constexpr std::int64_t Satisfied = std::numeric_limits<std::int64_t>::max();

  void find_checks() {
    const std::span<const DotAxis> outer(p_.lane_axes.data(), run_.axes);
    for (const auto& c : p_.lane_read.checks) {
      Check s{c.constant + around(c.steps), 0, 0, step_along(c.steps, p_.lane_axes.back().variable), c.extent, sums_over(p_.batch_axes, c.steps), sums_over(outer, c.steps),
              sums_over(p_.position_axes, c.steps)};
      s.low = *std::ranges::min_element(s.positions) + std::min<std::int64_t>(0, s.step * (run_.length - 1));
      s.high = *std::ranges::max_element(s.positions) + std::max<std::int64_t>(0, s.step * (run_.length - 1));
      checks_.push_back(std::move(s));
    }
  }

  // Per run, which of its elements lie inside.
  void find_masks() {
    find_checks();
    std::map<std::vector<std::int64_t>, std::uint32_t> known;
    std::vector<std::int64_t> begins(checks_.size());
    const std::size_t outers = outer_out_.size();
    masks_of_.reserve(static_cast<std::size_t>(p_.batch) * outers);
    for (std::size_t b = 0; b < static_cast<std::size_t>(p_.batch); ++b)
      for (std::size_t o = 0; o < outers; ++o) {
        if (checks_.empty() && !masks_.empty()) {
          masks_of_.push_back(0);
          continue;
        }
        for (std::size_t c = 0; c < checks_.size(); ++c) {
          const Check& s = checks_[c];
          const std::int64_t at = s.constant + s.batch[b] + s.outer[o];
          begins[c] = at + s.low >= 0 && at + s.high < s.extent ? Satisfied : at;
        }
        const auto [found, fresh] = known.try_emplace(begins, static_cast<std::uint32_t>(masks_.size()));
        if (fresh) add_masks(begins);
        masks_of_.push_back(found->second);
      }
  }

  void add_masks(const std::vector<std::int64_t>& begins) {
    if (masks_.size() % 16 == 15) runner_.check_limits();
    RunMasks& m = masks_.emplace_back();
    m.begins = begins;
    const std::int64_t bytes = vectors_ * p_.positions * 2 + pieces_ * static_cast<std::int64_t>(sizeof(m.of_piece[0]));
    if (bytes > MostMaskBytes - mask_bytes_) return;
    runner_.need_memory(mask_bytes_ += bytes);
    m.stored = true;
    const Inside inside = inside_of(begins);
    m.of_piece.resize(static_cast<std::size_t>(pieces_));
    for (std::int64_t k = 0; k < pieces_; ++k) fill_mask(piece_of(k), inside, m.of_piece[static_cast<std::size_t>(k)]);
  }

  Inside inside_of(const std::vector<std::int64_t>& begins) const {
    Inside inside{std::vector<std::pair<std::int64_t, std::int64_t>>(static_cast<std::size_t>(p_.positions), {0, run_.length}), 0, run_.length};
    for (std::size_t c = 0; c < checks_.size(); ++c)
      if (begins[c] != Satisfied)
        for (std::size_t k = 0; k < inside.of_position.size(); ++k)
          narrow(begins[c] + checks_[c].positions[k], checks_[c].step, checks_[c].extent, inside.of_position[k].first, inside.of_position[k].second);
    for (const auto& [low, high] : inside.of_position) {
      inside.low = std::max(inside.low, low);
      inside.high = std::min(inside.high, high);
    }
    return inside;
  }

  // Left empty where all lanes of the piece are elements that lie inside.
  void fill_mask(const Piece& piece, const Inside& inside, std::vector<std::uint16_t>& mask) const {
    mask.clear();
    if (piece.count == piece.vectors * width_ && inside.low <= piece.start && piece.start + piece.count <= inside.high) return;
    mask.reserve(inside.of_position.size() * static_cast<std::size_t>(piece.vectors));
    const auto below = [](std::int64_t n) { return (std::uint32_t{1} << n) - 1; };
    for (const auto& [low, high] : inside.of_position)
      for (int v = 0; v < piece.vectors; ++v) {
        const std::int64_t first = piece.start + v * width_;
        const std::int64_t from = std::clamp<std::int64_t>(low - first, 0, width_), to = std::clamp<std::int64_t>(high - first, from, width_);
        mask.push_back(static_cast<std::uint16_t>(below(to) & ~below(from)));
      }
  }

  void item(std::int64_t b, std::int64_t o, T* sums, std::int64_t& since) const {
    const std::size_t batch = static_cast<std::size_t>(b), outer = static_cast<std::size_t>(o);
    const std::int64_t at = base_ + batch_in_[batch] + outer_in_[outer], quotient = floor_divide(at, run_.step);
    const std::vector<std::int64_t>& offsets = tables_[static_cast<std::size_t>(at - quotient * run_.step)];
    const RunMasks& masks = masks_[masks_of_[batch * outer_out_.size() + outer]];
    const T* rows = reinterpret_cast<const T*>(rows_.get()) + (rows_by_batch_ ? b * p_.rows * p_.positions : 0);
    T* out = out_ + batch_out_[batch] + outer_out_[outer];
    const Inside inside = masks.stored ? Inside() : inside_of(masks.begins);
    std::vector<std::uint16_t> made;
    for (std::int64_t k = 0; k < pieces_; ++k) {
      const Piece piece = piece_of(k);
      const std::int64_t step = piece.vectors * width_;
      if (!masks.stored) fill_mask(piece, inside, made);
      const std::vector<std::uint16_t>& filled = masks.stored ? masks.of_piece[static_cast<std::size_t>(k)] : made;
      const std::uint16_t* mask = filled.empty() ? nullptr : filled.data();
      since += step * p_.rows * p_.positions;
      if (since > (std::int64_t{1} << 24)) runner_.check_limits(), since = 0;
      for (std::int64_t from = 0; from < p_.positions; from += Depth) {
        const std::int64_t depth = std::min(Depth, p_.positions - from);
        for (std::int64_t r = 0; r < p_.rows; r += kernels_.rows) {
          const auto used = static_cast<int>(std::min<std::int64_t>(kernels_.rows, p_.rows - r));
          kernels_.direct(used, piece.vectors, depth, rows + r * p_.positions + from * used, lanes_ + quotient + piece.start, offsets.data() + from,
                          mask ? mask + from * piece.vectors : nullptr, sums + r * step, step, from == 0);
        }
      }
      for (std::int64_t r = 0; r < p_.rows; ++r) {
        T* d = out + row_out_[static_cast<std::size_t>(r)] + piece.start;
        const T* s = sums + r * step;
        for (std::int64_t j = 0; j < piece.count; ++j) d[j] = settled(s[j]);
      }
    }
  }

  Runner& runner_;
  const DotPlan& p_;
  T* out_;
  DotKernels kernels_;
  std::int64_t width_;
  Run run_;
  std::int64_t vectors_ = 0, pieces_ = 0, most_vectors_ = 0;  // of a run, and of a piece
  std::vector<std::int64_t> row_out_, batch_out_, outer_out_, positions_, batch_in_, outer_in_;
  std::int64_t base_ = 0;
  AlignedBytes rows_, together_;
  bool rows_by_batch_ = false;
  const T* lanes_ = nullptr;
  std::vector<std::vector<std::int64_t>> tables_;  // offsets of positions, by the remainder of where a run begins
  std::vector<Check> checks_;
  std::vector<RunMasks> masks_;
  std::vector<std::uint32_t> masks_of_;            // per run
  std::int64_t mask_bytes_ = 0;
};

}  // namespace

void run_direct(Runner& runner, const Step& step, std::byte* out, int threads) {
  const DotPlan& p = *step.dot;
  if (p.type == ElementType::F32) DirectContraction<float>(runner, p, reinterpret_cast<float*>(out)).run(threads);
  else DirectContraction<double>(runner, p, reinterpret_cast<double*>(out)).run(threads);
}

}  // namespace ulpian::interp::block
