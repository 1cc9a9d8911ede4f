// Between the sets that users see and the lanes that terms read.
#include <algorithm>

#include "interp/allowed/equations.h"
#include "interp/allowed/rounding.h"

namespace ulpian::interp::allowed {
namespace {

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

std::vector<double> doubles_of(const Tensor& t) {
  std::vector<double> out(index(t.size()));
  if (t.type() == ElementType::F32) {
    const float* x = t.data<float>();
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = x[i];
  } else if (t.type() == ElementType::F64) {
    const double* x = t.data<double>();
    std::copy(x, x + out.size(), out.begin());
  } else {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const Bits b = t.at(static_cast<std::int64_t>(i));
      out[i] = is_nan(t.type(), b) ? Nan : to_double(t.type(), b);
    }
  }
  return out;
}

std::vector<std::int64_t> integers_of(const Tensor& t) {
  std::vector<std::int64_t> out(index(t.size()));
  if (t.type() == ElementType::I64) {
    const std::int64_t* x = t.data<std::int64_t>();
    std::copy(x, x + out.size(), out.begin());
    return out;
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Bits b = t.at(static_cast<std::int64_t>(i));
    out[i] = t.type() == ElementType::Bool ? static_cast<std::int64_t>(b) : to_int64(t.type(), b);
  }
  return out;
}

Bits bits_of(ElementType t, const Piece& p, bool upper) {
  if (uses_doubles(t)) return bits_of_value(t, upper ? p.hi : p.lo);
  const std::int64_t x = upper ? p.ihi : p.ilo;
  return t == ElementType::Bool ? static_cast<Bits>(x) : from_int64(t, x);
}

Piece piece_of(ElementType t, const Interval& p) {
  if (uses_doubles(t)) return {to_double(t, p.lower), to_double(t, p.upper), 0, 0};
  if (t == ElementType::Bool) return {0, 0, static_cast<std::int64_t>(p.lower), static_cast<std::int64_t>(p.upper)};
  return {0, 0, to_int64(t, p.lower), to_int64(t, p.upper)};
}

Tensor tensor_from(ElementType t, const Extents& extents, const Lanes& v, bool upper) {
  Tensor out(t, extents);
  if (t == ElementType::F32) {
    float* x = out.writable<float>();
    for (std::int64_t i = 0; i < v.n; ++i) x[i] = static_cast<float>(upper ? v.high(i) : v.low(i));
    for (std::int64_t i = 0; i < v.n; ++i)
      if (x[i] != x[i]) x[i] = std::numeric_limits<float>::quiet_NaN();
    return out;
  }
  for (std::int64_t i = 0; i < v.n; ++i) {
    const Piece p = uses_doubles(t) ? Piece{v.low(i), v.high(i), 0, 0} : Piece{0, 0, v.ilow(i), v.ihigh(i)};
    out.set(i, bits_of(t, p, upper));
  }
  return out;
}

}  // namespace

Stored stored_of(const AllowedTensor& tensor, bool unrounded) {
  Stored s;
  s.extents = tensor.extents();
  Lanes& v = s.lanes;
  v.type = tensor.type();
  v.n = tensor.size();
  v.point = true;
  const Tensor &lower = tensor.lower(), &upper = tensor.upper();
  const bool same = lower.bytes().data() == upper.bytes().data() || (lower.size() > 0 && std::equal(lower.bytes().begin(), lower.bytes().end(), upper.bytes().begin()));
  const bool special = std::any_of(tensor.flags().begin(), tensor.flags().end(), [](std::uint8_t f) { return f != 0 && f != (HasNan | Empty); });
  v.point = same && !special;
  if (uses_doubles(v.type)) {
    v.lo = doubles_of(lower);
    if (!v.point) v.hi = doubles_of(upper);
  } else {
    v.ilo = integers_of(lower);
    if (!v.point) v.ihi = integers_of(upper);
  }
  if (unrounded && tensor.unrounded()) {
    v.widen();
    v.lo = tensor.unrounded()->lower;
    v.hi = tensor.unrounded()->upper;
  }
  if (!special) return s;
  for (std::int64_t i = 0; i < v.n; ++i) {
    const std::uint8_t f = tensor.flags()[index(i)];
    if (f == 0) continue;
    if (f & Anything) {
      set_anything(v, i);
      continue;
    }
    Pieces pieces;
    if ((f & NotOneInterval) && unrounded && tensor.unrounded()) {
      pieces = pieces_at(v, i);  // their hull
    } else if (f & NotOneInterval) {
      for (const Interval& p : tensor.pieces().at(i)) pieces.push_back(piece_of(v.type, p));
    } else if (!(f & Empty)) {
      pieces = pieces_at(v, i);
    }
    if (f & EitherZero)
      for (Piece& p : pieces) {
        if (p.lo == 0) p.lo = -0.0;
        if (p.hi == 0) p.hi = 0.0;
      }
    set_pieces(v, i, std::move(pieces), f & (HasNan | Hulled));
  }
  return s;
}

AllowedTensor tensor_of(const Stored& s) {
  const Lanes& v = s.lanes;
  Tensor lower = tensor_from(v.type, s.extents, v, false);
  Tensor upper = v.point ? lower : tensor_from(v.type, s.extents, v, true);
  std::vector<std::uint8_t> flags(index(v.n), 0);
  std::map<std::int64_t, std::vector<Interval>> pieces;
  const bool doubles = uses_doubles(v.type);
  for (std::int64_t i = 0; i < v.n; ++i) {
    std::uint8_t f = v.flag(i) & (HasNan | Anything | Hulled | NotOneInterval);
    if (v.flag(i) & NoValue) f |= Anything;
    if (doubles && !(f & Anything)) {
      if (v.low(i) != v.low(i)) f |= HasNan | Empty;
      else if (v.low(i) <= 0 && v.high(i) >= 0 && v.low(i) == 0 && v.high(i) == 0 && negative(v.low(i)) != negative(v.high(i))) f |= EitherZero;
      else if (v.low(i) <= 0 && v.high(i) >= 0 && !(f & NotOneInterval) && !(v.low(i) == v.high(i))) {
        // Both signs of a zero inside, or at the end of an interval.
        if ((v.low(i) < 0 || negative(v.low(i))) && (v.high(i) > 0 || !negative(v.high(i)))) f |= EitherZero;
      }
    }
    if (f & NotOneInterval) {
      if (f & Anything) f &= static_cast<std::uint8_t>(~NotOneInterval);
      else
        for (const Piece& p : v.unions.at(i)) pieces[i].push_back({bits_of(v.type, p, false), bits_of(v.type, p, true)});
    }
    flags[index(i)] = f;
  }
  return AllowedTensor(std::move(lower), std::move(upper), std::move(flags), std::move(pieces));
}

}  // namespace ulpian::interp::allowed
