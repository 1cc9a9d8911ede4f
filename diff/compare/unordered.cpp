#include "diff/compare/unordered.h"

#include <algorithm>

namespace ulpian::diff {
namespace {

using MaybeTensors = std::vector<std::optional<Tensor>>;

// Comparisons of one pair of places, and moves in one path; beyond, a line is too long to match.
constexpr std::int64_t MostPairs = 100'000'000;
constexpr std::size_t MostDepth = 2000;

// Row-major positions of each line along `axes`.
std::vector<std::vector<std::int64_t>> lines_of(const Extents& extents, const std::vector<std::int64_t>& axes) {
  std::vector<bool> along(extents.size());
  for (std::int64_t a : axes) along[static_cast<std::size_t>(a)] = true;
  std::int64_t lines = 1, length = 1, count = 1;
  for (std::size_t d = 0; d < extents.size(); ++d) (along[d] ? length : lines) *= extents[d], count *= extents[d];
  std::vector<std::vector<std::int64_t>> out(static_cast<std::size_t>(count ? lines : 0));
  for (auto& line : out) line.reserve(static_cast<std::size_t>(length));
  for (std::int64_t p = 0; p < count; ++p) {
    std::int64_t rest = p, line = 0, stride = 1;
    for (std::size_t d = extents.size(); d-- > 0;) {
      const std::int64_t k = rest % extents[d];
      rest /= extents[d];
      if (along[d]) continue;
      line += k * stride;
      stride *= extents[d];
    }
    out[static_cast<std::size_t>(line)].push_back(p);
  }
  return out;
}

// Which answer stands in which place of one line: a maximum matching, by augmenting paths.
class Line {
public:
  Line(const MaybeTensors& got, const MaybeTensors& canonical, const std::vector<std::optional<interp::AllowedTensor>>& sets, const std::vector<std::int64_t>& positions)
      : got_(got), canonical_(canonical), sets_(sets), at_(positions), holder_(positions.size(), Nobody), place_(positions.size(), Nobody) {}

  bool match(std::int64_t& budget) {
    equals();
    for (std::size_t item = 0; item < at_.size(); ++item) {
      if (place_[item] != Nobody) continue;
      visited_.assign(at_.size(), false);
      (void)augment(item, 0, budget);
      if (budget < 0) return false;
    }
    return true;
  }

  // By place; what found none is dealt out in order.
  std::vector<std::size_t> items() const {
    std::vector<std::size_t> out = holder_;
    std::size_t next = 0;
    for (std::size_t& item : out) {
      if (item != Nobody) continue;
      while (place_[next] != Nobody) ++next;
      item = next++;
    }
    return out;
  }

private:
  static constexpr std::size_t Nobody = static_cast<std::size_t>(-1);

  static Bits key(ElementType t, Bits b) { return is_float(t) && is_nan(t, b) ? ~Bits{0} : b; }
  // Order of bits over all outputs, NaNs alike.
  int compare(const MaybeTensors& a, std::int64_t i, const MaybeTensors& b, std::int64_t j) const {
    for (std::size_t k = 0; k < canonical_.size(); ++k) {
      if (!canonical_[k]) continue;
      const ElementType t = canonical_[k]->type();
      const Bits x = key(t, a[k]->at(i)), y = key(t, b[k]->at(j));
      if (x != y) return x < y ? -1 : 1;
    }
    return 0;
  }

  // Items that equal a canonical element exactly stand there first; a later path may move them.
  void equals() {
    std::vector<std::size_t> places(at_.size()), items(at_.size());
    for (std::size_t k = 0; k < at_.size(); ++k) places[k] = items[k] = k;
    const auto sort = [&](std::vector<std::size_t>& order, const MaybeTensors& values) {
      std::sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) {
        const int c = compare(values, at_[x], values, at_[y]);
        return c != 0 ? c < 0 : x < y;
      });
    };
    sort(places, canonical_);
    sort(items, got_);
    for (std::size_t p = 0, i = 0; p < places.size() && i < items.size();) {
      const int order = compare(canonical_, at_[places[p]], got_, at_[items[i]]);
      if (order < 0) ++p;
      else if (order > 0) ++i;
      else holder_[places[p]] = items[i], place_[items[i]] = places[p], ++p, ++i;
    }
  }

  bool admits(std::size_t place, std::size_t item) const {
    if (compare(canonical_, at_[place], got_, at_[item]) == 0) return true;
    for (std::size_t k = 0; k < canonical_.size(); ++k) {
      if (!canonical_[k]) continue;
      const Bits b = got_[k]->at(at_[item]);
      if (same_element(canonical_[k]->type(), canonical_[k]->at(at_[place]), b)) continue;
      if (k >= sets_.size() || !sets_[k] || !sets_[k]->contains(at_[place], b)) return false;
    }
    return true;
  }

  bool augment(std::size_t item, std::size_t depth, std::int64_t& budget) {
    if (depth > MostDepth) budget = -1;
    for (std::size_t place = 0; place < at_.size() && budget >= 0; ++place) {
      if (visited_[place] || --budget < 0 || !admits(place, item)) continue;
      visited_[place] = true;
      if (holder_[place] != Nobody && !augment(holder_[place], depth + 1, budget)) continue;
      holder_[place] = item;
      place_[item] = place;
      return true;
    }
    return false;
  }

  const MaybeTensors &got_, &canonical_;
  const std::vector<std::optional<interp::AllowedTensor>>& sets_;
  const std::vector<std::int64_t>& at_;
  std::vector<std::size_t> holder_, place_;  // by place, by item
  std::vector<bool> visited_;
};

}  // namespace

std::optional<MaybeTensors> reorder(const MaybeTensors& got, const MaybeTensors& canonical, const std::vector<std::optional<interp::AllowedTensor>>& sets,
                                    const std::vector<std::int64_t>& axes) {
  const Extents* extents = nullptr;
  for (std::size_t k = 0; k < canonical.size(); ++k) {
    if (!canonical[k]) continue;
    if (k >= got.size() || !got[k] || got[k]->type() != canonical[k]->type() || got[k]->extents() != canonical[k]->extents()) return std::nullopt;
    if (canonical[k]->type() == ElementType::String || is_complex(canonical[k]->type())) return std::nullopt;
    if (extents && *extents != canonical[k]->extents()) return std::nullopt;
    extents = &canonical[k]->extents();
  }
  if (!extents) return std::nullopt;
  for (std::int64_t a : axes)
    if (a < 0 || a >= static_cast<std::int64_t>(extents->size())) return std::nullopt;
  MaybeTensors out(got.size());
  for (std::size_t k = 0; k < canonical.size(); ++k)
    if (canonical[k]) out[k] = Tensor(canonical[k]->type(), *extents);
  std::int64_t budget = MostPairs;
  for (const auto& positions : lines_of(*extents, axes)) {
    Line line(got, canonical, sets, positions);
    if (!line.match(budget)) return std::nullopt;
    const auto items = line.items();
    for (std::size_t place = 0; place < positions.size(); ++place)
      for (std::size_t k = 0; k < canonical.size(); ++k)
        if (canonical[k]) out[k]->set(positions[place], got[k]->at(positions[items[place]]));
  }
  return out;
}

}  // namespace ulpian::diff
