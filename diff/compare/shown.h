// What the inputs of a verdict would have shown: how far an element may be off unseen (docs/checking.md, "What inputs show").
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "interp/allowed/sample.h"

namespace ulpian::diff {

// Of each output at most MostSampled elements are looked at, one in each of as many equal parts: each stands for its part.
class Shown {
public:
  static constexpr std::int64_t MostSampled = 1024;

  // Those of an output of n elements, ascending.
  static std::vector<std::int64_t> positions(std::int64_t n, std::int64_t most = MostSampled);
  // `sets` must have those.
  void take(const interp::AllowedSample& sets, const Tensor& canonical, std::int64_t most = MostSampled);
  void take_exact(std::int64_t elements) { elements_ += elements, exact_ += elements; }
  void add(const Shown& other);

  std::int64_t elements() const { return elements_; }  // of the outputs whose sets are known
  std::int64_t exact() const { return exact_; }        // one number is admitted: any other shows
  std::int64_t vacuous() const { return vacuous_; }    // everything is admitted: nothing shows
  // Over the other elements, of which there is one: the farthest that an admitted value lies from the canonical one, as a share of it, so that
  // what is farther off shows. In the element where this is least, and the least that holds for half of them. Infinite where the canonical
  // value is 0 and others are admitted, or a number and NaN beside each other.
  bool has_others() const { return !hidden_.empty(); }
  double least() const;
  double median() const;

private:
  void take(const interp::AllowedTensor& set, std::int64_t position, Bits canonical, std::int64_t count);

  std::int64_t elements_ = 0, exact_ = 0, vacuous_ = 0;
  std::vector<std::pair<double, std::int64_t>> hidden_;  // and of how many elements
};

// `6e-08 / 1.1e-06`: least and median, rounded up; `any` where all are exact, `nothing` where all are vacuous, `-` where no sets are known.
std::string in_short(const Shown& shown);
// `these inputs show any change in 61.2% of the elements and relative errors above 1.1e-06 in half of the others (at best 6e-08); vacuous: 0%`.
// `elements`: of the verdict, whose sets may not all be known. Empty where none is.
std::string in_words(const Shown& shown, std::int64_t elements);
// `<100%`: not all; `>0%`: not none.
std::string percent(std::int64_t part, std::int64_t all);

}  // namespace ulpian::diff
