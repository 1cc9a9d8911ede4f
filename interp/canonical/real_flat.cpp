// Numbers of which only bounds are kept, and sums of products in constant space.
#include "interp/canonical/real_node.h"
#include "spec/numbers/exact_big.h"

namespace ulpian::interp {

namespace {

// Rationals beyond this are slower than any bounds that could matter.
constexpr std::size_t MostExactBits = 8192;

Real within(Enclosure bounds) {
  auto node = std::make_shared<Real::Node>();
  node->within = std::move(bounds);
  return Real(std::shared_ptr<const Real::Node>(std::move(node)));
}

bool is_plain(const Real& a) { return a.exact() ? a.exact()->is_finite() : !a.node()->is_sum; }
bool is_point(const Enclosure& a) { return mpfr_equal_p(static_cast<mpfr_srcptr>(a.low), static_cast<mpfr_srcptr>(a.high)) != 0; }

}  // namespace

Real flat(Real a, int bits) {
  if (a.exact() ? !a.exact()->is_finite() || a.exact()->bits() <= MostExactBits : a.node()->is_sum || a.node()->within) return a;
  return within(Encloser(bits)(a));
}

std::pair<Exact, Exact> bounds_of(const Real& a, int bits) {
  if (a.exact()) return {*a.exact(), *a.exact()};
  const Enclosure e = Encloser(bits)(a);
  return {exact_of(e.low), exact_of(e.high)};
}

namespace {

// numerator / 2^twos of a number that is so; of others nothing.
struct Dyadic {
  mpz_srcptr numerator = nullptr;
  mp_bitcnt_t twos = 0;
};
std::optional<Dyadic> dyadic(const Exact& a, mpz_ptr room) {
  if (const auto small = a.to_int64()) return mpz_set_si(room, *small), Dyadic{room, 0};
  const Exact::Big* big = Exact::Big::within(a);
  if (!big) return std::nullopt;
  const mp_bitcnt_t twos = mpz_scan1(mpq_denref(big->value), 0);
  if (mpz_sizeinbase(mpq_denref(big->value), 2) != twos + 1) return std::nullopt;
  return Dyadic{mpq_numref(big->value), twos};
}

// A sum of numbers that floats and their products are, without common divisors to look for: numerator / 2^twos.
class DyadicSum {
public:
  DyadicSum() { mpz_inits(sum_, term_, x_, y_, nullptr); }
  ~DyadicSum() { mpz_clears(sum_, term_, x_, y_, nullptr); }
  DyadicSum(const DyadicSum&) = delete;
  DyadicSum& operator=(const DyadicSum&) = delete;

  bool any() const { return any_; }
  std::size_t bits() const { return mpz_sizeinbase(sum_, 2) + twos_; }
  // False for what is no such number, and for zeros, whose signs count.
  bool add_product(const Exact& a, const Exact& b) {
    if (a.is_zero() || b.is_zero()) return false;
    const auto x = dyadic(a, x_), y = dyadic(b, y_);
    if (!x || !y) return false;
    mpz_mul(term_, x->numerator, y->numerator);
    const mp_bitcnt_t twos = x->twos + y->twos;
    if (twos > twos_) mpz_mul_2exp(sum_, sum_, twos - twos_), twos_ = twos;
    else mpz_mul_2exp(term_, term_, twos_ - twos);
    mpz_add(sum_, sum_, term_);
    return any_ = true;
  }
  Exact take() {
    const auto big = std::make_shared<Exact::Big>();
    mpz_set(mpq_numref(big->value), sum_);
    mpz_mul_2exp(mpq_denref(big->value), mpq_denref(big->value), twos_);
    mpq_canonicalize(big->value);
    mpz_set_ui(sum_, 0);
    twos_ = 0;
    any_ = false;
    return Exact::Big::finish(big);
  }

private:
  mpz_t sum_, term_, x_, y_;
  mp_bitcnt_t twos_ = 0;
  bool any_ = false;
};

}  // namespace

struct FlatSum::State {
  explicit State(int precision) : bits(precision), total(precision), low(precision), high(precision) {}
  int bits;
  DyadicSum dyadics;
  std::optional<Exact> rational;
  bool irrational = false;
  Enclosure total;   // of the irrational terms
  Bound low, high;   // room for one term

  void add(const Enclosure& a) {
    if (!irrational) {
      total = a;
      irrational = true;
      return;
    }
    mpfr_add(total.low, total.low, a.low, MPFR_RNDD);
    mpfr_add(total.high, total.high, a.high, MPFR_RNDU);
  }
  void add(const Exact& a, const Exact& b) {
    if (!dyadics.add_product(a, b)) return add(a * b);
    if (dyadics.bits() > MostExactBits) add(dyadics.take());
  }
  void settle() {
    if (dyadics.any()) add(dyadics.take());
  }
  void add(const Exact& a) {
    rational = rational ? *rational + a : a;
    if (rational->bits() <= MostExactBits) return;
    add(enclose(*rational, bits));
    rational.reset();
  }
  // A number times a product's other factor, which is a point: the longest sums are of this kind.
  void add_scaled(const Enclosure& a, mpfr_srcptr factor) {
    const bool flip = mpfr_sgn(factor) < 0;
    mpfr_mul(low, flip ? a.high : a.low, factor, MPFR_RNDD);
    mpfr_mul(high, flip ? a.low : a.high, factor, MPFR_RNDU);
    if (!irrational) mpfr_set_zero(total.low, 1), mpfr_set_zero(total.high, 1), irrational = true;
    mpfr_add(total.low, total.low, low, MPFR_RNDD);
    mpfr_add(total.high, total.high, high, MPFR_RNDU);
  }
};

FlatSum::FlatSum(int bits) : state_(std::make_unique<State>(bits)) {}
FlatSum::~FlatSum() = default;

bool FlatSum::add(const Real& a) {
  if (!is_plain(a)) return false;
  if (a.exact()) state_->add(*a.exact(), Exact(1));
  else state_->add(Encloser(state_->bits)(a));
  return true;
}

bool FlatSum::add_product(const Real& a, const Real& b) {
  if (!is_plain(a) || !is_plain(b)) return false;
  State& s = *state_;
  if (a.exact() && b.exact()) {
    s.add(*a.exact(), *b.exact());
    return true;
  }
  // The sign of a zero would follow from the other factor's.
  if ((a.exact() && a.exact()->is_zero()) || (b.exact() && b.exact()->is_zero())) return false;
  const Enclosure x = Encloser(s.bits)(a), y = Encloser(s.bits)(b);
  if (is_point(y)) s.add_scaled(x, y.low);
  else if (is_point(x)) s.add_scaled(y, x.low);
  else s.add(multiply(x, y));
  return true;
}

std::optional<Real> FlatSum::result() const {
  State& s = *state_;
  s.settle();
  if (!s.irrational) return s.rational ? std::optional<Real>(*s.rational) : std::nullopt;
  if (!s.rational || s.rational->is_zero()) return within(s.total);
  return within(ulpian::interp::add(s.total, enclose(*s.rational, s.bits)));
}

}  // namespace ulpian::interp
