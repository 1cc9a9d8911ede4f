// The typed loops, compiled once per level of vector instructions: each file that includes this defines ULPIAN_TARGET (the attribute that
// allows the instructions), ULPIAN_KERNELS (the name of the table) and ULPIAN_HAS_FMA. Nothing here may be visible outside its file.
#include <bit>
#include <limits>
#include <type_traits>

#include "interp/evaluate/kernels.h"
#include "spec/numbers/host.h"

#if defined(__clang__)
#define ULPIAN_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define ULPIAN_INDEPENDENT _Pragma("GCC ivdep")
#endif
#define ULPIAN_INLINE [[gnu::always_inline]] static inline

namespace ulpian::interp::block {
namespace {

using Type = ElementType;
using P = Primitive;

template <class F> using WordOf = std::conditional_t<sizeof(F) == 4, std::uint32_t, std::uint64_t>;

// A select between floating-point results by masks, which every compiler vectorises.
template <class F> ULPIAN_INLINE F pick(bool c, F a, F b) {
  using U = WordOf<F>;
  const U m = static_cast<U>(0 - static_cast<U>(c));
  return std::bit_cast<F>(static_cast<U>((std::bit_cast<U>(a) & m) | (std::bit_cast<U>(b) & ~m)));
}
template <class F> ULPIAN_INLINE F settle(F x) { return pick(x == x, x, std::numeric_limits<F>::quiet_NaN()); }

// How elements of a type are loaded, computed with and stored.
template <Type T> struct Lane {
  using Stored = Storage<T>;
  static constexpr bool Float = host::is_float_type(T);
  static constexpr bool Narrow = host::is_narrow_float(T);
  using Computed = typename HostType<T>::Arithmetic;
  ULPIAN_INLINE Computed load(Stored s) {
    if constexpr (Narrow) return static_cast<Computed>(host::value_of<T>(s));
    else return s;
  }
  ULPIAN_INLINE Stored store(Computed x) {
    if constexpr (Narrow) return host::round_to<T>(x);
    else if constexpr (Float) return settle(x);
    else return x;
  }
};

template <P Operation, class V> ULPIAN_INLINE V compute(V a, V b) {
  if constexpr (std::is_floating_point_v<V>) {
    if constexpr (Operation == P::Add) return a + b;
    else if constexpr (Operation == P::Subtract) return a - b;
    else if constexpr (Operation == P::Multiply) return a * b;
    else if constexpr (Operation == P::Divide) return a / b;
    else if constexpr (Operation == P::Negate) return -a;
    else if constexpr (Operation == P::Absolute) return sizeof(V) == 4 ? static_cast<V>(__builtin_fabsf(static_cast<float>(a))) : static_cast<V>(__builtin_fabs(a));
    else if constexpr (Operation == P::Reciprocal) return V{1} / a;
    else if constexpr (Operation == P::SquareRoot) return sizeof(V) == 4 ? static_cast<V>(__builtin_sqrtf(static_cast<float>(a))) : static_cast<V>(__builtin_sqrt(a));
    else if constexpr (Operation == P::Floor) return sizeof(V) == 4 ? static_cast<V>(__builtin_floorf(static_cast<float>(a))) : static_cast<V>(__builtin_floor(a));
    else if constexpr (Operation == P::Ceiling) return sizeof(V) == 4 ? static_cast<V>(__builtin_ceilf(static_cast<float>(a))) : static_cast<V>(__builtin_ceil(a));
    else if constexpr (Operation == P::Truncate) return sizeof(V) == 4 ? static_cast<V>(__builtin_truncf(static_cast<float>(a))) : static_cast<V>(__builtin_trunc(a));
    else if constexpr (Operation == P::RoundEven) return sizeof(V) == 4 ? static_cast<V>(__builtin_nearbyintf(static_cast<float>(a))) : static_cast<V>(__builtin_nearbyint(a));
    else {
      static_assert(Operation == P::Minimum || Operation == P::Maximum);
      // NaN wins; of two zeros the greater is +0: equal numbers differ in the sign of zero only, which one bit operation decides.
      using U = WordOf<V>;
      const bool first = Operation == P::Maximum ? a > b : a < b;
      const U x = std::bit_cast<U>(a), y = std::bit_cast<U>(b);
      const V equal = std::bit_cast<V>(static_cast<U>(Operation == P::Maximum ? x & y : x | y));
      const V r = pick(a == b, equal, pick(first, a, b));
      return pick((a == a) & (b == b), r, std::numeric_limits<V>::quiet_NaN());
    }
  } else {
    using U = std::make_unsigned_t<V>;
    using W = std::conditional_t<(sizeof(V) < 4), unsigned, U>;  // no promotion to signed int, whose products may overflow
    if constexpr (Operation == P::Add) return static_cast<V>(static_cast<W>(static_cast<U>(a)) + static_cast<U>(b));
    else if constexpr (Operation == P::Subtract) return static_cast<V>(static_cast<W>(static_cast<U>(a)) - static_cast<U>(b));
    else if constexpr (Operation == P::Multiply) return static_cast<V>(static_cast<W>(static_cast<U>(a)) * static_cast<U>(b));
    else if constexpr (Operation == P::Negate) return static_cast<V>(W{0} - static_cast<U>(a));
    else if constexpr (Operation == P::Absolute) return a < 0 ? static_cast<V>(W{0} - static_cast<U>(a)) : a;
    else if constexpr (Operation == P::Minimum) return a < b ? a : b;
    else if constexpr (Operation == P::Maximum) return a > b ? a : b;
    else if constexpr (Operation == P::BitAnd) return static_cast<V>(a & b);
    else if constexpr (Operation == P::BitOr) return static_cast<V>(a | b);
    else if constexpr (Operation == P::BitXor) return static_cast<V>(a ^ b);
    else if constexpr (Operation == P::BitNot) return static_cast<V>(~a);
    else {
      // x / 0 is 0, x mod 0 is x; MIN / -1 wraps.
      constexpr bool Rest = Operation == P::Modulo || Operation == P::Remainder;
      constexpr bool Floors = (Operation == P::Modulo || Operation == P::FloorDivide) && std::is_signed_v<V>;
      if (b == 0) return Rest ? a : V{0};
      if constexpr (std::is_signed_v<V>)
        if (b == -1) return Rest ? V{0} : static_cast<V>(W{0} - static_cast<U>(a));
      const V q = static_cast<V>(a / b), r = static_cast<V>(a % b);
      const bool off = Floors && r != 0 && (r < 0) != (b < 0);
      return Rest ? static_cast<V>(off ? r + b : r) : static_cast<V>(off ? q - 1 : q);
    }
  }
}

template <Type T, P Operation> ULPIAN_TARGET void binary(void* d, const void* a, const void* b, const void*, std::int64_t n) {
  using L = Lane<T>;
  auto* out = static_cast<typename L::Stored*>(d);
  const auto* x = static_cast<const typename L::Stored*>(a);
  const auto* y = static_cast<const typename L::Stored*>(b);
  ULPIAN_INDEPENDENT
  for (std::int64_t i = 0; i < n; ++i) out[i] = L::store(compute<Operation>(L::load(x[i]), L::load(y[i])));
}

template <Type T, P Operation> ULPIAN_TARGET void unary(void* d, const void* a, const void*, const void*, std::int64_t n) {
  using L = Lane<T>;
  auto* out = static_cast<typename L::Stored*>(d);
  const auto* x = static_cast<const typename L::Stored*>(a);
  ULPIAN_INDEPENDENT
  for (std::int64_t i = 0; i < n; ++i) {
    const auto v = L::load(x[i]);
    out[i] = L::store(compute<Operation>(v, v));
  }
}

template <Type T, P Operation> ULPIAN_TARGET void compare(void* d, const void* a, const void* b, const void*, std::int64_t n) {
  using L = Lane<T>;
  auto* out = static_cast<std::uint8_t*>(d);
  const auto* x = static_cast<const typename L::Stored*>(a);
  const auto* y = static_cast<const typename L::Stored*>(b);
  ULPIAN_INDEPENDENT
  for (std::int64_t i = 0; i < n; ++i) {
    const auto u = L::load(x[i]);
    const auto v = L::load(y[i]);
    bool r = false;
    if constexpr (Operation == P::Equal) r = u == v;
    else if constexpr (Operation == P::NotEqual) r = u != v;
    else if constexpr (Operation == P::Less) r = u < v;
    else if constexpr (Operation == P::LessEqual) r = u <= v;
    else if constexpr (Operation == P::Greater) r = u > v;
    else r = u >= v;
    out[i] = r ? 1 : 0;
  }
}

template <Type T, P Operation> ULPIAN_TARGET void classify(void* d, const void* a, const void*, const void*, std::int64_t n) {
  using L = Lane<T>;
  auto* out = static_cast<std::uint8_t*>(d);
  const auto* x = static_cast<const typename L::Stored*>(a);
  ULPIAN_INDEPENDENT
  for (std::int64_t i = 0; i < n; ++i) {
    const auto v = L::load(x[i]);
    if constexpr (!L::Float) out[i] = 0;
    else if constexpr (Operation == P::IsNan) out[i] = v != v ? 1 : 0;
    else out[i] = compute<P::Absolute>(v, v) == std::numeric_limits<typename L::Computed>::infinity() ? 1 : 0;
  }
}

template <P Operation> ULPIAN_TARGET void logic(void* d, const void* a, const void* b, const void*, std::int64_t n) {
  auto* out = static_cast<std::uint8_t*>(d);
  const auto* x = static_cast<const std::uint8_t*>(a);
  const auto* y = static_cast<const std::uint8_t*>(b);
  ULPIAN_INDEPENDENT
  for (std::int64_t i = 0; i < n; ++i) {
    if constexpr (Operation == P::And) out[i] = x[i] & y[i];
    else if constexpr (Operation == P::Or) out[i] = x[i] | y[i];
    else out[i] = x[i] ^ 1;
  }
}

template <Type From, Type To, CastMode Mode> ULPIAN_TARGET void cast_loop(void* d, const void* a, const void*, const void*, std::int64_t n) {
  auto* out = static_cast<Storage<To>*>(d);
  const auto* x = static_cast<const Storage<From>*>(a);
  ULPIAN_INDEPENDENT
  for (std::int64_t i = 0; i < n; ++i) out[i] = host::convert<From, To, Mode>(x[i]);
}

template <class W> ULPIAN_TARGET void select_loop(void* d, const void* a, const void* b, const void* c, std::int64_t n) {
  auto* out = static_cast<W*>(d);
  const auto* condition = static_cast<const std::uint8_t*>(a);
  const auto* x = static_cast<const W*>(b);
  const auto* y = static_cast<const W*>(c);
  ULPIAN_INDEPENDENT
  for (std::int64_t i = 0; i < n; ++i) out[i] = condition[i] != 0 ? x[i] : y[i];
}

template <class W> ULPIAN_TARGET void broadcast_loop(void* d, const void* a, const void*, const void*, std::int64_t n) {
  auto* out = static_cast<W*>(d);
  const W x = *static_cast<const W*>(a);
  for (std::int64_t i = 0; i < n; ++i) out[i] = x;
}

template <Type T> ULPIAN_INLINE Storage<T> fused(Storage<T> a, Storage<T> b, Storage<T> c) {
  if constexpr (T == Type::F32) {
#if ULPIAN_HAS_FMA
    return __builtin_fmaf(a, b, c);
#else
    // The product is exact in f64. The sum is rounded to odd, so that rounding it once more to f32 is the only rounding that shows.
    const double p = static_cast<double>(a) * static_cast<double>(b), z = static_cast<double>(c);
    const double s = p + z, bb = s - p;
    const double rest = (p - (s - bb)) + (z - bb);
    const auto bits = std::bit_cast<std::uint64_t>(s);
    const bool inexact = (rest > 0) | (rest < 0);
    const bool even = (bits & 1) == 0;
    const bool away = (rest > 0) == (s > 0);
    const std::uint64_t step = (inexact & even) ? (away ? std::uint64_t{1} : ~std::uint64_t{0}) : std::uint64_t{0};
    return static_cast<float>(std::bit_cast<double>(bits + step));
#endif
  } else if constexpr (T == Type::F64) {
    return __builtin_fma(a, b, c);
  } else {
    return compute<P::Add>(compute<P::Multiply>(a, b), c);
  }
}

template <Type T> ULPIAN_TARGET void multiply_add_loop(void* d, const void* a, const void* b, const void* c, std::int64_t n) {
  auto* out = static_cast<Storage<T>*>(d);
  const auto* x = static_cast<const Storage<T>*>(a);
  const auto* y = static_cast<const Storage<T>*>(b);
  const auto* z = static_cast<const Storage<T>*>(c);
  ULPIAN_INDEPENDENT
  for (std::int64_t i = 0; i < n; ++i) {
    const Storage<T> r = fused<T>(x[i], y[i], z[i]);
    if constexpr (host::is_float_type(T)) out[i] = settle(r);
    else out[i] = r;
  }
}

// Vectors of 32 bytes, whatever the level; where registers are shorter, compilers take several.
template <class F> struct InVectors {
  static constexpr std::int64_t Lanes = 0;  // none
};
template <> struct InVectors<float> {
  typedef float Vector __attribute__((vector_size(32)));
  typedef float Anywhere __attribute__((vector_size(32), aligned(4), may_alias));
  static constexpr std::int64_t Lanes = 8;
};
template <> struct InVectors<double> {
  typedef double Vector __attribute__((vector_size(32)));
  typedef double Anywhere __attribute__((vector_size(32), aligned(8), may_alias));
  static constexpr std::int64_t Lanes = 4;
};

// Some levels of the tree at once, in registers: of `groups` times Lanes * Lanes leaves, one sum of each Lanes. Neighbours are added within halves of
// vectors as long as there are some, and the halves at the end, which leaves the sums in order. NaN is not settled: sums make no number of it.
template <class F> ULPIAN_TARGET void sum_groups(F* d, const F* a, std::int64_t groups) {
  using V = InVectors<F>;
  typename V::Vector x[V::Lanes];
  for (std::int64_t g = 0; g < groups; ++g, a += V::Lanes * V::Lanes, d += V::Lanes) {
#pragma GCC unroll 8
    for (int k = 0; k < V::Lanes; ++k) x[k] = reinterpret_cast<const typename V::Anywhere*>(a)[k];
    if constexpr (V::Lanes == 8) {
#pragma GCC unroll 2
      for (int n = 4; n > 1; n /= 2)
#pragma GCC unroll 4
        for (int k = 0; k < n; ++k)
          x[k] = __builtin_shufflevector(x[2 * k], x[2 * k + 1], 0, 2, 8, 10, 4, 6, 12, 14) + __builtin_shufflevector(x[2 * k], x[2 * k + 1], 1, 3, 9, 11, 5, 7, 13, 15);
      x[0] = __builtin_shufflevector(x[0], x[1], 0, 1, 2, 3, 8, 9, 10, 11) + __builtin_shufflevector(x[0], x[1], 4, 5, 6, 7, 12, 13, 14, 15);
    } else {
      for (int k = 0; k < 2; ++k) x[k] = __builtin_shufflevector(x[2 * k], x[2 * k + 1], 0, 4, 2, 6) + __builtin_shufflevector(x[2 * k], x[2 * k + 1], 1, 5, 3, 7);
      x[0] = __builtin_shufflevector(x[0], x[1], 0, 1, 4, 5) + __builtin_shufflevector(x[0], x[1], 2, 3, 6, 7);
    }
    *reinterpret_cast<typename V::Anywhere*>(d) = x[0];
  }
}

template <Type T, P Operation> ULPIAN_TARGET void tree_loop(void* p, const void* q, std::int64_t n) {
  using L = Lane<T>;
  auto* d = static_cast<typename L::Stored*>(p);
  const auto* a = static_cast<const typename L::Stored*>(q);
  if (n == 1) d[0] = a[0];
  if constexpr (constexpr std::int64_t Lanes = InVectors<typename L::Stored>::Lanes; Operation == P::Add && Lanes != 0) {
    while (n >= Lanes) {
      const std::int64_t groups = n / (Lanes * Lanes);
      sum_groups(d, a, groups);
      std::int64_t done = groups * Lanes, first = done * Lanes;
      for (; first + Lanes <= n; first += Lanes, ++done) {
        const typename L::Stored* x = a + first;
        auto sum = (x[0] + x[1]) + (x[2] + x[3]);
        if constexpr (Lanes == 8) sum += (x[4] + x[5]) + (x[6] + x[7]);
        d[done] = sum;
      }
      // The tree over what is left.
      if (std::int64_t count = n - first; count > 0) {
        typename L::Stored some[Lanes];
        for (std::int64_t i = 0; i < count; ++i) some[i] = a[first + i];
        for (; count > 1; count = (count + 1) / 2) {
          for (std::int64_t i = 0; i < count / 2; ++i) some[i] = some[2 * i] + some[2 * i + 1];
          if (count % 2 != 0) some[count / 2] = some[count - 1];
        }
        d[done++] = some[0];
      }
      n = done;
      a = d;
    }
    if (n == 1) d[0] = settle(d[0]);
  }
  while (n > 1) {
    const std::int64_t half = n / 2;
    ULPIAN_INDEPENDENT
    for (std::int64_t i = 0; i < half; ++i) d[i] = L::store(compute<Operation>(L::load(a[2 * i]), L::load(a[2 * i + 1])));
    if (n % 2 != 0) d[half] = a[n - 1];
    n = half + n % 2;
    a = d;
  }
}

template <class F> ULPIAN_TARGET void eight_loop(void* p, const void* const* q, std::int64_t n) {
  auto* d = static_cast<F*>(p);
  const F* a[8];
  for (int k = 0; k < 8; ++k) a[k] = static_cast<const F*>(q[k]);
  ULPIAN_INDEPENDENT
  for (std::int64_t i = 0; i < n; ++i) d[i] = settle(((a[0][i] + a[1][i]) + (a[2][i] + a[3][i])) + ((a[4][i] + a[5][i]) + (a[6][i] + a[7][i])));
}
EightKernel eight_kernel(Type type) { return type == Type::F32 ? eight_loop<float> : type == Type::F64 ? eight_loop<double> : nullptr; }

template <Type T> Kernel arithmetic_kernel(P p) {
  constexpr bool Float = host::is_float_type(T);
  switch (p) {
    case P::Add: return binary<T, P::Add>;
    case P::Subtract: return binary<T, P::Subtract>;
    case P::Multiply: return binary<T, P::Multiply>;
    case P::Minimum: return binary<T, P::Minimum>;
    case P::Maximum: return binary<T, P::Maximum>;
    case P::Negate: return unary<T, P::Negate>;
    case P::Absolute: return unary<T, P::Absolute>;
    case P::Equal: return compare<T, P::Equal>;
    case P::NotEqual: return compare<T, P::NotEqual>;
    case P::Less: return compare<T, P::Less>;
    case P::LessEqual: return compare<T, P::LessEqual>;
    case P::Greater: return compare<T, P::Greater>;
    case P::GreaterEqual: return compare<T, P::GreaterEqual>;
    case P::IsNan: return classify<T, P::IsNan>;
    case P::IsInfinite: return classify<T, P::IsInfinite>;
    default: break;
  }
  if constexpr (Float) {
    switch (p) {
      case P::Divide: return binary<T, P::Divide>;
      case P::SquareRoot: return unary<T, P::SquareRoot>;
      case P::Reciprocal: return unary<T, P::Reciprocal>;
      case P::Floor: return unary<T, P::Floor>;
      case P::Ceiling: return unary<T, P::Ceiling>;
      case P::Truncate: return unary<T, P::Truncate>;
      case P::RoundEven: return unary<T, P::RoundEven>;
      default: return nullptr;
    }
  } else {
    switch (p) {
      case P::BitAnd: return binary<T, P::BitAnd>;
      case P::BitOr: return binary<T, P::BitOr>;
      case P::BitXor: return binary<T, P::BitXor>;
      case P::BitNot: return unary<T, P::BitNot>;
      case P::FloorDivide: return binary<T, P::FloorDivide>;
      case P::Modulo: return binary<T, P::Modulo>;
      case P::Quotient: return binary<T, P::Quotient>;
      case P::Remainder: return binary<T, P::Remainder>;
      default: return nullptr;
    }
  }
}

Kernel bool_kernel(P p) {
  switch (p) {
    case P::And: return logic<P::And>;
    case P::Or: return logic<P::Or>;
    case P::Not: return logic<P::Not>;
    case P::Minimum: return logic<P::And>;
    case P::Maximum: return logic<P::Or>;
    case P::Equal: return compare<Type::U8, P::Equal>;
    case P::NotEqual: return compare<Type::U8, P::NotEqual>;
    default: return nullptr;
  }
}

Kernel primitive_kernel(P p, Type type) {
  switch (type) {
    case Type::Bool: return bool_kernel(p);
    case Type::I8: return arithmetic_kernel<Type::I8>(p);
    case Type::I16: return arithmetic_kernel<Type::I16>(p);
    case Type::I32: return arithmetic_kernel<Type::I32>(p);
    case Type::I64: return arithmetic_kernel<Type::I64>(p);
    case Type::U8: return arithmetic_kernel<Type::U8>(p);
    case Type::U16: return arithmetic_kernel<Type::U16>(p);
    case Type::U32: return arithmetic_kernel<Type::U32>(p);
    case Type::U64: return arithmetic_kernel<Type::U64>(p);
    case Type::F16: return arithmetic_kernel<Type::F16>(p);
    case Type::BF16: return arithmetic_kernel<Type::BF16>(p);
    case Type::F32: return arithmetic_kernel<Type::F32>(p);
    case Type::F64: return arithmetic_kernel<Type::F64>(p);
    default: return nullptr;
  }
}

template <Type From, Type To> Kernel cast_of_mode(CastMode mode) {
  if (mode == CastMode::Plain) return cast_loop<From, To, CastMode::Plain>;
  if (mode == CastMode::Saturate) return cast_loop<From, To, CastMode::Saturate>;
  return nullptr;
}

template <Type From> Kernel cast_from(Type to, CastMode mode) {
  switch (to) {
    case Type::Bool: return cast_of_mode<From, Type::Bool>(mode);
    case Type::I8: return cast_of_mode<From, Type::I8>(mode);
    case Type::U8: return cast_of_mode<From, Type::U8>(mode);
    case Type::I32: return cast_of_mode<From, Type::I32>(mode);
    case Type::I64: return cast_of_mode<From, Type::I64>(mode);
    case Type::F16: return cast_of_mode<From, Type::F16>(mode);
    case Type::BF16: return cast_of_mode<From, Type::BF16>(mode);
    case Type::F32: return cast_of_mode<From, Type::F32>(mode);
    case Type::F64: return cast_of_mode<From, Type::F64>(mode);
    default: return nullptr;
  }
}

Kernel cast_kernel(Type from, Type to, CastMode mode) {
  switch (from) {
    case Type::Bool: return cast_from<Type::Bool>(to, mode);
    case Type::I8: return cast_from<Type::I8>(to, mode);
    case Type::U8: return cast_from<Type::U8>(to, mode);
    case Type::I32: return cast_from<Type::I32>(to, mode);
    case Type::I64: return cast_from<Type::I64>(to, mode);
    case Type::F16: return cast_from<Type::F16>(to, mode);
    case Type::BF16: return cast_from<Type::BF16>(to, mode);
    case Type::F32: return cast_from<Type::F32>(to, mode);
    case Type::F64: return cast_from<Type::F64>(to, mode);
    default: return nullptr;
  }
}

Kernel select_kernel(int width) {
  return width == 1 ? select_loop<std::uint8_t> : width == 2 ? select_loop<std::uint16_t> : width == 4 ? select_loop<std::uint32_t> : select_loop<std::uint64_t>;
}
Kernel broadcast_kernel(int width) {
  return width == 1   ? broadcast_loop<std::uint8_t>
         : width == 2 ? broadcast_loop<std::uint16_t>
         : width == 4 ? broadcast_loop<std::uint32_t>
                      : broadcast_loop<std::uint64_t>;
}

Kernel multiply_add_kernel(Type type) {
  switch (type) {
    case Type::F32: return multiply_add_loop<Type::F32>;
    case Type::F64: return multiply_add_loop<Type::F64>;
    case Type::I32: return multiply_add_loop<Type::I32>;
    case Type::I64: return multiply_add_loop<Type::I64>;
    case Type::U32: return multiply_add_loop<Type::U32>;
    case Type::U64: return multiply_add_loop<Type::U64>;
    default: return nullptr;
  }
}

template <Type T> TreeKernel tree_of(P p) {
  switch (p) {
    case P::Add: return tree_loop<T, P::Add>;
    case P::Multiply: return tree_loop<T, P::Multiply>;
    case P::Minimum: return tree_loop<T, P::Minimum>;
    case P::Maximum: return tree_loop<T, P::Maximum>;
    default: return nullptr;
  }
}
TreeKernel tree_kernel(P p, Type type) {
  switch (type) {
    case Type::I32: return tree_of<Type::I32>(p);
    case Type::I64:
    case Type::Z: return tree_of<Type::I64>(p);
    case Type::F16: return tree_of<Type::F16>(p);
    case Type::BF16: return tree_of<Type::BF16>(p);
    case Type::F32: return tree_of<Type::F32>(p);
    case Type::F64: return tree_of<Type::F64>(p);
    default: return nullptr;
  }
}

Kernel z_primitive(P p) {
  if (p == P::ToInteger) return nullptr;
  return arithmetic_kernel<Type::I64>(p);
}

}  // namespace

const KernelTable& ULPIAN_KERNELS() {
  static constexpr KernelTable Table{
      [](P p, Type type) { return type == Type::Z ? z_primitive(p) : primitive_kernel(p, type); },
      [](Type from, Type to, CastMode mode) -> Kernel {
        if (from == Type::Z) from = Type::I64;
        return cast_kernel(from, to == Type::Z ? Type::I64 : to, mode);
      },
      select_kernel, broadcast_kernel, multiply_add_kernel, tree_kernel, eight_kernel};
  return Table;
}

}  // namespace ulpian::interp::block
