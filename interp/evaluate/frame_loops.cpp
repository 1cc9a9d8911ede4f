// Reductions and folds whose leaves come one after another, every lane of the block its own.
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>

#include "interp/evaluate/frame.h"
#include "spec/numbers/host.h"

namespace ulpian::interp::block {
namespace {

using core::ReduceKind;

Bits load(const std::byte* p, std::int64_t k, int width) {
  Bits bits = 0;
  std::memcpy(&bits, p + k * width, static_cast<std::size_t>(width));
  return bits;
}
void store(std::byte* p, std::int64_t k, int width, Bits bits) { std::memcpy(p + k * width, &bits, static_cast<std::size_t>(width)); }

int width_of(ElementType t) { return t == ElementType::Z ? 8 : bytes_of(t); }

void fill(std::byte* d, Bits bits, int width, std::int64_t n) {
  for (std::int64_t k = 0; k < n; ++k) store(d, k, width, bits);
}

}  // namespace

// What leaves no trace when combined: -0 for a sum of floats (x + -0 is x for every x), 1 for a product, the neutral value of a maximum.
Bits absorbed(ReduceKind kind, ElementType type) {
  if ((kind == ReduceKind::Sum || kind == ReduceKind::Dot) && is_float(type)) {
    const Bits zero[1] = {0};
    return apply(Primitive::Negate, type, zero);
  }
  if (type == ElementType::Z) return kind == ReduceKind::Product ? 1 : kind == ReduceKind::Maximum ? Bits{1} << 63 : kind == ReduceKind::Minimum ? ~Bits{0} >> 1 : 0;
  return neutral(kind, type);
}

Primitive combiner(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::Sum:
    case ReduceKind::Dot:
    case ReduceKind::Count: return Primitive::Add;
    case ReduceKind::Product: return Primitive::Multiply;
    case ReduceKind::Maximum: return Primitive::Maximum;
    case ReduceKind::Minimum: return Primitive::Minimum;
    case ReduceKind::Any: return Primitive::Or;
    case ReduceKind::All: return Primitive::And;
    case ReduceKind::ArgMax:
    case ReduceKind::ArgMin: break;
  }
  ensure(false);
}

void Frame::combine_lanes(const Loop& l, std::byte* d, const std::byte* a, const std::byte* b, std::int64_t n) const {
  if (const Kernel k = kernels_.primitive(combiner(l.kind), l.type)) {
    k(d, a, b, nullptr, n);
    return;
  }
  const int width = width_of(l.type);
  for (std::int64_t j = 0; j < n; ++j) store(d, j, width, combine(l.kind, l.type, load(a, j, width), load(b, j, width)));
}

template <class F> void Frame::for_each_leaf(const Loop& l, F&& f) {
  const std::int64_t leaves = element_count(l.extents).value_or(std::numeric_limits<std::int64_t>::max());  // then the time will not suffice
  if (leaves == 0) return;
  for (std::uint16_t s : l.slots) uniforms_[s] = 0;
  for (std::int64_t position = 0; position < leaves; ++position) {
    execute(l.body);
    f(position);
    // Exact numbers may be long.
    if (++leaves_ % 64 == 0 || l.type == ElementType::R) check_();
    for (std::size_t k = l.slots.size(); k-- > 0;) {
      if (++uniforms_[l.slots[k]] < l.extents[k]) break;
      uniforms_[l.slots[k]] = 0;
    }
  }
}

void Frame::loop(const Loop& l) {
  const std::int64_t n = count_of(l.uniform);
  if (l.out_poison != NoRegister) {
    auto* mark = own<std::uint8_t>(l.out_poison);
    if (l.initial_poison != NoRegister) std::memcpy(mark, get<std::uint8_t>(l.initial_poison), static_cast<std::size_t>(n));
    else std::memset(mark, 0, static_cast<std::size_t>(n));
  }
  const std::int64_t leaves = element_count(l.extents).value_or(std::numeric_limits<std::int64_t>::max());
  if (l.fold) fold_loop(l);
  else if (l.type == ElementType::R) real_loop(l);
  else if (l.kind == ReduceKind::Dot) dot_loop(l, leaves);
  else if (l.kind == ReduceKind::ArgMax || l.kind == ReduceKind::ArgMin) arg_loop(l, leaves);
  else reduce_loop(l);
}

