// Reductions across lanes: the leaves of one result stand beside each other.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "interp/evaluate/run.h"
#include "spec/numbers/host.h"

namespace ulpian::interp::block {

Bits absorbed(core::ReduceKind kind, ElementType type);
Primitive combiner(core::ReduceKind kind);

namespace {

using core::ReduceKind;

Bits load(const std::byte* p, std::int64_t k, int width) {
  Bits bits = 0;
  std::memcpy(&bits, p + k * width, static_cast<std::size_t>(width));
  return bits;
}
void store(std::byte* p, std::int64_t k, int width, Bits bits) { std::memcpy(p + k * width, &bits, static_cast<std::size_t>(width)); }
int width_of(ElementType t) { return t == ElementType::Z ? 8 : bytes_of(t); }

}  // namespace

// What one row has come to so far.
struct Runner::RowState {
  AlignedBytes scratch;                 // of one block
  std::vector<std::byte> partial;       // results of the blocks of a long row
  std::vector<std::byte> leaves, second;  // of a compact row
  std::vector<std::uint8_t> keep;
  std::int64_t position = 0, best_at = 0, count = 0;
  Bits best = 0;
  bool any = false, seen = false;
  std::uint8_t mark = 0;
  // Dot
  Bits sum = 0;
  bool some = false;
  std::vector<std::optional<Bits>> blocks;
};

namespace {

Bits tree_of(const KernelTable& table, ReduceKind kind, ElementType type, std::byte* scratch, const std::byte* leaves, std::int64_t n) {
  const int width = width_of(type);
  if (n == 1) return load(leaves, 0, width);
  if (const TreeKernel tree = table.tree(combiner(kind), type)) {
    tree(scratch, leaves, n);
    return load(scratch, 0, width);
  }
  const std::byte* from = leaves;
  while (n > 1) {
    const std::int64_t half = n / 2;
    for (std::int64_t k = 0; k < half; ++k) store(scratch, k, width, combine(kind, type, load(from, 2 * k, width), load(from, 2 * k + 1, width)));
    if (n % 2 != 0) store(scratch, half, width, load(from, n - 1, width));
    n = half + n % 2;
    from = scratch;
  }
  return load(scratch, 0, width);
}

// The left-full tree over leaves of which some are missing.
std::optional<Bits> tree_over(ElementType type, std::vector<std::optional<Bits>> level) {
  if (level.empty()) return std::nullopt;
  while (level.size() > 1) {
    std::vector<std::optional<Bits>> next;
    for (std::size_t k = 0; k < level.size(); k += 2) {
      if (k + 1 == level.size()) next.push_back(level[k]);
      else if (level[k] && level[k + 1]) next.push_back(combine(ReduceKind::Sum, type, *level[k], *level[k + 1]));
      else next.push_back(level[k] ? level[k] : level[k + 1]);
    }
    level = std::move(next);
  }
  return level[0];
}

template <ElementType T> void find_extreme(const std::byte* bytes, const std::uint8_t* keep, std::int64_t n, std::int64_t first, bool greatest, Bits& best,
                                           bool& seen, std::int64_t& at) {
  const auto* x = reinterpret_cast<const Storage<T>*>(bytes);
  auto b = host::value_of<T>(host::from_bits<T>(best));
  for (std::int64_t k = 0; k < n; ++k) {
    if (keep && !keep[k]) continue;
    const auto v = host::value_of<T>(x[k]);
    if (seen && !((greatest ? v > b : v < b) | ((v != v) & (b == b)))) continue;
    seen = true;
    b = v;
    best = host::to_bits<T>(x[k]);
    at = first + k;
  }
}

}  // namespace

constexpr std::int64_t LanesOfReads = 16;

void Runner::rows(const Step& s) {
  const Tape& t = s.tape;
  if (s.rows == 0) return;
  // Leaves that are read and nothing else often need no registers: more of them at once.
  const std::int64_t most = t.body.size() > 1 ? options_.lanes : options_.lanes * LanesOfReads;
  const std::int64_t block = std::min(most, std::max<std::int64_t>(1, s.rows * s.columns));
  // Short rows share a block; long ones take several.
  const std::int64_t together = s.compact || s.columns == 0 || s.columns >= block ? 1 : block / s.columns;
  const std::int64_t groups = (s.rows + together - 1) / together;
  const double work = t.cost * static_cast<double>(s.rows) * static_cast<double>(s.columns);
  const int threads = groups > 1 ? threads_for(work) : 1;
  const std::int64_t tasks = threads == 1 ? 1 : std::min<std::int64_t>(groups, threads * 8);
  frames_[&s].resize(static_cast<std::size_t>(threads == 1 ? 1 : limits_.threads));
  std::vector<RowState> states(frames_[&s].size());
  parallel(tasks, threads == 1 ? 0 : work, [&](std::int64_t task, int worker) {
    RowState& state = states[static_cast<std::size_t>(worker)];
    if (!state.scratch) state.scratch = aligned_bytes(static_cast<std::size_t>(block) * 16);
    Frame& f = frame(s, worker, block);
    for (std::int64_t g = groups * task / tasks; g < groups * (task + 1) / tasks; ++g) {
      if ((g & 15) == 15) check_limits();
      const std::int64_t row = g * together, count = std::min(together, s.rows - row);
      if (s.compact) compact_row(s, f, row, state);
      else reduce_rows(s, f, row, count, state);
    }
  });
}

// The leaves of rows, block by block, into a RowState; one kind of reduction after the other.
class Runner::RowWork {
public:
  RowWork(const Step& step, Frame& frame, const Runner& runner)
      : s_(step), f_(frame), table_(kernels(runner.options_.instructions)), type_(runner.schedule_->buffers[step.out].type), width_(width_of(type_)),
        body_width_(width_of(step.body_type)), initial_root_(step.has_filter ? 1 : 0), body_root_(initial_root_ + (step.has_initial ? 1 : 0)),
        none_(absorbed(step.reduce, type_)) {}

