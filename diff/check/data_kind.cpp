#include "diff/check/data_kind.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "spec/numbers/arithmetic.h"

namespace ulpian::diff {
namespace {

// One tensor's numbers, in order of position.
class Floats {
public:
  Floats(ElementType type, const Extents& extents, DataKind kind, Source& source)
      : type_(type), format_(format_of(type)), row_(extents.empty() ? 1 : std::max<std::int64_t>(extents.back(), 1)), kind_(kind), source_(source) {}

  double at(std::int64_t k) {
    const std::int64_t column = k % row_, row = k / row_;
    if (column == 0) begin_row();
    switch (kind_) {
      case DataKind::Bell:
      case DataKind::Edges: return source_.bell();
      case DataKind::PowersOfTwo: return source_.sign() * std::ldexp(1.0, binade(-6, 3));
      case DataKind::OneHot: return column == row % row_ ? 1.0 : source_.unit() < 0.1 ? source_.bell() : 0.0;
      case DataKind::Ties: return last_ = k % 2 ? -last_ : std::floor(source_.bell() * 4) / 4;
      case DataKind::WideMagnitudes: return source_.bell() * std::ldexp(1.0, binade(-20, 6));
      case DataKind::Positive: return (1 + source_.unit()) * std::ldexp(1.0, binade(-10, 0));
      case DataKind::NearlyEqual: return 1 + std::ldexp(static_cast<double>(source_.between(-2, 2)), -format_.fraction_bits);
      case DataKind::AllEqual: return last_ = column == 0 ? source_.bell() : last_;
      case DataKind::Tail: return column + 3 >= row_ ? source_.bell() : 0.0;
      case DataKind::Sorted: return (row / 2 % 2 ? -1 : 1) * (1 + (static_cast<double>(row % 2 ? row_ - 1 - column : column) + 0.5 * source_.unit()) / static_cast<double>(row_));
      case DataKind::Special: return row % 3 == 1 ? (column == chosen_ ? special() : source_.bell()) : row % 3 == 2 && source_.below(4) == 0 ? special() : source_.bell();
      case DataKind::Tiny: return source_.sign() * source_.unit() * scale_;
      case DataKind::Halves: return (2 * source_.between(-(MostHalves + 1) / 2, MostHalves / 2) + 1) * std::ldexp(1.0, -source_.between(1, 5));
      case DataKind::SmallSpread: return source_.bell() * scale_;
      case DataKind::LargeMean: return mean_ + source_.bell();
      case DataKind::Exponents: {
        const double most = std::log(to_double(type_, largest_finite(type_))), least = std::log(2.0) * (format_.min_exponent() - format_.fraction_bits);
        return least + (most - least) * source_.unit();
      }
    }
    ensure(false);
  }

private:
  static constexpr int MostHalves = 511;

  void begin_row() {
    if (kind_ == DataKind::Special) chosen_ = static_cast<std::int64_t>(source_.below(static_cast<std::uint64_t>(row_)));
    // So many terms as a row may have leave some sums subnormal.
    if (kind_ == DataKind::Tiny) scale_ = std::ldexp(1.0, std::max(format_.min_exponent() + source_.between(-std::max(format_.fraction_bits / 2, 1), 1), -1060));
    if (kind_ == DataKind::SmallSpread) scale_ = std::ldexp(1.0, binade(-12, -2));
    if (kind_ == DataKind::LargeMean) mean_ = source_.sign() * std::ldexp(1.0, std::min((format_.fraction_bits + 1) / 2, format_.max_exponent() - 1));
  }

  double special() {
    const double most = to_double(type_, largest_finite(type_));
    switch (source_.below(6)) {
      case 0: return has_nan(type_) ? std::numeric_limits<double>::quiet_NaN() : 0;
      case 1: return source_.sign() * (has_infinity(type_) ? std::numeric_limits<double>::infinity() : most);
      case 2: return source_.sign() * 0.0;
      case 3: return source_.sign() * most;
      case 4: return source_.sign() * std::ldexp(1.0, std::max(format_.min_exponent(), -1022));
      default: return has_nan(type_) ? std::numeric_limits<double>::quiet_NaN() : source_.bell();
    }
  }

  // What the type's range leaves of some binades.
  int binade(int low, int high) {
    const int most = format_.max_exponent() - 3, least = format_.min_exponent();
    low = std::clamp(low, least, std::max(most, least));
    return source_.between(low, std::clamp(high, low, std::max(most, low)));
  }

  ElementType type_;
  const FloatFormat& format_;
  std::int64_t row_;
  DataKind kind_;
  Source& source_;
  double last_ = 0, scale_ = 1, mean_ = 0;
  std::int64_t chosen_ = 0;
};

}  // namespace

std::string_view name_of(DataKind kind) {
  switch (kind) {
    case DataKind::Bell: return "bell-shaped";
    case DataKind::PowersOfTwo: return "powers of two";
    case DataKind::OneHot: return "one-hot rows";
    case DataKind::Ties: return "ties and cancellation";
    case DataKind::WideMagnitudes: return "wide magnitudes";
    case DataKind::Positive: return "one sign, far apart";
    case DataKind::NearlyEqual: return "nearly equal";
    case DataKind::AllEqual: return "equal rows";
    case DataKind::Tail: return "tails of rows";
    case DataKind::Sorted: return "sorted rows";
    case DataKind::Special: return "NaN, infinities and zeros";
    case DataKind::Tiny: return "subnormals";
    case DataKind::Halves: return "halves";
    case DataKind::SmallSpread: return "small spread";
    case DataKind::LargeMean: return "large mean";
    case DataKind::Exponents: return "exponents";
    case DataKind::Edges: return "edges";
  }
  ensure(false);
}

bool leads_alone(DataKind kind) { return kind >= DataKind::Tiny; }

void fill_float(Tensor& t, Source& source, DataKind kind, bool leading, const std::vector<Bits>& edges) {
  const ElementType type = t.type();
  if (kind == DataKind::Edges && leading && !edges.empty()) {
    // All of them where there is room, in any order.
    const std::uint64_t first = source.bits(), count = edges.size();
    for (std::int64_t k = 0; k < t.size(); ++k) t.set(k, edges[static_cast<std::size_t>(t.size() < static_cast<std::int64_t>(count) ? source.below(count) : (first + static_cast<std::uint64_t>(k)) % count)]);
    return;
  }
  const DataKind drawn = leading || !leads_alone(kind) ? kind : kind == DataKind::Halves ? DataKind::PowersOfTwo : DataKind::Bell;
  Floats floats(type, t.extents(), drawn, source);
  for (std::int64_t k = 0; k < t.size(); ++k) {
    double v = floats.at(k);
    if (!format_of(type).has_sign) v = std::max(std::abs(v), 0x1p-127);  // scales
    if (drawn != kind && kind == DataKind::Halves) v = std::min(std::abs(v), 1.0);
    t.set(k, from_double(type, v, std::isfinite(v) ? CastMode::Saturate : CastMode::Plain));
  }
}

}  // namespace ulpian::diff
