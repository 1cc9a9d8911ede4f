// Runs a fuzzing harness without libFuzzer: the given files, then mutants of them, in an order that the seed fixes.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
// A harness may have mutations of its own, as with libFuzzer.
extern "C" [[gnu::weak]] std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed);
extern "C" [[gnu::weak]] std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* a, std::size_t a_size, const std::uint8_t* b, std::size_t b_size, std::uint8_t* out, std::size_t most,
                                                               unsigned seed);
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace {

using Input = std::vector<std::uint8_t>;
using Clock = std::chrono::steady_clock;

#if defined(__SANITIZE_ADDRESS__)
constexpr double MostSeconds = 60;
#else
constexpr double MostSeconds = 5;  // of one input
#endif
constexpr std::size_t MostBytes = 64 << 10;  // of a mutant
constexpr long MostMegabytes = 1024;

const Input* current = nullptr;
std::string current_name;

// What a signal handler may call: the guilty input goes to a file, in whatever state the process is.
void keep_current() {
  if (current == nullptr) return;
  const char file[] = "fuzz_crash";
  if (std::FILE* f = std::fopen(file, "wb")) {
    std::fwrite(current->data(), 1, current->size(), f);
    std::fclose(f);
  }
  std::fprintf(stderr, "the input (%s, %zu bytes) is kept in the file %s\n", current_name.c_str(), current->size(), file);
}

void on_signal(int signal) {
  std::signal(signal, SIG_DFL);
  std::fprintf(stderr, "%s\n", signal == SIGALRM ? "an input took too long" : "a crash");
  keep_current();
  std::raise(signal == SIGALRM ? SIGABRT : signal);
}

void run(const Input& input, std::string name) {
  current = &input;
  current_name = std::move(name);
  ::alarm(static_cast<unsigned>(4 * MostSeconds));
  const auto start = Clock::now();
  try {
    LLVMFuzzerTestOneInput(input.data(), input.size());
  } catch (const std::exception& e) {
    std::fprintf(stderr, "an exception: %s\n", e.what());
    keep_current();
    std::exit(1);
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  ::alarm(0);
  if (seconds > MostSeconds) {
    std::fprintf(stderr, "%.1f seconds; the most is %.0f\n", seconds, MostSeconds);
    keep_current();
    std::exit(1);
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
#if !defined(__SANITIZE_ADDRESS__)
  if (usage.ru_maxrss / 1024 > MostMegabytes) {
    std::fprintf(stderr, "%ld MB; the most is %ld\n", usage.ru_maxrss / 1024, MostMegabytes);
    keep_current();
    std::exit(1);
  }
#endif
  current = nullptr;
}

class Mutator {
public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}
  std::size_t below(std::size_t n) { return n == 0 ? 0 : random_() % n; }

  Input mutate(const std::vector<Input>& seeds) {
    Input out = seeds[below(seeds.size())];
    if (LLVMFuzzerCustomMutator != nullptr && below(4) != 0) return mutate_as_the_harness_does(std::move(out), seeds);
    for (std::size_t changes = 1 + below(4); changes-- > 0;) change(out, seeds);
    if (out.size() > MostBytes) out.resize(MostBytes);
    return out;
  }

  void mutate_once(Input& t) { change(t, none_); }

private:
  Input mutate_as_the_harness_does(Input out, const std::vector<Input>& seeds) {
    if (LLVMFuzzerCustomCrossOver != nullptr && below(3) == 0) {
      const Input first = out, &second = seeds[below(seeds.size())];
      out.resize(MostBytes);
      const std::size_t n = LLVMFuzzerCustomCrossOver(first.data(), first.size(), second.data(), second.size(), out.data(), MostBytes, static_cast<unsigned>(random_()));
      out.resize(n);
      if (n == 0) out = first;
    }
    std::size_t size = std::min(out.size(), MostBytes);
    out.resize(MostBytes);
    size = LLVMFuzzerCustomMutator(out.data(), size, MostBytes, static_cast<unsigned>(random_()));
    out.resize(size);
    return out;
  }
  void change(Input& t, const std::vector<Input>& seeds) {
    const std::size_t at = below(t.size());
    const auto where = t.begin() + static_cast<std::ptrdiff_t>(at);
    const std::size_t length = std::min(t.size() - at, 1 + below(16));
    switch (below(8)) {
      case 0:
        if (!t.empty()) t[at] ^= static_cast<std::uint8_t>(1u << below(8));
        return;
      case 1:
        if (!t.empty()) t[at] = Special[below(std::size(Special))];
        return;
      case 2: t.erase(where, where + static_cast<std::ptrdiff_t>(length)); return;
      case 3: {
        const Input part(where, where + static_cast<std::ptrdiff_t>(length));
        t.insert(t.begin() + static_cast<std::ptrdiff_t>(below(t.size() + 1)), part.begin(), part.end());
        return;
      }
      case 4: t.insert(where, 1 + below(4), static_cast<std::uint8_t>(below(256))); return;
      case 5: t.resize(at); return;
      case 6: {  // a piece of another file
        const Input& other = seeds[below(seeds.size())];
        const std::size_t from = below(other.size());
        const std::size_t n = std::min(other.size() - from, 1 + below(64));
        t.insert(where, other.begin() + static_cast<std::ptrdiff_t>(from), other.begin() + static_cast<std::ptrdiff_t>(from + n));
        return;
      }
      default:  // a number of several bytes
        for (std::size_t k = 0; k < length && k < 8; ++k) t[at + k] = below(2) ? 0xff : Special[below(std::size(Special))];
    }
  }
  static constexpr std::uint8_t Special[] = {0, 1, 0x7f, 0x80, 0xff, ' ', '\n', '(', '[', '{', '}', '"', '-', '0', '9'};
  std::mt19937_64 random_;
  const std::vector<Input> none_{Input{}};
};

Mutator* mutator_in_use = nullptr;

void add_files(const std::string& path, std::vector<std::string>& out) {
  namespace fs = std::filesystem;
  if (!fs::exists(path)) return;
  if (!fs::is_directory(path)) {
    out.push_back(path);
    return;
  }
  for (const auto& entry : fs::recursive_directory_iterator(path))
    if (entry.is_regular_file()) out.push_back(entry.path().string());
}

}  // namespace

std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most) {
  Input input(data, data + size);
  mutator_in_use->mutate_once(input);
  input.resize(std::min(input.size(), most));
  std::copy(input.begin(), input.end(), data);
  return input.size();
}