  void begin(RowState& r) const {
    r.count = r.position = r.best_at = 0;
    r.any = r.seen = r.some = false;
    r.mark = 0;
    r.best = s_.reduce == ReduceKind::All ? 1 : 0;
    r.sum = 0;
    r.partial.clear();
    r.blocks.clear();
  }

  // Lanes [at, at + n) of the frame are the row's leaves from position `start` on.
  void take(RowState& r, std::int64_t at, std::int64_t n, std::int64_t start, bool poison) const {
    const std::uint8_t* keep = s_.has_filter ? static_cast<const std::uint8_t*>(f_.value(0)) + at : nullptr;
    if (poison) take_poison(r, keep, at, n);
    const std::byte* body = s_.reduce == ReduceKind::Count ? nullptr : static_cast<const std::byte*>(f_.value(body_root_)) + at * body_width_;
    switch (s_.reduce) {
      case ReduceKind::Count:
        if (keep) r.count += std::count(keep, keep + n, std::uint8_t{1});
        else r.count += n;
        return;
      case ReduceKind::Any:
      case ReduceKind::All: return logic(r, body, keep, n);
      case ReduceKind::ArgMax:
      case ReduceKind::ArgMin: return extreme(r, body, keep, n, start);
      case ReduceKind::Dot: return chain(r, body, keep, at, n, start);
      case ReduceKind::Sum:
      case ReduceKind::Product:
      case ReduceKind::Maximum:
      case ReduceKind::Minimum: return tree(r, body, keep, n);
    }
  }

