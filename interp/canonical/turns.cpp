#include "interp/canonical/turns.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "spec/numbers/ensure.h"

namespace ulpian::interp {
namespace {

constexpr std::int64_t MostDenominator = std::int64_t{1} << 20;
constexpr std::size_t MostProducts = std::size_t{1} << 20;

// cos(2 pi t) is even, of period 1, and -cos(2 pi (1/2 - t)); at 0, 1/6 and 1/4 it is rational.
Cosines folded(std::int64_t numerator, std::int64_t denominator, Exact coefficient) {
  numerator %= denominator;
  if (numerator < 0) numerator += denominator;
  if (2 * numerator > denominator) numerator = denominator - numerator;
  if (4 * numerator > denominator) {
    // 1/2 - n/d = (d - 2 n) / (2 d)
    numerator = denominator - 2 * numerator;
    denominator *= 2;
    coefficient = -coefficient;
  }
  const std::int64_t common = std::gcd(numerator, denominator);
  numerator /= common;
  denominator /= common;
  if (coefficient.is_zero() || (numerator == 1 && denominator == 4)) return {};
  if (numerator == 1 && denominator == 6) return {{{0, 1}, coefficient / Exact(2)}};
  if (numerator == 0) denominator = 1;
  return {{{numerator, denominator}, coefficient}};
}

// Numerator and denominator of a rational in [0, 1), by its continued fraction; empty where the denominator is too large.
std::optional<Turn> fraction_of(const Exact& value) {
  std::int64_t p0 = 0, q0 = 1, p1 = 1, q1 = 0;
  Exact rest = value;
  for (;;) {
    const Exact whole = rest.floor();
    const auto a = whole.to_int64();
    if (!a || *a > MostDenominator) return std::nullopt;
    const std::int64_t p = *a * p1 + p0, q = *a * q1 + q0;
    if (q > MostDenominator) return std::nullopt;
    p0 = p1, q0 = q1, p1 = p, q1 = q;
    rest = rest - whole;
    if (rest.is_zero()) return Turn{p1, q1};
    rest = Exact(1) / rest;
  }
}

std::vector<std::int64_t> prime_divisors(std::int64_t n) {
  std::vector<std::int64_t> primes;
  for (std::int64_t p = 2; p * p <= n; ++p) {
    if (n % p != 0) continue;
    primes.push_back(p);
    while (n % p == 0) n /= p;
  }
  if (n > 1) primes.push_back(n);
  return primes;
}

}  // namespace

std::optional<Cosines> cosine_of(const Exact& turns) {
  const auto t = fraction_of(turns - turns.floor());
  if (!t) return std::nullopt;
  return folded(t->numerator, t->denominator, Exact(1));
}

Cosines constant(const Exact& value) {
  if (value.is_zero()) return {};
  return {{{0, 1}, value}};
}

Cosines add(const Cosines& a, const Cosines& b) {
  Cosines out;
  out.reserve(a.size() + b.size());
  auto x = a.begin();
  auto y = b.begin();
  while (x != a.end() || y != b.end()) {
    if (y == b.end() || (x != a.end() && x->turn < y->turn)) {
      out.push_back(*x++);
    } else if (x == a.end() || y->turn < x->turn) {
      out.push_back(*y++);
    } else {
      Exact sum = x->coefficient + y->coefficient;
      if (!sum.is_zero()) out.push_back({x->turn, std::move(sum)});
      ++x, ++y;
    }
  }
  return out;
}

Cosines scale(const Cosines& a, const Exact& factor) {
  if (factor.is_zero()) return {};
  Cosines out = a;
  for (Cosine& c : out) c.coefficient = c.coefficient * factor;
  return out;
}

// cos a cos b = (cos(a + b) + cos(a - b)) / 2
std::optional<Cosines> multiply(const Cosines& a, const Cosines& b) {
  if (a.size() * b.size() > MostProducts) return std::nullopt;
  std::map<Turn, Exact> sum;
  for (const Cosine& x : a)
    for (const Cosine& y : b) {
      const std::int64_t common = std::lcm(x.turn.denominator, y.turn.denominator);
      if (common > MostDenominator) return std::nullopt;
      const std::int64_t n = x.turn.numerator * (common / x.turn.denominator), m = y.turn.numerator * (common / y.turn.denominator);
      const Exact half = x.coefficient * y.coefficient / Exact(2);
      for (const std::int64_t k : {n + m, n - m})
        for (const Cosine& c : folded(k, common, half)) sum[c.turn] = sum[c.turn] + c.coefficient;
    }
  Cosines out;
  for (auto& [turn, coefficient] : sum)
    if (!coefficient.is_zero()) out.push_back({turn, coefficient});
  return out;
}

std::optional<Exact> rational(const Cosines& a) {
  if (a.empty()) return Exact(0);
  if (a.size() == 1 && a.front().turn.numerator == 0) return a.front().coefficient;
  return std::nullopt;
}

Enclosure enclose(const Cosines& a, mpfr_prec_t precision) {
  Enclosure sum = enclose(Exact(0), precision);
  for (const Cosine& c : a) {
    const Enclosure factor = enclose(c.coefficient, precision);
    sum = add(sum, c.turn.numerator == 0 ? factor : multiply(factor, cosine_of_turn(c.turn.numerator, c.turn.denominator, precision)));
  }
  return sum;
}

// With N the common denominator and z = e^(2 pi i / N), twice the sum is f(z) for f = sum of c (x^a + x^(N-a)) modulo x^N - 1. The product
// g of 1 - x^(N/p) over the primes p of N vanishes at every N-th root of unity that is not primitive, and at no primitive one. So f g
// vanishes at all N-th roots, that is f g = 0 modulo x^N - 1, exactly if f vanishes at the primitive ones, that is f(z) = 0.
std::optional<bool> is_zero(const Cosines& a) {
  std::int64_t n = 1;
  for (const Cosine& c : a) {
    n = std::lcm(n, c.turn.denominator);
    if (n > MostDenominator) return std::nullopt;
  }
  std::vector<Exact> f(static_cast<std::size_t>(n));
  for (const Cosine& c : a) {
    const std::int64_t k = c.turn.numerator * (n / c.turn.denominator);
    for (const std::int64_t at : {k, (n - k) % n}) f[static_cast<std::size_t>(at)] = f[static_cast<std::size_t>(at)] + c.coefficient;
  }
  for (const std::int64_t p : prime_divisors(n)) {
    std::vector<Exact> g(f.size());
    for (std::int64_t k = 0; k < n; ++k) g[static_cast<std::size_t>(k)] = f[static_cast<std::size_t>(k)] - f[static_cast<std::size_t>((k - n / p + n) % n)];
    f = std::move(g);
  }
  return std::all_of(f.begin(), f.end(), [](const Exact& c) { return c.is_zero(); });
}

}  // namespace ulpian::interp