// A leaf's poison counts where its filter holds; the filter's own always.
void Frame::loop_poison(const Loop& l, std::int64_t n) {
  if (l.out_poison == NoRegister) return;
  auto* mark = reinterpret_cast<std::uint8_t*>(storage_[l.out_poison]);
  if (l.filter_poison != NoRegister) {
    const auto* p = get<std::uint8_t>(l.filter_poison);
    for (std::int64_t k = 0; k < n; ++k) mark[k] = mark[k] ? mark[k] : p[k];
  }
  if (l.body_poison == NoRegister) return;
  const auto* p = get<std::uint8_t>(l.body_poison);
  const auto* keep = l.filter == NoRegister ? nullptr : get<std::uint8_t>(l.filter);
  for (std::int64_t k = 0; k < n; ++k) mark[k] = mark[k] ? mark[k] : !keep || keep[k] ? p[k] : std::uint8_t{0};
}

const std::byte* Frame::filtered(const Loop& l, const std::byte* value, Bits otherwise, std::byte* scratch, std::int64_t n) const {
  if (l.filter == NoRegister) return value;
  const int width = width_of(l.type);
  const auto* keep = get<std::uint8_t>(l.filter);
  for (std::int64_t k = 0; k < n; ++k) store(scratch, k, width, keep[k] ? load(value, k, width) : otherwise);
  return scratch;
}

// The left-full pairwise tree is a binary counter of finished partial results: level k holds that of the last 2^k leaves.
void Frame::reduce_loop(const Loop& l) {
  const std::int64_t n = count_of(l.uniform);
  const int width = width_of(l.type);
  const auto bytes = static_cast<std::size_t>(n * width);
  const auto stride = static_cast<std::size_t>((block_ + 63) / 64 * 64 * 8);
  std::byte* scratch = scratch_ + l.scratch * static_cast<std::size_t>((block_ + 63) / 64 * 64);
  std::byte* leaf = scratch;
  std::byte* seen = scratch + stride;
  std::byte* temporary = scratch + 2 * stride;
  std::byte* levels = scratch + 3 * stride;
  auto* out = own<std::byte>(l.out);
  if (l.kind == ReduceKind::Count) {
    auto* sum = reinterpret_cast<std::int64_t*>(out);
    std::memset(out, 0, bytes);
    for_each_leaf(l, [&](std::int64_t) {
      const auto* keep = l.filter == NoRegister ? nullptr : get<std::uint8_t>(l.filter);
      for (std::int64_t k = 0; k < n; ++k) sum[k] += keep ? keep[k] : 1;
      loop_poison(l, n);
    });
    return;
  }
  const bool tree = l.kind == ReduceKind::Sum || l.kind == ReduceKind::Product;
  const bool watch = l.kind == ReduceKind::Sum && l.filter != NoRegister;
  const Bits none = absorbed(l.kind, l.type);
  if (watch) std::memset(seen, 0, static_cast<std::size_t>(n));
  if (!tree) fill(out, none, width, n);
  std::uint64_t count = 0;
  const auto level = [&](int k) { return levels + static_cast<std::size_t>(k) * stride; };
  // Takes the finished result of 2^k leaves, after a multiple of so many.
  const auto take = [&](const std::byte* value, int k) {
    const std::uint64_t leaves = std::uint64_t{1} << k;
    const int from = k;
    for (; (count >> k & 1) != 0; ++k) {
      std::byte* to = (count >> (k + 1) & 1) != 0 ? temporary : level(k + 1);
      combine_lanes(l, to, level(k), value, n);
      value = to;
    }
    if (k == from && value != level(k)) std::memcpy(level(k), value, bytes);
    count += leaves;
  };
  // A tensor's own bytes stay as they are, unlike registers, which the next leaf overwrites: such leaves wait for each other, and are added without
  // storing what lies between.
  const EightKernel eight = l.kind == ReduceKind::Sum ? kernels_.eight(l.type) : nullptr;
  std::array<const void*, 8> waiting{};
  std::size_t waits = 0;
  const auto take_waiting = [&] {
    for (std::size_t k = 0; k < waits; ++k) take(static_cast<const std::byte*>(waiting[k]), 0);
    waits = 0;
  };
  for_each_leaf(l, [&](std::int64_t) {
    const std::byte* value = filtered(l, current_[l.value], none, leaf, n);
    if (watch) {
      const auto* keep = get<std::uint8_t>(l.filter);
      for (std::int64_t k = 0; k < n; ++k) seen[k] |= static_cast<std::byte>(keep[k]);
    }
    loop_poison(l, n);
    if (!tree) {
      combine_lanes(l, out, out, value, n);
    } else if (eight == nullptr || value == leaf || value == storage_[l.value] || count % 8 != 0) {
      take_waiting();
      take(value, 0);
    } else {
      waiting[waits++] = value;
      if (waits < waiting.size()) return;
      std::byte* to = (count >> 3 & 1) != 0 ? temporary : level(3);
      eight(to, waiting.data(), n);
      take(to, 3);
      waits = 0;
    }
  });
  take_waiting();
  if (tree) {
    const std::byte* value = nullptr;
    for (int k = 0; (count >> k) != 0; ++k) {
      if ((count >> k & 1) == 0) continue;
      if (value == nullptr) {
        value = level(k);
      } else {
        combine_lanes(l, temporary, level(k), value, n);
        value = temporary;
      }
    }
    if (value) std::memcpy(out, value, bytes);
    else fill(out, l.kind == ReduceKind::Product ? none : 0, width, n);
    if (watch)
      for (std::int64_t k = 0; k < n; ++k)
        if (seen[k] == std::byte{0}) store(out, k, width, 0);
  }
  if (l.initial != NoRegister) combine_lanes(l, out, current_[l.initial], out, n);
}