  Bits result(RowState& r) const {
    switch (s_.reduce) {
      case ReduceKind::Count: return static_cast<Bits>(r.count);
      case ReduceKind::Any:
      case ReduceKind::All: return r.best;
      case ReduceKind::ArgMax:
      case ReduceKind::ArgMin: return static_cast<Bits>(r.best_at);
      case ReduceKind::Dot:
        r.blocks.push_back(r.some ? std::optional(r.sum) : std::nullopt);
        return tree_over(type_, std::move(r.blocks)).value_or(0);
      case ReduceKind::Sum:
      case ReduceKind::Product:
      case ReduceKind::Maximum:
      case ReduceKind::Minimum: break;
    }
    const Bits nothing = s_.reduce == ReduceKind::Sum ? 0 : none_;
    if (!r.any) return nothing;
    if (std::ssize(r.partial) == width_) return load(r.partial.data(), 0, width_);
    std::vector<std::byte> more(r.partial.size());
    return tree_of(table_, s_.reduce, type_, more.data(), r.partial.data(), static_cast<std::int64_t>(r.partial.size()) / width_);
  }

  // Whether a row that is whole is one tree, and nothing else.
  bool just_trees() const { return (s_.reduce == ReduceKind::Sum || s_.reduce == ReduceKind::Product) && !s_.has_filter && s_.columns > 0; }
  Bits tree_of_row(RowState& r, std::int64_t at, std::int64_t n) const {
    return tree_of(table_, s_.reduce, type_, r.scratch.get(), static_cast<const std::byte*>(f_.value(body_root_)) + at * body_width_, n);
  }

private:
  void take_poison(RowState& r, const std::uint8_t* keep, std::int64_t at, std::int64_t n) const {
    if (const std::uint8_t* p = s_.has_filter ? f_.poison(0) : nullptr)
      for (std::int64_t k = 0; k < n; ++k) r.mark = r.mark ? r.mark : p[at + k];
    for (std::size_t root = body_root_; root < s_.tape.roots.size(); ++root)
      if (const std::uint8_t* p = f_.poison(root))
        for (std::int64_t k = 0; k < n; ++k) r.mark = r.mark ? r.mark : !keep || keep[k] ? p[at + k] : std::uint8_t{0};
    if (const std::uint8_t* p = s_.has_initial ? f_.poison(initial_root_) : nullptr; p && !r.mark) r.mark = p[at];
  }

  void logic(RowState& r, const std::byte* body, const std::uint8_t* keep, std::int64_t n) const {
    for (std::int64_t k = 0; k < n; ++k) {
      const Bits x = load(body, k, 1);
      if (!keep || keep[k]) r.best = s_.reduce == ReduceKind::Any ? r.best | x : r.best & x;
    }
  }

  void extreme(RowState& r, const std::byte* body, const std::uint8_t* keep, std::int64_t n, std::int64_t start) const {
    const bool greatest = s_.reduce == ReduceKind::ArgMax;
    if (s_.body_type == ElementType::F32) return find_extreme<ElementType::F32>(body, keep, n, start, greatest, r.best, r.seen, r.best_at);
    if (s_.body_type == ElementType::Z) return find_extreme<ElementType::I64>(body, keep, n, start, greatest, r.best, r.seen, r.best_at);
    for (std::int64_t k = 0; k < n; ++k) {
      if (keep && !keep[k]) continue;
      const Bits x = load(body, k, body_width_);
      if (r.seen && !beats(s_.reduce, s_.body_type, x, r.best)) continue;
      r.seen = true;
      r.best = x;
      r.best_at = start + k;
    }
  }

  void chain(RowState& r, const std::byte* body, const std::uint8_t* keep, std::int64_t at, std::int64_t n, std::int64_t start) const {
    const std::byte* second = static_cast<const std::byte*>(f_.value(body_root_ + 1)) + at * body_width_;
    if (start == 0 && s_.has_initial) {
      r.sum = load(static_cast<const std::byte*>(f_.value(initial_root_)), at, width_);
      r.some = true;
    }
    if (type_ == ElementType::F32 && !keep) {
      dot_chain(reinterpret_cast<const float*>(body), reinterpret_cast<const float*>(second), n, s_.tape.dot_block, r.position, r.sum, r.some, r.blocks);
      r.position += n;
      return;
    }
    for (std::int64_t k = 0; k < n; ++k, ++r.position) {
      if (r.position > 0 && r.position % s_.tape.dot_block == 0) {
        r.blocks.push_back(r.some ? std::optional(r.sum) : std::nullopt);
        r.sum = 0;
        r.some = false;
      }
      if (keep && !keep[k]) continue;
      r.some = true;
      r.sum = fused_multiply_add(type_, load(body, k, body_width_), load(second, k, body_width_), r.sum);
    }
  }

