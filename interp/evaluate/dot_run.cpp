// Packs and multiplies.
#include <algorithm>
#include <cstring>
#include <limits>

#include "interp/evaluate/dot.h"
#include "interp/evaluate/dot_kernels.h"
#include "interp/evaluate/run.h"

namespace ulpian::interp::block {

// What one thread needs for a contraction, kept as long as the step may run again.
struct DotWorker {
  std::unique_ptr<Frame> row, lane;
  std::vector<std::int64_t> variables;
  AlignedBytes lanes_packed, sums, masks;
  std::size_t lanes_size = 0, sums_size = 0, masks_size = 0;
  std::vector<std::uint8_t> marks;   // per lane of the block: poison that counts
};

struct DotScratch {
  std::vector<std::int64_t> batch_offsets, row_offsets, lane_offsets;
  bool lanes_in_order = true;
  std::vector<AlignedBytes> rows_packed;          // one per batch index, or one for all
  std::vector<AlignedBytes> lanes_packed;         // of an invariant factor: per batch index, all of it
  std::vector<DotWorker> workers;
};

namespace {

constexpr std::int64_t Depth = 384;        // positions per pass: a panel of rows stays in the first cache
constexpr std::int64_t PackLanes = 4096;   // lanes of a packing tape at once

std::vector<std::int64_t> offsets_of(const std::vector<DotAxis>& axes) {
  std::vector<std::int64_t> all{0};
  for (const DotAxis& a : axes) {
    std::vector<std::int64_t> next;
    next.reserve(all.size() * static_cast<std::size_t>(a.extent));
    for (std::int64_t base : all)
      for (std::int64_t k = 0; k < a.extent; ++k) next.push_back(base + k * a.stride);
    all = std::move(next);
  }
  return all;
}

// d[k * width + r] = s[r * columns + k], in squares of 4 by 4 that stay in registers.
template <class T> void transpose_into(T* __restrict d, const T* __restrict s, std::int64_t rows, std::int64_t columns, std::int64_t width) {
  constexpr std::int64_t Square = 4;
  const std::int64_t whole_rows = rows / Square * Square, whole_columns = columns / Square * Square;
  for (std::int64_t k = 0; k < whole_columns; k += Square)
    for (std::int64_t r = 0; r < whole_rows; r += Square) {
      T square[Square][Square];
      for (std::int64_t i = 0; i < Square; ++i)
        for (std::int64_t j = 0; j < Square; ++j) square[j][i] = s[(r + i) * columns + k + j];
      for (std::int64_t j = 0; j < Square; ++j)
        for (std::int64_t i = 0; i < Square; ++i) d[(k + j) * width + r + i] = square[j][i];
    }
  for (std::int64_t k = 0; k < columns; ++k)
    for (std::int64_t r = k < whole_columns ? whole_rows : 0; r < rows; ++r) d[k * width + r] = s[r * columns + k];
}

// Panels of `width` rows beside each other for every position; the last panel is as wide as what is left.
template <class T> void pack_rows_of(Frame& frame, const DotFactor& f, std::int64_t positions, std::int64_t count, std::int64_t width, T* to) {
  for (std::int64_t x = 0; x < count; x += width) {
    const std::int64_t n = std::min(width, count - x), step = std::max<std::int64_t>(1, PackLanes / n);
    for (std::int64_t k = 0; k < positions; k += step) {
      const std::int64_t m = std::min(step, positions - k);
      T* d = to + k * n;
      if (f.by_lanes) {
        frame.redirect(0, d);
        frame.run_cross(f.split, k, m, x, n);
        if (frame.value(0) != d) std::memcpy(static_cast<void*>(d), frame.value(0), static_cast<std::size_t>(m * n) * sizeof(T));
        frame.restore(0);
      } else {
        frame.run_cross(f.split, x, n, k, m);
        transpose_into(d, static_cast<const T*>(frame.value(0)), n, m, n);
      }
    }
    to += positions * n;
  }
}

// Where the masks and the poison of what was just packed go.
struct Masks {
  std::uint8_t* keep = nullptr;   // as the lanes
  std::uint8_t* marks = nullptr;  // per lane
};

void take_masks(const Frame& frame, const DotFactor& f, std::int64_t k, std::int64_t m, std::int64_t x, std::int64_t n, std::int64_t step, const Masks& to) {
  const auto* keep = static_cast<const std::uint8_t*>(frame.value(1));
  const std::uint8_t *bad = frame.poison(0), *filter_bad = frame.poison(1);
  const std::int64_t by_position = f.by_lanes ? n : 1, by_lane = f.by_lanes ? 1 : m;
  for (std::int64_t j = 0; j < m; ++j)
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t at = j * by_position + i * by_lane;
      to.keep[(k + j) * step + x + i] = keep[at];
      if (filter_bad && filter_bad[at]) to.marks[x + i] = filter_bad[at];
      else if (bad && bad[at] && keep[at]) to.marks[x + i] = bad[at];
    }
}

// Lanes [first, first + count) for `positions` positions from `from` on, `step` elements from one to the next; what is beyond the lanes is 0.
template <class T>
void pack_lanes_of(Frame& frame, const DotFactor& f, std::int64_t from, std::int64_t positions, std::int64_t first, std::int64_t count, std::int64_t step, T* to,
                   const Masks* masks) {
  if (count < step)
    for (std::int64_t k = 0; k < positions; ++k) std::fill(to + k * step + count, to + (k + 1) * step, T{0});
  if (masks) std::memset(masks->keep, 0, static_cast<std::size_t>(positions * step));
  const std::int64_t wide = f.by_lanes ? count : std::min<std::int64_t>(count, 32);
  for (std::int64_t x = 0; x < count; x += wide) {
    const std::int64_t n = std::min(wide, count - x), deep = std::max<std::int64_t>(1, PackLanes / n);
    for (std::int64_t k = 0; k < positions; k += deep) {
      const std::int64_t m = std::min(deep, positions - k);
      T* d = to + k * step + x;
      if (!f.by_lanes) {
        frame.run_cross(f.split, first + x, n, from + k, m);
        transpose_into(d, static_cast<const T*>(frame.value(0)), n, m, step);
      } else if (n == step) {
        frame.redirect(0, d);
        frame.run_cross(f.split, from + k, m, first + x, n);
        if (frame.value(0) != d) std::memcpy(static_cast<void*>(d), frame.value(0), static_cast<std::size_t>(m * n) * sizeof(T));
        frame.restore(0);
      } else {
        frame.run_cross(f.split, from + k, m, first + x, n);
        const T* v = static_cast<const T*>(frame.value(0));
        for (std::int64_t j = 0; j < m; ++j) std::copy_n(v + j * n, n, d + j * step);
      }
      if (masks) take_masks(frame, f, k, m, x, n, step, *masks);
    }
  }
}

AlignedBytes& grown(AlignedBytes& memory, std::size_t& size, std::size_t wanted) {
  if (size < wanted) {
    memory = aligned_bytes(wanted);
    size = wanted;
  }
  return memory;
}

template <class T> T settled(T x) {
  if constexpr (std::is_floating_point_v<T>) return x == x ? x : std::numeric_limits<T>::quiet_NaN();
  else return x;
}

template <class T> class Contraction {
public:
  Contraction(Runner& runner, const DotPlan& plan, DotScratch& scratch, T* out, std::uint8_t* marks, bool keep)
      : runner_(runner), p_(plan), s_(scratch), out_(out), marks_(marks), keep_(keep), kernels_(dot_kernels(plan.type, runner.options().instructions)) {}

  void run(int threads) {
    lane_block_ = lanes_at_once(threads);
    const std::int64_t blocks = (p_.lanes + lane_block_ - 1) / lane_block_;
    const double work = 2.0 * static_cast<double>(p_.rows) * static_cast<double>(p_.lanes) * static_cast<double>(p_.positions) / 16;
    const bool rows_vary = p_.row.in_batch && p_.batch > 1;
    const std::size_t kept = rows_vary ? static_cast<std::size_t>(p_.batch) : 1;
    const bool packed = keep_ && p_.row.invariant && s_.rows_packed.size() == kept;
    if (!packed) {
      s_.rows_packed.resize(kept);
      runner_.parallel(static_cast<std::int64_t>(kept), threads == 1 ? 0 : static_cast<double>(p_.rows * p_.positions) * static_cast<double>(kept), [&](std::int64_t b, int w) { pack_rows(b, w); });
    }
    if (keeps_lanes() && s_.lanes_packed.empty()) {
      const bool lanes_vary = p_.lane.in_batch && p_.batch > 1;
      s_.lanes_packed.resize(lanes_vary ? static_cast<std::size_t>(p_.batch) : 1);
      for (std::int64_t b = 0; b < static_cast<std::int64_t>(s_.lanes_packed.size()); ++b) {
        const std::int64_t padded = round_up(p_.lanes);
        s_.lanes_packed[static_cast<std::size_t>(b)] = aligned_bytes(static_cast<std::size_t>(padded * p_.positions) * sizeof(T));
        T* to = reinterpret_cast<T*>(s_.lanes_packed[static_cast<std::size_t>(b)].get());
        for (std::int64_t x = 0; x < p_.lanes; x += PackLanes) {
          const std::int64_t n = std::min(PackLanes, p_.lanes - x);
          pack_lanes_of(lane_frame(b, 0), p_.lane, 0, p_.positions, x, n, round_up(n), to + x * p_.positions, nullptr);
        }
      }
    }
    runner_.parallel(p_.batch * blocks, threads == 1 ? 0 : work * static_cast<double>(p_.batch), [&](std::int64_t task, int w) {
      runner_.check_limits();
      const std::int64_t first = task % blocks * lane_block_;
      block(task / blocks, first, std::min(lane_block_, p_.lanes - first), w);
    });
  }

private:
  // Whether the lanes are packed once for all steps of the recurrence around.
  bool keeps_lanes() const {
    const double bytes = static_cast<double>(p_.lanes) * static_cast<double>(p_.positions) * static_cast<double>(p_.lane.in_batch ? p_.batch : 1) * sizeof(T);
    return keep_ && p_.lane.invariant && !p_.masked && bytes <= 64e6;
  }
  std::int64_t round_up(std::int64_t n) const { return (n + kernels_.lanes - 1) / kernels_.lanes * kernels_.lanes; }

  // Lanes whose packed panels and sums stay in the second cache, and at least two pieces per thread.
  std::int64_t lanes_at_once(int threads) const {
    const std::int64_t budget = 384 * 1024 / static_cast<std::int64_t>(sizeof(T));
    const std::int64_t by_panels = budget / std::max<std::int64_t>(1, std::min(p_.positions, Depth)), by_sums = budget / std::max<std::int64_t>(1, p_.rows);
    std::int64_t n = std::min(by_panels, std::max<std::int64_t>(by_sums, kernels_.lanes * 4));
    if (threads > 1 && p_.batch < 2 * threads) n = std::min(n, p_.lanes / (2 * threads));
    if (keeps_lanes()) return PackLanes;  // as they are packed once for all
    n = std::min(n, PackLanes);
    n = std::max<std::int64_t>(n / (4 * kernels_.lanes) * (4 * kernels_.lanes), 4 * kernels_.lanes);
    // Not a power of two from one position to the next: they would share the same few places of the caches.
    return n >= 512 ? n - kernels_.lanes : n;
  }

  void set_batch(std::vector<std::int64_t>& variables, std::int64_t b) const {
    variables.assign(runner_.variables().begin(), runner_.variables().end());
    for (std::size_t k = p_.batch_axes.size(); k-- > 0;) {
      variables[p_.batch_axes[k].variable] = b % p_.batch_axes[k].extent;
      b /= p_.batch_axes[k].extent;
    }
  }
  Frame& started(std::unique_ptr<Frame>& frame, const DotFactor& f, std::int64_t b, DotWorker& w) const {
    set_batch(w.variables, b);
    if (frame) frame->begin(w.variables);
    else {
      frame = std::make_unique<Frame>(f.tape, runner_.program(), runner_.views(), w.variables, std::min(PackLanes, std::max<std::int64_t>(1, f.tape.lanes)),
                                      runner_.options().instructions, [this] { runner_.check_limits(); });
    }
    return *frame;
  }
  Frame& lane_frame(std::int64_t b, int w) {
    DotWorker& worker = s_.workers[static_cast<std::size_t>(w)];
    return started(worker.lane, p_.lane, b, worker);
  }

  void pack_rows(std::int64_t b, int w) {
    DotWorker& worker = s_.workers[static_cast<std::size_t>(w)];
    AlignedBytes& memory = s_.rows_packed[static_cast<std::size_t>(b)];
    if (!memory) {
      runner_.need_memory(p_.rows * p_.positions * static_cast<std::int64_t>(sizeof(T)));
      memory = aligned_bytes(static_cast<std::size_t>(p_.rows * p_.positions) * sizeof(T));
    }
    pack_rows_of(started(worker.row, p_.row, b, worker), p_.row, p_.positions, p_.rows, kernels_.rows, reinterpret_cast<T*>(memory.get()));
  }

  void block(std::int64_t b, std::int64_t first, std::int64_t count, int w) {
    DotWorker& worker = s_.workers[static_cast<std::size_t>(w)];
    const std::int64_t padded = round_up(count), step = padded + 16;
    const T* rows = reinterpret_cast<const T*>(s_.rows_packed[s_.rows_packed.size() > 1 ? static_cast<std::size_t>(b) : 0].get());
    const T* kept = nullptr;
    if (!s_.lanes_packed.empty())
      kept = reinterpret_cast<const T*>(s_.lanes_packed[s_.lanes_packed.size() > 1 ? static_cast<std::size_t>(b) : 0].get()) + first * p_.positions;
    // One set of sums per unfinished level of the tree over blocks of positions.
    const std::int64_t area = p_.rows * step;
    const std::int64_t most = runner_.options().dot_block, parts = (p_.positions + most - 1) / most, longest = std::min(p_.positions, most);
    std::int64_t levels = 1;
    while ((std::int64_t{1} << (levels - 1)) < parts) ++levels;
    T* sums = reinterpret_cast<T*>(grown(worker.sums, worker.sums_size, static_cast<std::size_t>(area * (levels + 1)) * sizeof(T)).get());
    T* packed = kept ? nullptr : reinterpret_cast<T*>(grown(worker.lanes_packed, worker.lanes_size, static_cast<std::size_t>(padded * longest) * sizeof(T)).get());
    Frame* frame = kept ? nullptr : &lane_frame(b, w);
    if (p_.masked) {
      worker.marks.assign(static_cast<std::size_t>(count), 0);
      const Masks masks{reinterpret_cast<std::uint8_t*>(grown(worker.masks, worker.masks_size, static_cast<std::size_t>(padded * longest)).get()), worker.marks.data()};
      pack_lanes_of(*frame, p_.lane, 0, p_.positions, first, count, padded, packed, &masks);
      multiply_masked(rows, packed, masks.keep, padded, sums, step);
      write(b, first, count, sums, step);
      if (marks_) mark(b, first, count, worker.marks);
      return;
    }
    const auto add = [&](const T* earlier, T* to) {
      for (std::int64_t k = 0; k < area; ++k) to[k] = earlier[k] + to[k];
    };
    std::vector<T*> at(static_cast<std::size_t>(levels) + 1);  // of each level, and of the part at work
    for (std::size_t l = 0; l < at.size(); ++l) at[l] = sums + static_cast<std::int64_t>(l) * area;
    // The tree is a binary counter of finished parts.
    for (std::int64_t part = 0; part < parts; ++part) {
      const std::int64_t from = part * most, to = std::min(p_.positions, from + most);
      runner_.check_limits_now_and_then(part);
      if (!kept) pack_lanes_of(*frame, p_.lane, from, to - from, first, count, padded, packed, nullptr);
      multiply(rows, kept ? kept + from * padded : packed, from, to, padded, at.back(), step);
      std::size_t l = 0;
      for (; (part >> l & 1) != 0; ++l) add(at[l], at.back());
      std::swap(at[l], at.back());
    }
    T* total = nullptr;
    for (std::size_t l = 0; (parts >> l) != 0; ++l) {
      if ((parts >> l & 1) == 0) continue;
      if (total) add(at[l], total);
      else total = at[l];
    }
    write(b, first, count, total, step);
  }

  // Positions [from, to) of one block, from +0; `lanes` begin with position `from`.
  void multiply(const T* rows, const T* lanes, std::int64_t from, std::int64_t to, std::int64_t padded, T* sums, std::int64_t step) const {
    const std::int64_t width = kernels_.lanes;
    for (std::int64_t k = from; k < to; k += Depth) {
      const std::int64_t depth = std::min(Depth, to - k);
      for (std::int64_t r = 0; r < p_.rows; r += kernels_.rows) {
        if (r / kernels_.rows % 256 == 255) runner_.check_limits();
        const int used = static_cast<int>(std::min<std::int64_t>(kernels_.rows, p_.rows - r));
        const T* a = rows + r * p_.positions + k * used;
        const int many = kernels_.panels(used);
        for (std::int64_t j = 0; j < padded;) {
          int now = many;
          while (now > 1 && j + now * width > padded) now /= 2;
          kernels_.tile(used, now, depth, a, lanes + (k - from) * padded + j, padded, sums + r * step + j, step, k == from);
          j += now * width;
        }
      }
    }
  }

  void multiply_masked(const T* rows, const T* lanes, const std::uint8_t* masks, std::int64_t padded, T* sums, std::int64_t step) const {
    const std::int64_t width = kernels_.lanes;
    for (std::int64_t k = 0; k < p_.positions; k += Depth) {
      const std::int64_t depth = std::min(Depth, p_.positions - k);
      runner_.check_limits();
      for (std::int64_t r = 0; r < p_.rows; r += kernels_.rows) {
        if (r / kernels_.rows % 256 == 255) runner_.check_limits();
        const int used = static_cast<int>(std::min<std::int64_t>(kernels_.rows, p_.rows - r));
        const T* a = rows + r * p_.positions + k * used;
        for (std::int64_t j = 0; j < padded; j += width) {
          const std::int64_t at = k * padded + j;
          kernels_.masked(used, depth, a, lanes + at, masks + at, padded, sums + r * step + j, step, k == 0);
        }
      }
    }
  }

  void mark(std::int64_t b, std::int64_t first, std::int64_t count, const std::vector<std::uint8_t>& marks) const {
    for (std::int64_t r = 0; r < p_.rows; ++r)
      for (std::int64_t k = 0; k < count; ++k)
        marks_[s_.batch_offsets[static_cast<std::size_t>(b)] + s_.row_offsets[static_cast<std::size_t>(r)] + s_.lane_offsets[static_cast<std::size_t>(first + k)]] =
            marks[static_cast<std::size_t>(k)];
  }

  void write(std::int64_t b, std::int64_t first, std::int64_t count, const T* sums, std::int64_t step) const {
    T* base = out_ + s_.batch_offsets[static_cast<std::size_t>(b)];
    const std::int64_t* at = s_.lane_offsets.data() + first;
    for (std::int64_t r = 0; r < p_.rows; ++r) {
      T* to = base + s_.row_offsets[static_cast<std::size_t>(r)];
      const T* from = sums + r * step;
      if (s_.lanes_in_order) {
        T* d = to + at[0];
        for (std::int64_t k = 0; k < count; ++k) d[k] = settled(from[k]);
      } else {
        for (std::int64_t k = 0; k < count; ++k) to[at[k]] = settled(from[k]);
      }
    }
  }

  Runner& runner_;
  const DotPlan& p_;
  DotScratch& s_;
  T* out_;
  std::uint8_t* marks_;
  bool keep_;
  DotKernels kernels_;
  std::int64_t lane_block_ = 0;
};

}  // namespace