// Chains of fused multiply-adds over blocks of positions; the partial results are added in the left-full tree. A block without terms
// counts as nothing: -0 for floats, unless there are no terms at all.
void Frame::dot_loop(const Loop& l, std::int64_t leaves) {
  const std::int64_t n = count_of(l.uniform);
  const int width = width_of(l.type);
  const auto bytes = static_cast<std::size_t>(n * width);
  const auto stride = static_cast<std::size_t>((block_ + 63) / 64 * 64 * 8);
  std::byte* scratch = scratch_ + l.scratch * static_cast<std::size_t>((block_ + 63) / 64 * 64);
  std::byte* sum = scratch;          // of the block at work
  std::byte* step = scratch + stride;
  auto* some = reinterpret_cast<std::uint8_t*>(scratch + 2 * stride);   // terms in this block
  auto* any = some + n;                                                 // terms at all; the stride leaves room for both
  std::byte* temporary = scratch + 3 * stride;
  std::byte* levels = scratch + 4 * stride;
  auto* out = own<std::byte>(l.out);
  const Kernel fused = kernels_.multiply_add(l.type);
  const Bits none = absorbed(ReduceKind::Dot, l.type);
  const auto level = [&](int k) { return levels + static_cast<std::size_t>(k) * stride; };
  std::uint64_t count = 0;
  const auto start = [&](bool first) {
    if (first && l.initial != NoRegister) std::memcpy(sum, current_[l.initial], bytes);
    else std::memset(sum, 0, bytes);
    std::memset(some, first && l.initial != NoRegister ? 1 : 0, static_cast<std::size_t>(n));
  };
  const auto finish = [&] {
    for (std::int64_t k = 0; k < n; ++k) {
      any[k] |= some[k];
      if (!some[k]) store(sum, k, width, none);
    }
    const std::byte* value = sum;
    int k = 0;
    for (; (count >> k & 1) != 0; ++k) {
      std::byte* to = (count >> (k + 1) & 1) != 0 ? temporary : level(k + 1);
      combine_lanes(l, to, level(k), value, n);
      value = to;
    }
    if (k == 0) std::memcpy(level(0), value, bytes);
    ++count;
  };
  std::memset(any, 0, static_cast<std::size_t>(n));
  start(true);
  for_each_leaf(l, [&](std::int64_t position) {
    if (position > 0 && position % tape_.dot_block == 0) {
      finish();
      start(false);
    }
    const std::byte* a = current_[l.value];
    const std::byte* b = current_[l.second];
    const auto* keep = l.filter == NoRegister ? nullptr : get<std::uint8_t>(l.filter);
    if (fused && !keep) {
      fused(sum, a, b, sum, n);
    } else if (fused) {
      fused(step, a, b, sum, n);
      for (std::int64_t k = 0; k < n; ++k)
        if (keep[k]) store(sum, k, width, load(step, k, width));
    } else {
      for (std::int64_t k = 0; k < n; ++k)
        if (!keep || keep[k]) store(sum, k, width, fused_multiply_add(l.type, load(a, k, width), load(b, k, width), load(sum, k, width)));
    }
    if (keep) for (std::int64_t k = 0; k < n; ++k) some[k] |= keep[k];
    else if (position % tape_.dot_block == 0) std::memset(some, 1, static_cast<std::size_t>(n));
    loop_poison(l, n);
  });
  (void)leaves;
  finish();
  const std::byte* value = nullptr;
  for (int k = 0; (count >> k) != 0; ++k) {
    if ((count >> k & 1) == 0) continue;
    if (value) {
      combine_lanes(l, temporary, level(k), value, n);
      value = temporary;
    } else {
      value = level(k);
    }
  }
  std::memcpy(out, value, bytes);
  for (std::int64_t k = 0; k < n; ++k)
    if (!any[k]) store(out, k, width, 0);
}

