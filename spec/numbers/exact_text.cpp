// Exact numbers as text.
#include <gmp.h>

#include <cctype>
#include <string>

#include "spec/numbers/exact_big.h"

namespace ulpian {
namespace {

constexpr std::size_t DigitLimit = 10000;
constexpr long ExponentLimit = 10000;
constexpr std::size_t ShortDigits = 21;  // a decimal text with more digits is no help to a reader

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string digits_of(mpz_srcptr a, int base = 10) {
  std::string text(mpz_sizeinbase(a, base) + 2, '\0');
  mpz_get_str(text.data(), base, a);
  text.resize(std::char_traits<char>::length(text.c_str()));
  return text;
}

// "[digits]" at the front of text, which is shortened by it.
std::string_view take_digits(std::string_view& text) {
  std::size_t n = 0;
  while (n < text.size() && is_digit(text[n])) ++n;
  const std::string_view digits = text.substr(0, n);
  text.remove_prefix(n);
  return digits;
}

bool take(std::string_view& text, char lower) {
  if (text.empty() || (text.front() != lower && text.front() != std::toupper(lower))) return false;
  text.remove_prefix(1);
  return true;
}

// magnitude < 10^21 in decimals, given as digits with `places` of them behind the point.
std::string with_point(std::string digits, std::size_t places) {
  if (places == 0) return digits;
  if (digits.size() <= places) digits.insert(0, places + 1 - digits.size(), '0');
  digits.insert(digits.size() - places, ".");
  return digits;
}

// d.ddde±x from digits that stand for digits * 10^exponent.
std::string scientific(const std::string& digits, long exponent) {
  const long point = exponent + static_cast<long>(digits.size()) - 1;
  std::string text = digits.substr(0, 1);
  if (digits.size() > 1) text += "." + digits.substr(1);
  return text + (point < 0 ? "e-" : "e+") + std::to_string(std::labs(point));
}

// |a| = digits * 10^exponent with few digits, as text; empty if it is no such number.
std::string decimal(mpq_srcptr a) {
  mpz_t denominator, five, scaled;
  mpz_inits(denominator, five, scaled, nullptr);
  mpz_set(denominator, mpq_denref(a));
  mpz_set_ui(five, 5);
  const mp_bitcnt_t twos = mpz_scan1(denominator, 0);
  mpz_tdiv_q_2exp(denominator, denominator, twos);
  const mp_bitcnt_t fives = mpz_remove(denominator, denominator, five);
  std::string text;
  const mp_bitcnt_t places = std::max(twos, fives);
  if (mpz_cmp_ui(denominator, 1) == 0 && places <= static_cast<mp_bitcnt_t>(ExponentLimit)) {
    mpz_ui_pow_ui(scaled, 10, places);
    mpz_mul(scaled, scaled, mpq_numref(a));
    mpz_tdiv_q(scaled, scaled, mpq_denref(a));
    mpz_abs(scaled, scaled);
    std::string digits = digits_of(scaled);
    const std::size_t significant = digits.find_last_not_of('0') + 1;
    if (significant <= ShortDigits) {
      const bool plain = digits.size() <= ShortDigits && places <= digits.size() + 4;
      if (plain) text = with_point(digits, places);
      else text = scientific(digits.substr(0, significant), static_cast<long>(digits.size() - significant) - static_cast<long>(places));
    }
  }
  mpz_clears(denominator, five, scaled, nullptr);
  return text;
}

// |a| as m * 2^e with a short m; empty if it is no such number.
std::string binary(mpq_srcptr a) {
  if (mpz_popcount(mpq_denref(a)) != 1) return {};
  mpz_t odd;
  mpz_init(odd);
  mpz_abs(odd, mpq_numref(a));
  const mp_bitcnt_t up = mpz_scan1(odd, 0), down = mpz_scan1(mpq_denref(a), 0);
  mpz_tdiv_q_2exp(odd, odd, up);
  std::string text = digits_of(odd);
  mpz_clear(odd);
  if (text.size() > ShortDigits) return {};
  const std::string power = "2^" + std::to_string(static_cast<long>(up) - static_cast<long>(down));
  return text == "1" ? power : text + " * " + power;
}

// For what is too long to be read: nine leading digits.
std::string about(mpq_srcptr a) {
  mpf_t approximate;
  mpf_init2(approximate, 128);
  mpf_set_q(approximate, a);
  mpf_abs(approximate, approximate);
  char digits[16] = {};
  mp_exp_t exponent = 0;
  mpf_get_str(digits, &exponent, 10, 9, approximate);
  mpf_clear(approximate);
  const std::string text = digits;
  return "about " + scientific(text, static_cast<long>(exponent) - static_cast<long>(text.size()));
}

}  // namespace

std::optional<Exact> Exact::parse(std::string_view text) {
  const std::shared_ptr<Big> r = std::make_shared<Big>();
  if (text.starts_with("0x") || text.starts_with("0X")) {
    const std::string digits(text.substr(2));
    if (digits.empty() || digits.size() > DigitLimit) return std::nullopt;
    for (char c : digits)
      if (std::isxdigit(static_cast<unsigned char>(c)) == 0) return std::nullopt;
    mpz_set_str(mpq_numref(r->value), digits.c_str(), 16);
    return Big::finish(r);
  }
  if (text.size() > DigitLimit) return std::nullopt;
  const std::string_view whole = take_digits(text);
  if (whole.empty()) return std::nullopt;
  std::string digits(whole);
  long exponent = 0;
  if (take(text, '.')) {
    const std::string_view fraction = take_digits(text);
    if (fraction.empty()) return std::nullopt;
    digits += fraction;
    exponent = -static_cast<long>(fraction.size());
  }
  if (take(text, 'e')) {
    const bool negative = take(text, '-');
    if (!negative) take(text, '+');
    const std::string_view power = take_digits(text);
    if (power.empty()) return std::nullopt;
    long magnitude = 0;
    for (char c : power) {
      magnitude = magnitude * 10 + (c - '0');
      if (magnitude > ExponentLimit) return std::nullopt;
    }
    exponent += negative ? -magnitude : magnitude;
  }
  if (!text.empty()) return std::nullopt;
  mpz_set_str(mpq_numref(r->value), digits.c_str(), 10);
  if (exponent > 0) {
    mpz_t scale;
    mpz_init(scale);
    mpz_ui_pow_ui(scale, 10, static_cast<unsigned long>(exponent));
    mpz_mul(mpq_numref(r->value), mpq_numref(r->value), scale);
    mpz_clear(scale);
  } else {
    mpz_ui_pow_ui(mpq_denref(r->value), 10, static_cast<unsigned long>(-exponent));
    mpq_canonicalize(r->value);
  }
  return Big::finish(r);
}

std::string Exact::to_string() const {
  switch (kind_) {
    case Kind::Small: return std::to_string(small_);
    case Kind::NegativeZero: return "-0";
    case Kind::Infinite: return negative_ ? "-inf" : "inf";
    case Kind::Nan: return "nan";
    case Kind::Big: break;
  }
  mpq_srcptr a = big_->value;
  const bool short_fraction = mpz_sizeinbase(mpq_numref(a), 10) + mpz_sizeinbase(mpq_denref(a), 10) <= 2 * ShortDigits;
  std::string text = decimal(a);
  if (text.empty()) text = binary(a);
  if (text.empty() && short_fraction) {
    text = digits_of(mpq_numref(a));
    if (text.front() == '-') text.erase(0, 1);
    if (!is_integer()) text += "/" + digits_of(mpq_denref(a));
  }
  if (text.empty()) text = about(a);
  return is_negative() ? (text.starts_with("about ") ? "about -" + text.substr(6) : "-" + text) : text;
}

}  // namespace ulpian
