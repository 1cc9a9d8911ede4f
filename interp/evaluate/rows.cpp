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

void Runner::rows(const Step& s) {
  const Tape& t = s.tape;
  if (s.rows == 0) return;
  const int width = width_of(schedule_->buffers[s.out].type);
  const std::int64_t block = std::min(options_.lanes, std::max<std::int64_t>(1, s.rows * s.columns));
  // Short rows share a block; long ones take several.
  const std::int64_t together = s.compact || s.columns == 0 || s.columns >= block ? 1 : block / s.columns;
  const std::int64_t groups = (s.rows + together - 1) / together;
  const double work = t.cost * static_cast<double>(s.rows) * static_cast<double>(s.columns);
  const int threads = groups > 1 ? threads_for(work) : 1;
  const std::int64_t tasks = threads == 1 ? 1 : std::min<std::int64_t>(groups, threads * 8);
  frames_[&s].resize(static_cast<std::size_t>(threads == 1 ? 1 : limits_.threads));
  std::vector<RowState> states(frames_[&s].size());
  (void)width;
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

void Runner::reduce_rows(const Step& s, Frame& f, std::int64_t first_row, std::int64_t row_count, RowState& state) {
  const ElementType type = schedule_->buffers[s.out].type;
  const int width = width_of(type), body_width = width_of(s.body_type);
  const KernelTable& table = kernels(options_.instructions);
  const std::int64_t block = f.block();
  std::byte* out = writable_[s.out] + offset_of(s) * width;
  Cell& cell = buffers_[s.out];
  const ReduceKind kind = s.reduce;
  const bool dot = kind == ReduceKind::Dot, tree = kind == ReduceKind::Sum || kind == ReduceKind::Product;
  const std::size_t filter_root = 0, initial_root = s.has_filter ? 1 : 0;
  const std::size_t body_root = initial_root + (s.has_initial ? 1 : 0);
  const Bits none = absorbed(kind, type);
  const std::int64_t chunks = s.columns <= block ? 1 : (s.columns + block - 1) / block;
  for (std::int64_t chunk = 0; chunk < std::max<std::int64_t>(chunks, 1); ++chunk) {
    const std::int64_t start = chunk * block;
    const std::int64_t per_row = std::min(block, s.columns - start);
    const std::int64_t lanes = chunks == 1 ? row_count * s.columns : per_row;
    if (lanes > 0) f.run(first_row * s.columns + start, lanes);
    for (std::int64_t r = 0; r < row_count; ++r) {
      if (chunk == 0) {
        state.count = state.position = state.best_at = 0;
        state.any = state.seen = state.some = false;
        state.mark = 0;
        state.best = kind == ReduceKind::All ? 1 : 0;
        state.sum = 0;
        state.partial.clear();
        state.blocks.clear();
      }
      const std::int64_t at = r * s.columns;  // chunks == 1, or r == 0
      const std::uint8_t* keep = s.has_filter && lanes > 0 ? static_cast<const std::uint8_t*>(f.value(filter_root)) + at : nullptr;
      if (lanes > 0 && cell.poison) {
        if (s.has_filter)
          if (const std::uint8_t* p = f.poison(filter_root))
            for (std::int64_t k = 0; k < per_row; ++k) state.mark = state.mark ? state.mark : p[at + k];
        for (std::size_t root = body_root; root < s.tape.roots.size(); ++root)
          if (const std::uint8_t* p = f.poison(root))
            for (std::int64_t k = 0; k < per_row; ++k) state.mark = state.mark ? state.mark : !keep || keep[k] ? p[at + k] : std::uint8_t{0};
        if (s.has_initial)
          if (const std::uint8_t* p = f.poison(initial_root); p && !state.mark) state.mark = p[at];
      }
      const std::byte* body = lanes > 0 && kind != ReduceKind::Count ? static_cast<const std::byte*>(f.value(body_root)) + at * body_width : nullptr;
      if (lanes <= 0) {
        // nothing
      } else if (kind == ReduceKind::Count) {
        if (keep) for (std::int64_t k = 0; k < per_row; ++k) state.count += keep[k];
        else state.count += per_row;
      } else if (kind == ReduceKind::Any || kind == ReduceKind::All) {
        for (std::int64_t k = 0; k < per_row; ++k) {
          const Bits x = load(body, k, 1);
          if (!keep || keep[k]) state.best = kind == ReduceKind::Any ? state.best | x : state.best & x;
        }
      } else if (kind == ReduceKind::ArgMax || kind == ReduceKind::ArgMin) {
        const bool greatest = kind == ReduceKind::ArgMax;
        if (s.body_type == ElementType::F32) {
          find_extreme<ElementType::F32>(body, keep, per_row, start, greatest, state.best, state.seen, state.best_at);
        } else if (s.body_type == ElementType::Z) {
          find_extreme<ElementType::I64>(body, keep, per_row, start, greatest, state.best, state.seen, state.best_at);
        } else {
          for (std::int64_t k = 0; k < per_row; ++k) {
            if (keep && !keep[k]) continue;
            const Bits x = load(body, k, body_width);
            if (state.seen && !beats(kind, s.body_type, x, state.best)) continue;
            state.seen = true;
            state.best = x;
            state.best_at = start + k;
          }
        }
      } else if (dot) {
        const std::byte* second = static_cast<const std::byte*>(f.value(body_root + 1)) + at * body_width;
        if (chunk == 0 && s.has_initial) {
          state.sum = load(static_cast<const std::byte*>(f.value(initial_root)), at, width);
          state.some = true;
        }
        if (type == ElementType::F32 && !keep) {
          const auto* a = reinterpret_cast<const float*>(body);
          const auto* b = reinterpret_cast<const float*>(second);
          dot_chain(a, b, per_row, state.position, state.sum, state.some, state.blocks);
          state.position += per_row;
        } else {
          for (std::int64_t k = 0; k < per_row; ++k, ++state.position) {
            if (state.position > 0 && state.position % DotBlock == 0) {
              state.blocks.push_back(state.some ? std::optional(state.sum) : std::nullopt);
              state.sum = 0;
              state.some = false;
            }
            if (keep && !keep[k]) continue;
            state.some = true;
            state.sum = fused_multiply_add(type, load(body, k, body_width), load(second, k, body_width), state.sum);
          }
        }
      } else {
        if (keep) {
          std::byte* kept = state.scratch.get() + block * 8;
          for (std::int64_t k = 0; k < per_row; ++k) {
            state.any = state.any || keep[k] != 0;
            store(kept, k, width, keep[k] ? load(body, k, width) : none);
          }
          body = kept;
        } else {
          state.any = true;
        }
        const Bits x = tree_of(table, kind, type, state.scratch.get(), body, per_row);
        state.partial.resize(static_cast<std::size_t>((chunk + 1) * width));
        store(state.partial.data(), chunk, width, x);
      }
      if (chunk + 1 < chunks) continue;
      Bits result = 0;
      if (kind == ReduceKind::Count) result = static_cast<Bits>(state.count);
      else if (kind == ReduceKind::Any || kind == ReduceKind::All) result = state.best;
      else if (kind == ReduceKind::ArgMax || kind == ReduceKind::ArgMin) result = static_cast<Bits>(state.best_at);
      else if (dot) {
        if (lanes <= 0 && s.has_initial) ensure(false, "an empty dot is no row");
        state.blocks.push_back(state.some ? std::optional(state.sum) : std::nullopt);
        result = tree_over(type, std::move(state.blocks)).value_or(0);
      } else if (state.partial.empty()) {
        result = kind == ReduceKind::Sum ? 0 : none;
      } else {
        std::vector<std::byte> more(state.partial.size());
        result = tree_of(table, kind, type, more.data(), state.partial.data(), static_cast<std::int64_t>(state.partial.size()) / width);
        if (tree && !state.any) result = kind == ReduceKind::Sum ? 0 : none;
      }
      store(out, first_row + r, width, result);
      if (cell.poison) (*cell.poison)[static_cast<std::size_t>(offset_of(s) + first_row + r)] = state.mark;
    }
  }
}

void Runner::dot_chain(const float* a, const float* b, std::int64_t n, std::int64_t position, Bits& sum, bool& some, std::vector<std::optional<Bits>>& blocks) {
  float acc = std::bit_cast<float>(static_cast<std::uint32_t>(sum));
  for (std::int64_t k = 0; k < n; ++k, ++position) {
    if (position > 0 && position % DotBlock == 0) {
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
    f.run(row * s.columns + start, n);
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
      if (k > 0 && k % DotBlock == 0) blocks.emplace_back();
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