void Frame::arg_loop(const Loop& l, std::int64_t) {
  const std::int64_t n = count_of(l.uniform);
  const RegisterInfo& info = tape_.registers[l.value];
  const int width = info.width;
  const auto stride = static_cast<std::size_t>((block_ + 63) / 64 * 64 * 8);
  std::byte* scratch = scratch_ + l.scratch * static_cast<std::size_t>((block_ + 63) / 64 * 64);
  std::byte* best = scratch;
  auto* seen = reinterpret_cast<std::uint8_t*>(scratch + stride);
  auto* out = own<std::int64_t>(l.out);
  std::memset(out, 0, static_cast<std::size_t>(n) * 8);
  std::memset(seen, 0, static_cast<std::size_t>(n));
  const auto typed = [&]<ElementType T>() {
    using S = Storage<T>;
    auto* b = reinterpret_cast<S*>(best);
    for_each_leaf(l, [&](std::int64_t position) {
      const auto* x = get<S>(l.value);
      const auto* keep = l.filter == NoRegister ? nullptr : get<std::uint8_t>(l.filter);
      const bool greatest = l.kind == ReduceKind::ArgMax;
      for (std::int64_t k = 0; k < n; ++k) {
        const auto u = host::value_of<T>(x[k]);
        const auto v = host::value_of<T>(b[k]);
        const bool better = (greatest ? u > v : u < v) | ((u != u) & (v == v));
        const bool take = (!keep || keep[k]) && (!seen[k] || better);
        out[k] = take ? position : out[k];
        b[k] = take ? x[k] : b[k];
        seen[k] |= take ? 1 : 0;
      }
      loop_poison(l, n);
    });
  };
  std::memset(best, 0, static_cast<std::size_t>(n * width));
  const ElementType of = l.body_type;
  if (of == ElementType::F32) return typed.template operator()<ElementType::F32>();
  if (of == ElementType::F64) return typed.template operator()<ElementType::F64>();
  if (of == ElementType::I32) return typed.template operator()<ElementType::I32>();
  if (of == ElementType::I64 || of == ElementType::Z) return typed.template operator()<ElementType::I64>();
  if (of == ElementType::U8) return typed.template operator()<ElementType::U8>();
  if (of == ElementType::F16) return typed.template operator()<ElementType::F16>();
  for_each_leaf(l, [&](std::int64_t position) {
    const std::byte* x = current_[l.value];
    const auto* keep = l.filter == NoRegister ? nullptr : get<std::uint8_t>(l.filter);
    for (std::int64_t k = 0; k < n; ++k) {
      if (keep && !keep[k]) continue;
      if (seen[k] && !beats(l.kind, of, load(x, k, width), load(best, k, width))) continue;
      seen[k] = 1;
      out[k] = position;
      store(best, k, width, load(x, k, width));
    }
    loop_poison(l, n);
  });
}