  void tree(RowState& r, const std::byte* body, const std::uint8_t* keep, std::int64_t n) const {
    if (keep) {
      std::byte* kept = r.scratch.get() + f_.block() * 8;
      for (std::int64_t k = 0; k < n; ++k) {
        r.any = r.any || keep[k] != 0;
        store(kept, k, width_, keep[k] ? load(body, k, width_) : none_);
      }
      body = kept;
    } else {
      r.any = true;
    }
    const Bits x = tree_of(table_, s_.reduce, type_, r.scratch.get(), body, n);
    const auto end = static_cast<std::int64_t>(r.partial.size());
    r.partial.resize(static_cast<std::size_t>(end + width_));
    store(r.partial.data() + end, 0, width_, x);
  }

  const Step& s_;
  Frame& f_;
  const KernelTable& table_;
  ElementType type_;
  int width_, body_width_;
  std::size_t initial_root_, body_root_;
  Bits none_;
};

void Runner::reduce_rows(const Step& s, Frame& f, std::int64_t first_row, std::int64_t row_count, RowState& state) {
  const RowWork work(s, f, *this);
  Cell& cell = buffers_[s.out];
  const int width = width_of(schedule_->buffers[s.out].type);
  const std::int64_t base = offset_of(s), block = f.block();
  const auto finish = [&](std::int64_t row) {
    store(writable_[s.out] + base * width, row, width, work.result(state));
    if (cell.poison) (*cell.poison)[static_cast<std::size_t>(base + row)] = state.mark;
  };
  if (s.columns <= block) {
    f.run(first_row * s.columns, row_count * s.columns);
    if (work.just_trees() && !cell.poison) {
      for (std::int64_t r = 0; r < row_count; ++r) store(writable_[s.out] + base * width, first_row + r, width, work.tree_of_row(state, r * s.columns, s.columns));
      return;
    }
    for (std::int64_t r = 0; r < row_count; ++r) {
      work.begin(state);
      work.take(state, r * s.columns, s.columns, 0, cell.poison != nullptr);
      finish(first_row + r);
    }
    return;
  }
  // A long row by itself: blocks of a power of two of leaves are whole subtrees.
  work.begin(state);
  for (std::int64_t start = 0; start < s.columns; start += block) {
    const std::int64_t n = std::min(block, s.columns - start);
    check_limits_now_and_then(start / block);
    f.run(first_row * s.columns + start, n);
    work.take(state, 0, n, start, cell.poison != nullptr);
  }
  finish(first_row);
}

void Runner::dot_chain(const float* a, const float* b, std::int64_t n, std::int64_t dot_block, std::int64_t position, Bits& sum, bool& some,
                       std::vector<std::optional<Bits>>& blocks) {
  float acc = std::bit_cast<float>(static_cast<std::uint32_t>(sum));
  for (std::int64_t k = 0; k < n; ++k, ++position) {
    if (position > 0 && position % dot_block == 0) {
      blocks.emplace_back(some ? std::optional<Bits>(std::bit_cast<std::uint32_t>(acc)) : std::nullopt);
      acc = 0;
    }
    some = true;
    acc = __builtin_fmaf(a[k], b[k], acc);
  }
  sum = std::bit_cast<std::uint32_t>(acc == acc ? acc : std::numeric_limits<float>::quiet_NaN());
}

// A reduction whose positions are counted among the valid index tuples only: the leaves are gathered first.
void Runner::compact_row(const Step& s, Frame& f, std::int64_t row, RowState& state) {
  const ElementType type = schedule_->buffers[s.out].type;
  const int width = width_of(type), body_width = width_of(s.body_type);
  Cell& cell = buffers_[s.out];
  const ReduceKind kind = s.reduce;
  const std::size_t filter_root = 1, initial_root = s.has_filter ? 2 : 1;
  const std::size_t body_root = initial_root + (s.has_initial ? 1 : 0);
  state.leaves.clear();
  state.second.clear();
  state.keep.clear();
  state.mark = 0;
  std::optional<Bits> initial;
  for (std::int64_t start = 0; start < s.columns; start += f.block()) {
    const std::int64_t n = std::min(f.block(), s.columns - start);
    check_limits_now_and_then(start / f.block());
    f.run(row * s.columns + start, n);
    need_memory(static_cast<std::int64_t>(state.leaves.capacity() + state.second.capacity() + state.keep.capacity()));
    const auto* valid = static_cast<const std::uint8_t*>(f.value(0));
    const auto* keep = s.has_filter ? static_cast<const std::uint8_t*>(f.value(filter_root)) : nullptr;
    if (s.has_initial && start == 0) initial = load(static_cast<const std::byte*>(f.value(initial_root)), 0, width);
    for (std::int64_t k = 0; k < n; ++k) {
      for (std::size_t root = 0; root < s.tape.roots.size(); ++root) {
        const std::uint8_t* p = f.poison(root);
        const bool counts = root == 0 || (valid[k] && (root < body_root || !keep || keep[k]));
        if (p && counts && !state.mark) state.mark = p[k];
      }
      if (!valid[k]) continue;
      state.keep.push_back(keep ? keep[k] : 1);
      const auto append = [&](std::vector<std::byte>& to, std::size_t root) {
        const auto* from = static_cast<const std::byte*>(f.value(root)) + k * body_width;
        to.insert(to.end(), from, from + body_width);
      };
      if (kind != ReduceKind::Count) append(state.leaves, body_root);
      if (kind == ReduceKind::Dot) append(state.second, body_root + 1);
    }
  }
  Bits result = 0;
  const auto n = static_cast<std::int64_t>(state.keep.size());
  if (kind == ReduceKind::Count) {
    result = static_cast<Bits>(std::count(state.keep.begin(), state.keep.end(), std::uint8_t{1}));
  } else if (kind == ReduceKind::Dot) {
    std::vector<std::optional<Bits>> blocks(1);
    if (initial) blocks[0] = initial;
    for (std::int64_t k = 0; k < n; ++k) {
      if (k > 0 && k % s.tape.dot_block == 0) blocks.emplace_back();
      if (!state.keep[static_cast<std::size_t>(k)]) continue;
      blocks.back() = fused_multiply_add(type, load(state.leaves.data(), k, body_width), load(state.second.data(), k, body_width), blocks.back().value_or(0));
    }
    result = tree_over(type, std::move(blocks)).value_or(0);
  } else if (kind == ReduceKind::ArgMax || kind == ReduceKind::ArgMin) {
    bool seen = false;
    Bits best = 0;
    for (std::int64_t k = 0; k < n; ++k) {
      const Bits x = load(state.leaves.data(), k, body_width);
      if (!state.keep[static_cast<std::size_t>(k)] || (seen && !beats(kind, s.body_type, x, best))) continue;
      seen = true;
      best = x;
      result = static_cast<Bits>(k);
    }
  } else {
    bool any = false;
    for (std::int64_t k = 0; k < n; ++k) {
      any = any || state.keep[static_cast<std::size_t>(k)] != 0;
      if (!state.keep[static_cast<std::size_t>(k)]) store(state.leaves.data(), k, width, absorbed(kind, type));
    }
    result = kind == ReduceKind::Sum ? 0 : absorbed(kind, type);
    if (any) {
      std::vector<std::byte> scratch(state.leaves.size());
      result = tree_of(kernels(options_.instructions), kind, type, scratch.data(), state.leaves.data(), n);
    }
  }
  store(writable_[s.out] + offset_of(s) * width, row, width, result);
  if (cell.poison) (*cell.poison)[static_cast<std::size_t>(offset_of(s) + row)] = state.mark;
}

}  // namespace ulpian::interp::block