void Runner::dot(const Step& s) {
  const DotPlan& p = *s.dot;
  const int threads = threads_for(2.0 * static_cast<double>(p.batch) * static_cast<double>(p.rows) * static_cast<double>(p.lanes) * static_cast<double>(p.positions) / 16);
  if (p.direct) return run_direct(*this, s, writable_[s.out] + offset_of(s) * bytes_of(p.type), threads);
  auto& scratch = dots_[&s];
  if (!scratch) {
    scratch = std::make_shared<DotScratch>();
    scratch->batch_offsets = offsets_of(p.batch_axes);
    scratch->row_offsets = offsets_of(p.row_axes);
    scratch->lane_offsets = offsets_of(p.lane_axes);
    for (std::size_t k = 0; k < scratch->lane_offsets.size(); ++k)
      scratch->lanes_in_order = scratch->lanes_in_order && scratch->lane_offsets[k] == static_cast<std::int64_t>(k);
    scratch->workers.resize(static_cast<std::size_t>(threads == 1 ? 1 : limits_.threads));
  }
  const auto with = [&]<class T>() {
    T* out = reinterpret_cast<T*>(writable_[s.out]) + offset_of(s);
    Cell& cell = buffers_[s.out];
    if (cell.poison) cell.origins = p.lane.tape.origins;
    Contraction<T>(*this, p, *scratch, out, cell.poison ? cell.poison->data() + offset_of(s) : nullptr, inside_recurrence_).run(threads);
  };
  switch (bytes_of(p.type)) {
    case 4: p.type == ElementType::F32 ? with.template operator()<float>() : with.template operator()<std::uint32_t>(); break;
    default: p.type == ElementType::F64 ? with.template operator()<double>() : with.template operator()<std::uint64_t>(); break;
  }
}

}  // namespace ulpian::interp::block