// Sums, products, extremes of exact reals.
void Frame::real_loop(const Loop& l) {
  const std::int64_t n = count_of(l.uniform);
  std::vector<Real>& out = reals_[tape_.registers[l.out].slot];
  std::vector<std::uint8_t> seen(static_cast<std::size_t>(n), 0);
  auto* mark = l.out_poison == NoRegister ? nullptr : reinterpret_cast<std::uint8_t*>(storage_[l.out_poison]);
  const auto take = [&](std::size_t k, std::optional<Real> value) {
    if (!value && mark) mark[k] = mark[k] ? mark[k] : l.origin;
    out[k] = value ? std::move(*value) : Real();
  };
  const Primitive p = combiner(l.kind);
  for (std::int64_t k = 0; k < n; ++k) {
    const auto j = static_cast<std::size_t>(k);
    out[j] = l.kind == ReduceKind::Product ? Real(1) : l.kind == ReduceKind::Maximum ? Real(Exact::infinity(true)) : l.kind == ReduceKind::Minimum ? Real(Exact::infinity(false)) : Real();
  }
  for_each_leaf(l, [&](std::int64_t) {
    const std::vector<Real>& x = reals_[tape_.registers[l.value].slot];
    const auto* keep = l.filter == NoRegister ? nullptr : get<std::uint8_t>(l.filter);
    for (std::size_t k = 0; k < static_cast<std::size_t>(n); ++k) {
      if (keep && !keep[k]) continue;
      std::optional<Real> value = x[k];
      if (l.kind == ReduceKind::Dot) {
        const Real factors[2] = {x[k], reals_[tape_.registers[l.second].slot][k]};
        value = real_primitive(Primitive::Multiply, factors);
      }
      if (seen[k] && value) {
        const Real both[2] = {out[k], *value};
        value = real_primitive(p, both);
      }
      seen[k] = 1;
      take(k, std::move(value));
    }
    loop_poison(l, n);
  });
  if (l.initial == NoRegister) return;
  for (std::size_t k = 0; k < static_cast<std::size_t>(n); ++k) {
    const Real both[2] = {reals_[tape_.registers[l.initial].slot][k], out[k]};
    take(k, seen[k] ? real_primitive(p, both) : std::optional(both[0]));
  }
}

void Frame::fold_loop(const Loop& l) {
  const std::int64_t n = count_of(l.uniform);
  const RegisterInfo& info = tape_.registers[l.out];
  const auto move = [&](Register to, Register from) {
    if (info.kind == RegisterClass::Real) {
      reals_[tape_.registers[to].slot] = reals_[tape_.registers[from].slot];
    } else if (info.kind == RegisterClass::Text) {
      texts_[tape_.registers[to].slot] = texts_[tape_.registers[from].slot];
    } else {
      const std::byte* source = current_[from];
      std::memmove(own<std::byte>(to), source, static_cast<std::size_t>(n * info.width));
    }
  };
  move(l.accumulator, l.initial);
  for_each_leaf(l, [&](std::int64_t) {
    move(l.accumulator, l.value);
    if (l.accumulator_poison == NoRegister) return;
    auto* mark = own<std::uint8_t>(l.accumulator_poison);
    if (l.body_poison == NoRegister) std::memset(mark, 0, static_cast<std::size_t>(n));
    else std::memmove(mark, current_[l.body_poison], static_cast<std::size_t>(n));
  });
  move(l.out, l.accumulator);
}

}  // namespace ulpian::interp::block
