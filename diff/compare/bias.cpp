#include "diff/compare/bias.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

namespace ulpian::diff {
namespace {

constexpr std::int64_t MostElements = 1 << 16;

struct Moments {
  std::int64_t n = 0;
  double sum = 0, squares = 0;
  void add(double t) { ++n, sum += t, squares += t * t; }
  double mean() const { return sum / static_cast<double>(n); }
  double root_mean_square() const { return std::sqrt(squares / static_cast<double>(n)); }
  // Whether a mean of 0 is out of the question.
  bool is_certain() const {
    const double m = std::abs(mean()), r = root_mean_square(), count = static_cast<double>(n);
    return m * std::sqrt(count) > (n < Bias::Least ? Bias::Alarm : Bias::AlarmOfMany) * std::sqrt(std::max(0.0, r * r - m * m) * count / (count - 1));
  }
};

struct Error {
  std::int64_t position = 0;
  double value = 0;
};

bool leans(const std::vector<Error>& errors, const Extents& extents, bool alone, Moments& all) {
  for (const Error& e : errors) all.add(e.value);
  if (all.n < Bias::Least || !(std::abs(all.mean()) > all.root_mean_square() / 2) || !all.is_certain()) return false;
  if (alone) return true;
  std::int64_t stride = 1;
  for (std::size_t d = extents.size(); d-- > 0; stride *= extents[d]) {
    if (extents[d] < Bias::LeastSlices) return false;
    std::vector<Moments> slices(static_cast<std::size_t>(std::min(extents[d], MostElements)));
    for (const Error& e : errors) slices[static_cast<std::size_t>(e.position / stride % extents[d] % MostElements)].add(e.value);
    Moments means;
    for (const Moments& s : slices)
      if (s.n > 0) means.add(s.mean());
    if (means.n < Bias::LeastSlices || !means.is_certain()) return false;
  }
  return true;
}

}  // namespace

std::optional<Bias> bias_of(const interp::AllowedTensor& set, const Tensor& canonical, const Tensor& got, bool alone) {
  const ElementType t = set.type();
  if (!is_float(t) || got.type() != t || got.extents() != set.extents() || canonical.type() != t || canonical.extents() != set.extents() || set.size() < Bias::Least) return std::nullopt;
  // An odd step meets all columns of a matrix.
  const std::int64_t step = (set.size() + MostElements - 1) / MostElements | 1;
  std::vector<Error> plain, outward;
  struct Seen {
    Bits got, canonical;
    std::int64_t position;
    double error, value;
  };
  std::vector<Seen> seen;
  for (std::int64_t i = 0; i < set.size(); i += step) {
    const std::uint8_t flags = set.flags()[static_cast<std::size_t>(i)];
    if (flags & (interp::HasNan | interp::Anything | interp::NotOneInterval | interp::Empty)) continue;
    const Bits low = set.lower().at(i), high = set.upper().at(i), b = got.at(i), c = canonical.at(i);
    if (low == high || is_nan(t, b) || is_nan(t, c)) continue;
    const double half = (to_double(t, high) - to_double(t, low)) / 2, value = to_double(t, c), e = (to_double(t, b) - value) / half;
    if (std::isfinite(e) && half > 0) seen.push_back({b, c, i, e, value});
  }
  std::sort(seen.begin(), seen.end(), [](const Seen& x, const Seen& y) { return std::tie(x.got, x.canonical, x.position) < std::tie(y.got, y.canonical, y.position); });
  for (std::size_t k = 0; k < seen.size(); ++k) {
    const Seen& s = seen[k];
    if (k > 0 && s.got == seen[k - 1].got && s.canonical == seen[k - 1].canonical) continue;
    plain.push_back({s.position, s.error});
    if (s.value != 0) outward.push_back({s.position, s.value > 0 ? s.error : -s.error});
  }
  std::optional<Bias> out;
  for (const auto* errors : {&outward, &plain})
    if (Moments m; leans(*errors, set.extents(), alone, m) && (!out || std::abs(m.mean()) > std::abs(out->mean))) out = Bias{m.n, errors == &outward, m.mean(), m.root_mean_square()};
  return out;
}

}  // namespace ulpian::diff
