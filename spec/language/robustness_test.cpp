// Hostile definitions: every text ends in a Result, soon, and without much memory or stack.
#include <sys/resource.h>

#include <chrono>
#include <random>

#include <fmt/format.h>

#include "spec/language/language_test_support.h"
#include "spec/language/profiles.h"
#include "spec/numbers/slow_build_test_support.h"

namespace ulpian::language::testing {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::int64_t peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

// What the machine and the build may add to "about a second".
constexpr double Patience = 15 * SlowBuild;

// Elaborates test.Op of a hostile text on x: f32[n], f32[7]; the outcome as text, after checks that it came soon.
std::string outcome(const std::string& name, const std::string& text) {
  std::string out;
  std::fflush(stdout);
  for (const ExtentDescription& extent : {symbol("n"), ExtentDescription{7, {}}}) {
    const auto start = Clock::now();
    auto r = elaborated(text, {input(ElementType::F32, {extent})});
    if (r) {
      const auto broken = core::verify(*r);
      EXPECT_FALSE(broken) << name << ": " << *broken;
      core::to_string(*r);
    }
    out = r ? "a program" : std::string(name_of(r.error().kind)) + ": " + r.error().message;
    const double taken = seconds_since(start);
    EXPECT_LT(taken, Patience) << name << ": " << out;
    if (taken > 1) fmt::print("{} took {:.1f} s: {}\n", name, taken, out.substr(0, 100));
    EXPECT_LT(out.size(), 5000u) << name;
  }
  return out;
}

std::string op(const std::string& clauses) { return "op test.Op {\nin x: f32[N]\n" + clauses + "\nout y: f32[]\ny[] = 0\n}\n"; }

std::string many(const std::string& s, int n) {
  std::string out;
  for (int k = 0; k < n; ++k) out += s;
  return out;
}

TEST(Hostile, NestingEndsInAMessage) {
  for (int n : {50, 150, 5000, 100000}) {
    const std::pair<const char*, std::string> cases[] = {
        {"parentheses", "a = " + many("(", n) + "1" + many(")", n)},
        {"brackets", "a = " + many("[", n) + "1" + many("]", n)},
        {"open brackets", "a = " + many("[(", n)},
        {"minus", "a = " + many("- ", n) + "1"},
        {"not", "a = " + many("not ", n) + "true"},
        {"powers", "a = " + many("1 ** ", n) + "1"},
        {"sums", "a = " + many("1 + ", n) + "1"},
        {"joins", "a = " + many("[1] ++ ", n) + "[]"},
        {"ifs", "a = " + many("if true then 1 else ", n) + "1"},
        {"conditions", "a = " + many("if ", n) + "true" + many(" then true else true", n)},
        {"lets", "a = " + many("let b = 1 in ", n) + "1"},
        {"values of lets", "a = " + many("let b = ", n) + "1" + many(" in b", n)},
        {"lambdas", "a = " + many("fn(b) = ", n) + "1"},
        {"reductions", "a = " + many("sum(k < 2) ", n) + "1"},
        {"comprehensions", "a = " + many("[", n) + "1" + many(" for k < 1]", n)},
        {"reads", "a = x" + many("[x", n) + many("]", n)},
        {"elses", "a = x[0]" + many(" else x[0]", n)},
        {"calls", "a = " + many("abs(", n) + "1" + many(")", n)},
        {"indices", "a = [1]" + many("[0]", n)},
        {"slices", "a = [1]" + many("[:]", n)},
        {"braces", many("{", n)},
        {"comparisons", "a = " + many("1 < ", n) + "1"},
        {"choices", "a = " + many("one of (", n) + "1" + many(")", n)},
        {"messages", "require false \"" + many("{", n) + "1" + many("}", n) + "\""},
    };
    for (const auto& [name, text] : cases) outcome(fmt::format("{} {}", n, name), op(text));
  }
}

TEST(Hostile, NumbersAreHeldToASize) {
  const std::pair<std::string, std::string> cases[] = {
      {"1e9999999", "a = 1e9999999"},
      {"1e-9999999", "a = 1e-9999999"},
      {"a million hexadecimal digits", "a = 0x" + many("f", 1000000 - 200)},
      {"half a million digits", "a = " + many("9", 500000)},
      {"0x", "a = 0x"},
      {"squares", "a = fold(fn(p, q) = p * p, 3, range(60))"},
      {"quotients", "a = fold(fn(p, q) = p * p / 7 + 1 / 3, 1 / 3, range(200))"},
      {"powers of powers", "a = 2 ** 4096 ** 4096"},
      {"power", "a = 3 ** 4096 ** 3 ** 3"},
      {"shown", "a = 2 ** 4000\nrequire false \"{a ** 200}\""},
      {"divisions", "a = [1 div 0, 1 mod 0]"},
      {"least", "a = -9223372036854775807 - 1\nb = a quot -1\nc = abs(a)\nd = [1][a]\ne = [1, 2][a:]"},
      {"casts", "a = [cast(i8, 1e300), cast(u64, -1), cast(f8e4m3fn, inf), cast(f8e8m0, -1), cast(f8e8m0, 0), cast(f4e2m1, nan), cast(bool, 3), cast(i8, nan)]"},
  };
  for (const auto& [name, text] : cases) outcome(name, op(text));
}

TEST(Hostile, ListsAndStringsAreHeldToASize) {
  const std::pair<std::string, std::string> cases[] = {
      {"range", "a = range(1000000000000)"},
      {"zeros", "a = zeros(1000000000000)"},
      {"comprehension", "a = [k for k < 9000000000000000000]"},
      {"doubling", "a = fold(fn(p, q) = p ++ p, [1], range(100))"},
      {"doubling by splices", "a = fold(fn(p, q) = [p..., p...], [1], range(100))"},
      {"doubling by clauses", [] {
         std::string s = "a0 = [1]\n";
         for (int k = 0; k < 100; ++k) s += fmt::format("a{} = a{} ++ a{}\n", k + 1, k, k);
         return s;
       }()},
      {"many splices", "b = range(1000000)\na = [" + many("b..., ", 2000) + "]"},
      {"lists in lists by clauses", [] {
         std::string s = "a0 = [1]\n";
         for (int k = 0; k < 3000; ++k) s += fmt::format("a{} = [a{}]\n", k + 1, k);
         return s + "require false \"{a3000}\"";
       }()},
      {"shared lists", "a = fold(fn(p, q) = [p, p], 1, range(60))\nb = a == a\nc = a + a\nrequire false \"{a}\""},
      {"strings", "a = fold(fn(p, q) = p ++ p, \"ab\", range(100))"},
      {"replace", "b = fold(fn(p, q) = p ++ p, \"a\", range(19))\na = replace(b, \"a\", b)"},
      {"split", "b = fold(fn(p, q) = p ++ p, \"a\", range(19))\na = split(b, \"a\")"},
      {"find", "b = range(1000000)\na = [find(b, k) for k in b]"},
      {"sort", "a = sort(reverse(range(1000000)))"},
      {"select by an index", "b = range(1000000)\na = sum(k < N) b[k]"},
      {"axes", "z[i... < range(300000)...] = 0"},
  };
  for (const auto& [name, text] : cases) outcome(name, op(text));
}

TEST(Hostile, RecursionEnds) {
  const std::pair<std::string, std::string> cases[] = {
      {"itself", "fn f(n) = f(n + 1)\na = f(0)"},
      {"each other", "fn f(n) = g(n)\nfn g(n) = f(n)\na = f(0)"},
      {"exponential", "fn f(n) = if n == 0 then 1 else f(n - 1) + f(n - 1)\na = f(100)"},
      {"lambdas", "a = (fn(f) = f(f))(fn(f) = f(f))"},
      {"deep expressions", "fn f(n) = if n == 0 then 1 else " + many("(", 8) + "f(n - 1)" + many(" + 1)", 8) + "\na = f(399)"},
      {"lists of calls", "fn f(n) = [f(n + 1)]\na = f(0)"},
      {"branches on symbols", "fn f(n) = if N == n then f(n + 1) else f(n + 2)\na = f(0)"},
      {"refusals on symbols", "fn f(n) = if n > 300 then refuse(\"{n}\") else if N == n then f(n + 1) else f(n + 2)\na = f(0)"},
      {"terms", "fn f(n, v) = if n == 0 then v else f(n - 1, exp(v))\nz[i < N] = f(390, x[i])"},
      {"terms by clauses", [] {
         std::string s = "fn c0(v) = v\n";
         for (int k = 0; k < 2000; ++k) s += fmt::format("fn c{}(v) = exp(c{}(v))\n", k + 1, k);
         return s + "z[i < N] = c2000(x[i])";
       }()},
      {"shared terms", "fn f(n, v) = if n == 0 then v else f(n - 1, exp(v) + exp(-v))\nz[i < N] = f(390, x[i])"},
      {"shared choices", "fn f(n, v, w) = if n == 0 then v else f(n - 1, if N > n then v else w, if N > n + 1 then w else v)\nz[i < N] = x[i] + f(300, 1, 2)"},
      {"polynomials", "fn f(n, v) = if n == 0 then v else f(n - 1, v * v + N)\na = f(300, N)\nb = a < 1"},
      {"reductions", "fn f(n, v) = if n == 0 then v else f(n - 1, sum(k < N) (v + x[k]))\nz[i < N] = f(300, x[i])"},
      {"shared reductions", "fn f(n, v) = if n == 0 then v else f(n - 1, sum(k < N) (v * v + x[k]))\nz[i < N] = f(300, x[i])"},
      {"operators", "a = test.Op(x)"},
      {"messages", "fn f(n) = refuse(\"{f(n + 1)}\")\na = f(0)"},
  };
  for (const auto& [name, text] : cases) {
    const std::string got = outcome(name, op(text));
    fmt::print("{}: {}\n", name, got.substr(0, 120));
  }
}

TEST(Hostile, ManyClausesAndValues) {
  outcome("clauses", op([] {
            std::string s;
            for (int k = 0; k < 30000; ++k) s += fmt::format("a{} = {}\n", k, k);
            return s;
          }()));
  outcome("parameters", op("fn f(" + many("a, ", 100000) + "b) = " + many("b + ", 1000) + "b\na = f(range(100001)...)"));
  outcome("values of an example", "op test.Op {\nin x: f32[N]\nout y: f32[]\ny[] = 0\nexample {" + many(" x = 1", 50000) + " }\n}");
  outcome("a large file", many("# nothing\n", 200000));
}

// --- mutations of what is shipped

struct Mutator {
  std::mt19937 random;
  std::size_t below(std::size_t n) { return n ? random() % n : 0; }