int main(int count, char** arguments) {
  std::uint64_t rounds = 0, seed = 1;
  double seconds = 0;  // 0: no limit
  std::vector<std::string> files;
  for (int k = 1; k < count; ++k) {
    const std::string a = arguments[k];
    if (a == "--rounds" && k + 1 < count) rounds = std::strtoull(arguments[++k], nullptr, 10);
    else if (a == "--seconds" && k + 1 < count) seconds = std::strtod(arguments[++k], nullptr);
    else if (a == "--seed" && k + 1 < count) seed = std::strtoull(arguments[++k], nullptr, 10);
    else if (a.starts_with("-")) {
      std::fprintf(stderr, "usage: %s [--rounds N] [--seconds N] [--seed N] FILE|FOLDER...\nruns the files, then N mutants of them, for N seconds at most\n", arguments[0]);
      return 2;
    } else add_files(a, files);
  }
  if (files.empty()) {
    std::fprintf(stderr, "%s: no files are given\n", arguments[0]);
    return 2;
  }
  for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGALRM}) std::signal(signal, on_signal);
  std::sort(files.begin(), files.end());
  std::vector<Input> seeds;
  for (const std::string& file : files) {
    std::ifstream in(file, std::ios::binary);
    Input input{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    run(input, file);
    if (input.size() <= MostBytes) seeds.push_back(std::move(input));
  }
  Mutator mutator(seed);
  mutator_in_use = &mutator;
  const auto start = Clock::now();
  std::uint64_t done = 0;
  for (; done < rounds && !seeds.empty(); ++done) {
    if (seconds > 0 && std::chrono::duration<double>(Clock::now() - start).count() > seconds) break;
    const Input input = mutator.mutate(seeds);
    run(input, "round " + std::to_string(done) + " of seed " + std::to_string(seed));
  }
  std::printf("%zu files and %llu mutants (seed %llu): no fault\n", files.size(), static_cast<unsigned long long>(done), static_cast<unsigned long long>(seed));
  return 0;
}
