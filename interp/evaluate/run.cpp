#include "interp/evaluate/run.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include <fmt/format.h>

namespace ulpian::interp::block {

Runner::Runner(const core::Program& program, const Options& options, const Limits& limits)
    : cells(program.tensors.size()), program_(program), options_(options), limits_(limits) {
  variables_.assign(MaxVariables, 0);
}
Runner::~Runner() = default;

void Runner::stop(ErrorKind kind, std::string message, std::uint32_t place) const {
  Diagnostic d;
  d.kind = kind;
  d.message = program_.op.empty() ? std::move(message) : program_.op + ": " + message;
  if (place < program_.places.size()) d.place = program_.places[place];
  throw Stop{std::move(d)};
}

void Runner::stop_poison(const Cell& cell, std::uint8_t mark, const std::string& note, std::size_t output, std::int64_t position) const {
  Diagnostic d;
  d.kind = ErrorKind::Definition;
  const std::uint32_t origin = mark >= 1 && mark <= cell.origins.size() ? cell.origins[mark - 1u] : 0;
  const bool store = (origin & PlaceOfStore) != 0;
  const std::string message = store ? "an integer does not fit into the type in which it is stored"
                                    : "a read outside of a tensor, an overflow of an index or an undecided real number reaches a result";
  d.message = program_.op.empty() ? message : program_.op + ": " + message;
  if (const std::uint32_t place = origin & ~PlaceOfStore; place < program_.places.size()) d.place = program_.places[place];
  d.note(note);
  d.help(store ? "write cast(T, ...) where it shall wrap; the scalar evaluator names the number" : "guard the read with `if`, or say with `else` what stands outside");
  throw Stop{std::move(d), true, output, position};
}

void Runner::check_limits() const {
  if (!limits_.stopped()) return;
  const bool cancelled = limits_.cancelled != nullptr && limits_.cancelled->load(std::memory_order_relaxed);
  stop(ErrorKind::Limit, cancelled ? "evaluation was cancelled" : "evaluation took longer than the time allowed", None);
}

void Runner::need_memory(std::int64_t bytes) const {
  if (bytes > limits_.memory_bytes - memory_)
    stop(ErrorKind::Limit, fmt::format("{} bytes are needed beside {} in use; {} are allowed", bytes, memory_, limits_.memory_bytes), None);
}

void Runner::charge(Cell& cell, std::int64_t bytes) {
  need_memory(bytes);
  memory_ += bytes;
  cell.charged += bytes;
}

void Runner::publish(BufferId b) {
  const Cell& c = buffers_[b];
  BufferView v;
  if (c.tensor) {
    if (c.tensor->type() == ElementType::String) v.texts = c.tensor->strings().data();
    else v.data = c.tensor->data<std::byte>();
  }
  if (c.reals) v.reals = c.reals->data();
  if (c.poison) v.poison = c.poison->data();
  views_[b] = v;
}

void Runner::allocate(BufferId b, const BufferShape& shape) {
  Cell& c = buffers_[b];
  if (c.tensor || c.reals) return;
  const auto count = element_count(shape.extents);
  ensure(count.has_value());
  if (shape.type == ElementType::R) {
    charge(c, *count * static_cast<std::int64_t>(sizeof(Real)));
    c.reals = std::make_shared<std::vector<Real>>(static_cast<std::size_t>(*count));
  } else {
    const ElementType type = shape.type == ElementType::Z ? ElementType::I64 : shape.type;
    charge(c, *count * (type == ElementType::String ? static_cast<std::int64_t>(sizeof(std::string)) : bytes_of(type)));
    c.tensor = Tensor::uninitialized(type, shape.extents);
    if (type != ElementType::String) writable_[b] = c.tensor->writable_bytes().data();
  }
  if (shape.poison) {
    charge(c, *count);
    c.poison = std::make_shared<std::vector<std::uint8_t>>(static_cast<std::size_t>(*count), std::uint8_t{0});
  }
  publish(b);
}

void Runner::release(BufferId b) {
  memory_ -= buffers_[b].charged;
  buffers_[b] = {};
  views_[b] = {};
  writable_[b] = nullptr;
}

int Runner::threads_for(double work) const {
  if (limits_.threads <= 1 || inside_recurrence_) return 1;
  return static_cast<int>(std::clamp(work / options_.work_per_thread, 1.0, static_cast<double>(limits_.threads)));
}

void Runner::parallel(std::int64_t count, double work, const std::function<void(std::int64_t, int)>& task) {
  if (count <= 1 || threads_for(work) <= 1) {
    for (std::int64_t k = 0; k < count; ++k) task(k, 0);
    return;
  }
  if (!pool_) pool_ = std::make_unique<Pool>(limits_.threads);
  pool_->run(count, task);
}

Frame& Runner::frame(const Step& step, int worker, std::int64_t block) {
  auto& list = frames_[&step];
  ensure(static_cast<std::size_t>(worker) < list.size());
  auto& f = list[static_cast<std::size_t>(worker)];
  if (!f || f->block() < block) f = std::make_unique<Frame>(step.tape, program_, views_, variables_, block, options_.instructions, [this] { check_limits(); });
  return *f;
}

std::int64_t Runner::offset_of(const Step& step) const {
  std::int64_t at = 0;
  for (const auto& [v, stride] : step.offset) at += variables_[v] * stride;
  return at;
}

void Runner::run(const Schedule& schedule, const std::function<void(const Check&, bool)>& check) {
  schedule_ = &schedule;
  const std::size_t n = schedule.buffers.size();
  buffers_.assign(n, {});
  views_.assign(n, {});
  writable_.assign(n, nullptr);
  for (std::size_t t = 0; t < cells.size(); ++t) {
    const BufferId b = schedule.of_tensor[t];
    if (b == None || (!cells[t].tensor && !cells[t].reals)) continue;
    buffers_[b] = cells[t];
    buffers_[b].charged = 0;
    publish(b);
  }
  for (const auto& [b, t] : schedule.literals) {
    buffers_[b].tensor = program_.tensor(t).literal;
    publish(b);
  }
  std::size_t next_check = 0;
  const auto run_checks = [&](std::size_t done) {
    for (; next_check < schedule.checks.size() && schedule.checks[next_check].after <= done; ++next_check) {
      const Check& c = schedule.checks[next_check];
      const Cell& cell = buffers_[c.value];
      if (cell.poison && (*cell.poison)[0] != 0) stop_poison(cell, (*cell.poison)[0], "in the condition \"" + c.condition->message + "\"");
      check(c, cell.tensor->at(0) != 0);
    }
  };
  run_checks(0);
  for (std::size_t k = 0; k < schedule.steps.size(); ++k) {
    check_limits();
    step(schedule.steps[k]);
    frames_.clear();
    dots_.clear();
    run_checks(k + 1);
    for (BufferId b : schedule.steps[k].reads)
      if (schedule.last_use[b] <= k) release(b);
  }
  for (std::size_t t = 0; t < cells.size(); ++t)
    if (const BufferId b = schedule.of_tensor[t]; b != None && (buffers_[b].tensor || buffers_[b].reals)) cells[t] = buffers_[b];
}

void Runner::step(const Step& s) {
  if (s.kind == StepKind::Recurrence) return recurrence(s);
  if (s.kind == StepKind::Where) return where(s);
  if (s.kind == StepKind::Alias) return alias(s);
  allocate(s.out, schedule_->buffers[s.out]);
  if (!s.tape.origins.empty()) buffers_[s.out].origins = s.tape.origins;
  switch (s.kind) {
    case StepKind::Map: return map(s);
    case StepKind::Rows: return rows(s);
    case StepKind::Dot: return dot(s);
    case StepKind::Sort: return sort(s);
    case StepKind::Scatter: return scatter(s);
    case StepKind::Where:
    case StepKind::Alias:
    case StepKind::Recurrence: break;
  }
  ensure(false);
}

void Runner::alias(const Step& s) {
  const Cell& from = buffers_[s.source];
  Cell& to = buffers_[s.out];
  const Extents& extents = schedule_->buffers[s.out].extents;
  if (from.tensor) to.tensor = from.tensor->reshaped(extents);
  to.reals = from.reals;
  to.poison = from.poison;
  to.origins = from.origins;
  publish(s.out);
}

// Lanes at once: more than usual where few registers are needed, as long as these stay in the first cache.
std::int64_t Runner::block_of(const Tape& t) const {
  constexpr std::int64_t Cache = 32768, Usual = 1024, Most = 8;
  std::int64_t each = static_cast<std::int64_t>(t.scratch_per_lane);
  for (std::size_t k = 0; k < t.slot_widths.size(); ++k)
    if (!t.slot_uniform[k]) each += t.slot_widths[k];
  std::int64_t block = options_.lanes;
  if (block >= Usual && t.loops.empty() && t.operations.empty()) block *= std::clamp<std::int64_t>(Cache / (block * std::max<std::int64_t>(1, each)), 1, Most);
  return std::min(block, t.lanes);
}

void Runner::map(const Step& s) {
  const Tape& t = s.tape;
  if (t.lanes == 0) return;
  if (!s.spread.empty()) return map_part(s);
  const std::int64_t block = block_of(t);
  const std::int64_t blocks = (t.lanes + block - 1) / block;
  const double work = t.cost * static_cast<double>(t.lanes);
  const int threads = blocks > 1 ? threads_for(work) : 1;
  // Tasks are runs of blocks: enough of them to share, few enough that each is worth its call.
  const std::int64_t tasks = threads == 1 ? 1 : std::min<std::int64_t>(blocks, threads * 8);
  frames_[&s].resize(static_cast<std::size_t>(threads == 1 ? 1 : limits_.threads));
  Cell& cell = buffers_[s.out];
  const RegisterInfo& info = t.registers[t.roots[0].value];
  const std::int64_t base = offset_of(s);
  std::byte* out = writable_[s.out] ? writable_[s.out] + base * info.width : nullptr;
  parallel(tasks, threads == 1 ? 0 : work, [&](std::int64_t task, int worker) {
    Frame& f = frame(s, worker, block);
    for (std::int64_t b = blocks * task / tasks; b < blocks * (task + 1) / tasks; ++b) {
      const std::int64_t start = b * block, count = std::min(block, t.lanes - start);
      if ((b & 15) == 15) check_limits();
      if (info.kind == RegisterClass::Bytes) {
        std::byte* to = out + start * info.width;
        f.redirect(0, to);
        f.run(start, count);
        if (f.value(0) != to) std::memcpy(to, f.value(0), static_cast<std::size_t>(count * info.width));
        f.restore(0);
      } else {
        f.run(start, count);
        if (info.kind == RegisterClass::Real) std::copy_n(f.reals(0).begin(), count, cell.reals->begin() + base + start);
        else std::copy_n(f.texts(0).begin(), count, cell.tensor->writable_strings().begin() + base + start);
      }
      if (const std::uint8_t* p = f.poison(0); p && cell.poison) std::memcpy(cell.poison->data() + base + start, p, static_cast<std::size_t>(count));
    }
  });
}

namespace {

template <class W> void spread_run(std::byte* d, const std::byte* s, std::int64_t step, std::int64_t n) {
  auto* to = reinterpret_cast<W*>(d);
  const auto* from = reinterpret_cast<const W*>(s);
  for (std::int64_t k = 0; k < n; ++k) to[k * step] = from[k];
}
void spread_run(std::byte* d, const std::byte* s, std::int64_t step, std::int64_t n, int width) {
  if (step == 1) {
    std::memcpy(d, s, static_cast<std::size_t>(n * width));
    return;
  }
  switch (width) {
    case 1: return spread_run<std::uint8_t>(d, s, step, n);
    case 2: return spread_run<std::uint16_t>(d, s, step, n);
    case 4: return spread_run<std::uint32_t>(d, s, step, n);
    default: return spread_run<std::uint64_t>(d, s, step, n);
  }
}

}  // namespace

// A part of a tensor: runs of lanes that lie at one step from each other, and rows of such runs.
void Runner::map_part(const Step& s) {
  const Tape& t = s.tape;
  auto axes = s.spread;
  auto [length, step] = axes.back();
  axes.pop_back();
  for (; !axes.empty() && axes.back().second == length * step; axes.pop_back()) length *= axes.back().first;
  const int width = t.registers[t.roots[0].value].width;
  std::byte* out = writable_[s.out] + (offset_of(s) + s.start) * width;
  const std::int64_t block = block_of(t), rows = t.lanes / length;
  // A task is some rows that one block holds, or a block's worth of one row.
  const std::int64_t rows_at_once = std::max<std::int64_t>(1, block / length), pieces = (length + block - 1) / block;
  const std::int64_t units = (rows + rows_at_once - 1) / rows_at_once * pieces;
  const double work = t.cost * static_cast<double>(t.lanes);
  const int threads = units > 1 ? threads_for(work) : 1;
  const std::int64_t tasks = threads == 1 ? 1 : std::min<std::int64_t>(units, threads * 8);
  frames_[&s].resize(static_cast<std::size_t>(threads == 1 ? 1 : limits_.threads));
  const auto place_of = [&](std::int64_t row) {
    std::int64_t at = 0;
    for (std::size_t k = axes.size(); k-- > 0;) {
      at += row % axes[k].first * axes[k].second;
      row /= axes[k].first;
    }
    return at;
  };
  parallel(tasks, threads == 1 ? 0 : work, [&](std::int64_t task, int worker) {
    Frame& f = frame(s, worker, block);
    for (std::int64_t u = units * task / tasks; u < units * (task + 1) / tasks; ++u) {
      if ((u & 15) == 15) check_limits();
      const std::int64_t row = u / pieces * rows_at_once, first = u % pieces * block;
      const std::int64_t some = std::min(rows_at_once, rows - row), count = std::min(block, length - first);
      if (some == 1 && step == 1) {
        std::byte* to = out + (place_of(row) + first) * width;
        f.redirect(0, to);
        f.run(row * length + first, count);
        if (f.value(0) != to) std::memcpy(to, f.value(0), static_cast<std::size_t>(count * width));
        f.restore(0);
        continue;
      }
      f.run(row * length + first, some * count);
      const auto* value = static_cast<const std::byte*>(f.value(0));
      for (std::int64_t r = 0; r < some; ++r) spread_run(out + (place_of(row + r) + first * step) * width, value + r * count * width, step, count, width);
    }
  });
}

void Runner::where(const Step& s) {
  const Cell& condition = buffers_[s.source];
  const auto bytes = condition.tensor->bytes();
  if (condition.poison)
    for (std::uint8_t mark : *condition.poison)
      if (mark != 0) stop_poison(condition, mark, "in the condition of a `where`");
  const auto found = static_cast<std::int64_t>(bytes.size()) - std::count(bytes.begin(), bytes.end(), std::byte{0});
  const auto rank = static_cast<std::int64_t>(s.domain.size());
  Cell& cell = buffers_[s.out];
  charge(cell, found * rank * 8);
  cell.tensor = Tensor::uninitialized(ElementType::I64, {found, rank});
  auto* out = cell.tensor->writable<std::int64_t>();
  std::vector<std::int64_t> at(s.domain.size(), 0);
  std::int64_t turn = 0;
  for (std::byte c : bytes) {
    if ((++turn & 0xfffff) == 0) check_limits();
    if (c != std::byte{0}) out = std::copy(at.begin(), at.end(), out);
    for (std::size_t k = at.size(); k-- > 0;) {
      if (++at[k] < s.domain[k]) break;
      at[k] = 0;
    }
  }
  publish(s.out);
}

void Runner::scatter(const Step& s) {
  Cell& cell = buffers_[s.out];
  const Cell& base = buffers_[s.source];
  const ElementType type = schedule_->buffers[s.out].type;
  const Extents& extents = schedule_->buffers[s.out].extents;
  const std::size_t rank = extents.size();
  if (type == ElementType::R) *cell.reals = *base.reals;
  else if (type == ElementType::String) cell.tensor->writable_strings() = base.tensor->strings();
  else if (cell.tensor->size() != 0) std::memcpy(writable_[s.out], base.tensor->bytes().data(), base.tensor->bytes().size());
  if (cell.poison && base.poison) *cell.poison = *base.poison;
  publish(s.out);
  const Tape& t = s.tape;
  if (t.lanes == 0) return;
  const std::int64_t block = std::min(options_.lanes, t.lanes);
  frames_[&s].resize(1);
  Frame& f = frame(s, 0, block);
  const std::size_t value_root = t.roots.size() - 1;
  const int width = t.registers[t.roots[value_root].value].width;
  using Kind = core::ReduceKind;
  const Kind kind = s.mode == core::ScatterMode::Add ? Kind::Sum : s.mode == core::ScatterMode::Multiply ? Kind::Product : s.mode == core::ScatterMode::Maximum ? Kind::Maximum : Kind::Minimum;
  const bool overwrites = s.mode == core::ScatterMode::Last || s.mode == core::ScatterMode::Any;
  if (!overwrites && width == 0) stop(ErrorKind::Unsupported, "this operation is not available yet for strings or complex numbers", s.place);
  for (std::int64_t start = 0; start < t.lanes; start += block) {
    const std::int64_t count = std::min(block, t.lanes - start);
    check_limits();
    f.run(start, count);
    const auto* keep = s.has_filter ? static_cast<const std::uint8_t*>(f.value(rank)) : nullptr;
    const std::uint8_t* keep_poison = s.has_filter ? f.poison(rank) : nullptr;
    const auto* value = static_cast<const std::byte*>(f.value(value_root));
    const std::uint8_t* value_poison = f.poison(value_root);
    for (std::int64_t k = 0; k < count; ++k) {
      if (keep_poison && keep_poison[k]) stop_poison(cell, keep_poison[k], "in the filter of a scatter");
      if (keep && !keep[k]) continue;
      std::int64_t position = 0;
      for (std::size_t d = 0; d < rank; ++d) {
        if (const std::uint8_t* p = f.poison(d); p && p[k]) stop_poison(cell, p[k], "in an index of a scatter");
        const std::int64_t i = static_cast<const std::int64_t*>(f.value(d))[k];
        if (i < 0 || i >= extents[d]) stop(ErrorKind::Definition, fmt::format("a scatter writes at index {} of axis {}, whose extent is {}", i, d, extents[d]), s.place);
        position = position * extents[d] + i;
      }
      if (cell.poison) {
        auto& mark = (*cell.poison)[static_cast<std::size_t>(position)];
        const std::uint8_t p = value_poison ? value_poison[k] : std::uint8_t{0};
        mark = overwrites || p != 0 ? p : mark;
      }
      if (type == ElementType::R) (*cell.reals)[static_cast<std::size_t>(position)] = f.reals(value_root)[static_cast<std::size_t>(k)];
      else if (type == ElementType::String) cell.tensor->writable_strings()[static_cast<std::size_t>(position)] = f.texts(value_root)[static_cast<std::size_t>(k)];
      else {
        std::byte* to = writable_[s.out] + position * width;
        Bits a = 0, b = 0;
        std::memcpy(&b, value + k * width, static_cast<std::size_t>(width));
        if (!overwrites) {
          std::memcpy(&a, to, static_cast<std::size_t>(width));
          b = combine(kind, type, a, b);
        }
        std::memcpy(to, &b, static_cast<std::size_t>(width));
      }
    }
  }
}

void Runner::recurrence(const Step& s) {
  for (BufferId b : s.members) allocate(b, schedule_->buffers[b]);
  const std::int64_t steps = element_count(s.extents).value_or(std::numeric_limits<std::int64_t>::max());  // then the time will not suffice
  for (VariableId v : s.variables) variables_[v] = 0;
  inside_recurrence_ = true;
  for (std::int64_t k = 0; k < steps; ++k) {
    if ((k & 7) == 0) check_limits();
    for (const Step& inner : s.body) {
      auto& list = frames_[&inner];
      if (!list.empty() && list[0]) list[0]->begin(variables_);
      step(inner);
    }
    for (std::size_t d = s.variables.size(); d-- > 0;) {
      if (++variables_[s.variables[d]] < s.extents[d]) break;
      variables_[s.variables[d]] = 0;
    }
  }
  inside_recurrence_ = false;
}

// --- orders

void Runner::sort(const Step& s) {
  const Tape& t = s.tape;
  if (s.rows == 0 || s.columns == 0) return;
  const std::size_t keys = t.roots.size() - (s.compact ? 1 : 0);
  const std::int64_t block = std::min(options_.lanes, s.columns);
  frames_[&s].resize(1);
  Frame& f = frame(s, 0, block);
  auto* out = reinterpret_cast<std::int64_t*>(writable_[s.out]);
  Cell& cell = buffers_[s.out];
  struct Keys {
    ElementType type;
    int width;
    std::vector<std::byte> bytes;
    std::vector<Real> reals;
    std::vector<std::string> texts;
  };
  std::vector<Keys> columns(keys);
  for (std::size_t k = 0; k < keys; ++k) {
    columns[k].type = t.roots[k].type;
    columns[k].width = t.registers[t.roots[k].value].width;
    columns[k].bytes.resize(static_cast<std::size_t>(s.columns * columns[k].width));
  }
  for (std::int64_t row = 0; row < s.rows; ++row) {
    check_limits();
    std::int64_t valid = 0;
    std::uint8_t mark = 0;
    for (Keys& k : columns) k.reals.clear(), k.texts.clear();
    for (std::int64_t start = 0; start < s.columns; start += block) {
      const std::int64_t count = std::min(block, s.columns - start);
      check_limits_now_and_then(start / block);
      f.run(row * s.columns + start, count);
      std::int64_t here = count;
      if (s.compact) {
        const auto* v = static_cast<const std::uint8_t*>(f.value(keys));
        here = std::count(v, v + count, std::uint8_t{1});
      }
      valid += here;
      for (std::size_t k = 0; k < keys; ++k) {
        Keys& c = columns[k];
        if (c.type == ElementType::R) c.reals.insert(c.reals.end(), f.reals(k).begin(), f.reals(k).begin() + count);
        else if (c.type == ElementType::String) c.texts.insert(c.texts.end(), f.texts(k).begin(), f.texts(k).begin() + count);
        else std::memcpy(c.bytes.data() + start * c.width, f.value(k), static_cast<std::size_t>(count * c.width));
        if (const std::uint8_t* p = f.poison(k))
          for (std::int64_t j = 0; j < here; ++j) mark = mark ? mark : p[j];
      }
    }
    std::int64_t* order = out + row * s.columns;
    std::iota(order, order + s.columns, std::int64_t{0});
    bool undecided = false;
    std::int64_t comparisons = 0;
    const auto order_of = [&](const Keys& c, std::int64_t a, std::int64_t b) -> int {
      const auto x = static_cast<std::size_t>(a), y = static_cast<std::size_t>(b);
      if (c.type == ElementType::R) {
        const auto r = compare(c.reals[x], c.reals[y]);
        if (!r) undecided = true;
        return !r ? 0 : *r < 0 ? -1 : *r > 0 ? 1 : 0;
      }
      if (c.type == ElementType::String) return c.texts[x].compare(c.texts[y]);
      if (c.type == ElementType::Z || c.type == ElementType::I64) {
        const auto* v = reinterpret_cast<const std::int64_t*>(c.bytes.data());
        return v[x] < v[y] ? -1 : v[x] > v[y] ? 1 : 0;
      }
      if (c.type == ElementType::F32) {
        const auto* v = reinterpret_cast<const float*>(c.bytes.data());
        if (v[x] < v[y]) return -1;
        if (v[x] > v[y]) return 1;
        return (v[x] != v[x] ? 1 : 0) - (v[y] != v[y] ? 1 : 0);
      }
      Bits u = 0, w = 0;
      std::memcpy(&u, c.bytes.data() + a * c.width, static_cast<std::size_t>(c.width));
      std::memcpy(&w, c.bytes.data() + b * c.width, static_cast<std::size_t>(c.width));
      return compare_keys(c.type, u, w);
    };
    std::sort(order, order + valid, [&](std::int64_t a, std::int64_t b) {
      if ((++comparisons & 0xffff) == 0) check_limits();
      for (const Keys& c : columns) {
        const int r = order_of(c, a, b);
        if (r != 0) return s.descending ? r > 0 : r < 0;
      }
      return a < b;  // stable
    });
    if (undecided) stop(ErrorKind::Limit, "the order of real numbers is undecided", s.place);
    if (cell.poison) std::fill_n(cell.poison->begin() + row * s.columns, s.columns, mark);
  }
}

}  // namespace ulpian::interp::block