  // Token by token, keeping the blanks between.
  static std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> out;
    auto kind = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' ? 1 : std::isspace(static_cast<unsigned char>(c)) ? 2 : 3; };
    for (char c : text) {
      if (!out.empty() && kind(out.back().back()) == kind(c) && kind(c) != 3) out.back() += c;
      else out.emplace_back(1, c);
    }
    return out;
  }

  std::string mutate(const std::vector<std::string>& original, const std::vector<std::string>& pool) {
    std::vector<std::string> t = original;
    for (std::size_t changes = 1 + below(3); changes-- > 0 && !t.empty();) {
      const std::size_t at = below(t.size());
      switch (below(6)) {
        case 0: t.erase(t.begin() + static_cast<std::ptrdiff_t>(at)); break;
        case 1: t.insert(t.begin() + static_cast<std::ptrdiff_t>(at), t[below(t.size())]); break;
        case 2: std::swap(t[at], t[below(t.size())]); break;
        case 3: t[at] = pool[below(pool.size())]; break;
        case 4: t[at][below(t[at].size())] = static_cast<char>(below(256)); break;
        default: {
          const char* words[] = {"Z", "0", "-1", "inf", "nan", "absent", "f8e8m0", "c64", "string", "bool", "[]", "9223372036854775807", "i4", "x", "\"\"", "pi",
                                 "type_of(1)", "type_of(0.5)", "measured", "unspecified", "concatenate", "random", "range"};
          t[at] = words[below(std::size(words))];
        }
      }
    }
    std::string out;
    for (const std::string& s : t) out += s;
    return out;
  }
};

