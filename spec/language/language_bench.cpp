// How long elaboration takes: every example of every shipped operator (or of those named as arguments), each timed on its own.
#include <algorithm>
#include <chrono>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "spec/language/elaborate.h"

namespace {

using namespace ulpian;
using namespace ulpian::language;

struct Timing {
  double microseconds;
  std::string title;
};

// The best of some runs: what the work takes, without what other processes take.
double time_of(const Specification& spec, const Call& call) {
  constexpr int Runs = 20;
  double best = 1e300;
  for (int k = 0; k < Runs; ++k) {
    const auto start = std::chrono::steady_clock::now();
    auto program = elaborate(spec, call);
    const std::chrono::duration<double, std::micro> taken = std::chrono::steady_clock::now() - start;
    if (!program) return 0;
    best = std::min(best, taken.count());
  }
  return best;
}

double at(const std::vector<Timing>& sorted, double part) { return sorted[static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1))].microseconds; }

}  // namespace

int main(int argc, char** argv) {
  auto loaded = Specification::load();
  if (!loaded) {
    fmt::print(stderr, "{}\n", to_string(loaded.error()));
    return 2;
  }
  const Specification& spec = **loaded;
  std::vector<Timing> all;
  for (const std::string& name : spec.names()) {
    if (argc > 1 && std::find(argv + 1, argv + argc, name) == argv + argc) continue;
    for (const OperatorDefinition* d : spec.definitions(name)) {
      auto examples = examples_of(spec, *d);
      if (!examples) continue;
      for (const Example& e : *examples)
        if (const double t = time_of(spec, e.call); t > 0) all.push_back({t, e.title});
    }
  }
  if (all.empty()) return 2;
  std::sort(all.begin(), all.end(), [](const Timing& a, const Timing& b) { return a.microseconds < b.microseconds; });
  double sum = 0;
  for (const Timing& t : all) sum += t.microseconds;
  fmt::print("{} calls: mean {:.1f}, median {:.1f}, p95 {:.1f}, longest {:.1f} microseconds\n", all.size(), sum / static_cast<double>(all.size()), at(all, 0.5),
             at(all, 0.95), all.back().microseconds);
  for (std::size_t k = all.size() < 10 ? 0 : all.size() - 10; k < all.size(); ++k) fmt::print("  {:8.1f}  {}\n", all[k].microseconds, all[k].title);
  return 0;
}
