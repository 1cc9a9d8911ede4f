#include "diff/compare/bias.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

namespace ulpian::diff {
namespace {

constexpr std::int64_t MostElements = 1 << 13;

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

// Pairs of bits that were seen.
class Pairs {
public:
  explicit Pairs(std::int64_t most) : slots_(std::bit_ceil(static_cast<std::size_t>(2 * most + 2))) {}
  bool add(Bits a, Bits b) {
    for (std::size_t k = (a * 0x9e3779b97f4a7c15u ^ b * 0xc2b2ae3d27d4eb4fu) * 0xff51afd7ed558ccdu >> 20;; ++k) {
      Slot& s = slots_[k & (slots_.size() - 1)];
      if (s.taken && s.a == a && s.b == b) return false;
      if (s.taken) continue;
      s = {a, b, true};
      return true;
    }
  }

private:
  struct Slot {
    Bits a = 0, b = 0;
    bool taken = false;
  };
  std::vector<Slot> slots_;
};

// Errors that are 0 only make a mean smaller: how many there are is asked for where the others lean.
template <typename Zeros> bool leans(const std::vector<Error>& errors, Zeros& zeros, const Extents& extents, bool alone, Moments& all) {
  for (const Error& e : errors) all.add(e.value);
  if (all.n == 0 || !(std::abs(all.mean()) > all.root_mean_square() / 2)) return false;
  all.n += zeros();
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

std::optional<Bias> bias_of(const interp::AllowedSample& sets, const Tensor& canonical, const Tensor& got, bool alone) {
  const interp::AllowedTensor& set = sets.sets;
  const ElementType t = set.type();
  if (!is_float(t) || got.type() != t || canonical.type() != t || got.extents() != canonical.extents() || canonical.size() < Bias::Least) return std::nullopt;
  if (sets.positions.empty() && set.size() != canonical.size()) return std::nullopt;
  // An odd step meets all columns of a matrix.
  const std::int64_t step = (set.size() + MostElements - 1) / MostElements | 1;
  std::vector<Error> plain, outward;
  Pairs seen(MostElements);
  plain.reserve(static_cast<std::size_t>(MostElements)), outward.reserve(static_cast<std::size_t>(MostElements));
  std::int64_t single = 0, several = 0;  // of the elements that do not differ: which admit one value, and more
  for (std::int64_t k = 0; k < set.size(); k += step) {
    const std::uint8_t flags = set.flags()[static_cast<std::size_t>(k)];
    if (flags & (interp::HasNan | interp::Anything | interp::NotOneInterval | interp::Empty)) continue;
    const std::int64_t i = sets.position(k);
    const Bits low = set.lower().at(k), high = set.upper().at(k), b = got.at(i), c = canonical.at(i);
    if (b == c) ++(low == high ? single : several);
    if (b == c || low == high || is_nan(t, b) || is_nan(t, c)) continue;
    const double half = (to_double(t, high) - to_double(t, low)) / 2, value = to_double(t, c), e = (to_double(t, b) - value) / half;
    if (!std::isfinite(e) || !(half > 0) || !seen.add(b, c)) continue;
    plain.push_back({i, e});
    if (value != 0) outward.push_back({i, value > 0 ? e : -e});
  }
  auto zeros = [&, known = std::optional<std::int64_t>()]() mutable {
    if (known) return *known;
    Pairs equal(canonical.size() / step + 1);
    std::int64_t different = 0;
    for (std::int64_t i = 0; i < canonical.size(); i += step)
      if (const Bits c = canonical.at(i); c == got.at(i)) different += equal.add(c, c);
    known = single + several == 0 ? different : static_cast<std::int64_t>(static_cast<double>(different) * static_cast<double>(several) / static_cast<double>(single + several));
    return *known;
  };
  std::optional<Bias> out;
  for (const auto* errors : {&outward, &plain})
    if (Moments m; leans(*errors, zeros, canonical.extents(), alone, m) && (!out || std::abs(m.mean()) > std::abs(out->mean))) out = Bias{m.n, errors == &outward, m.mean(), m.root_mean_square()};
  return out;
}

}  // namespace ulpian::diff