TEST(Hostile, MutatedDefinitionsEndInAResult) {
  const char* more = std::getenv("ULPIAN_FUZZ_ROUNDS");
  const int rounds = more ? std::atoi(more) : 6;
  constexpr unsigned Seed = 20240607;
  Mutator m{std::mt19937(Seed)};
  std::vector<std::string> pool;
  for (const EmbeddedFile& f : embedded_files())
    for (std::string& t : Mutator::split({f.text, f.size}))
      if (t.size() < 20 && pool.size() < 5000) pool.push_back(std::move(t));
  int texts = 0, parsed = 0, programs = 0;
  double longest = 0;
  for (const EmbeddedFile& f : embedded_files()) {
    const auto tokens = Mutator::split({f.text, f.size});
    for (int k = 0; k < rounds; ++k) {
      const std::string text = m.mutate(tokens, pool);
      const auto start = Clock::now();
      ++texts;
      const SourceText source{"mutant.ulp", text};
      if (f.kind == EmbeddedFile::Kind::Profile) {
        ASSERT_NO_THROW((void)parse_profiles(source)) << text;
        continue;
      }
      auto spec = f.kind == EmbeddedFile::Kind::Prelude ? Specification::of(std::span(&source, 1), {}) : Specification::load(std::span(&source, 1));
      if (!spec) continue;
      ++parsed;
      // The mutant's own names: asking for others would parse all shipped files.
      auto alone = Specification::of({}, std::span(&source, 1));
      if (!alone) continue;
      for (const std::string& name : (*alone)->names())
        for (const OperatorDefinition* d : (*spec)->definitions(name)) {
          if (!d->file->user) continue;
          auto examples = examples_of(**spec, *d);
          if (!examples) continue;
          for (std::size_t e = 0; e < examples->size(); e += 1 + examples->size() / 4) {
            try {
              auto p = elaborate(**spec, (*examples)[e].call);
              if (!p) continue;
              ++programs;
              const auto broken = core::verify(*p);
              ASSERT_FALSE(broken) << *broken << "\n" << text;
            } catch (const std::exception& x) {
              FAIL() << x.what() << "\n" << (*examples)[e].title << "\n" << text;
            }
          }
        }
      longest = std::max(longest, seconds_since(start));
      ASSERT_LT(seconds_since(start), Patience) << text;
    }
  }
  fmt::print("seed {}: {} texts, {} parse, {} programs; the longest took {:.2f} s; peak {} MB\n", Seed, texts, parsed, programs, longest, peak_megabytes());
}

}  // namespace
}  // namespace ulpian::language::testing
