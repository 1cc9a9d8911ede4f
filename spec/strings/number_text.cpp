#include "spec/strings/number_text.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

namespace ulpian {
namespace {

constexpr std::size_t MostDigits = 5000;  // twice as many as the longest tie of doubles has
constexpr std::int64_t MostExponent = 4000;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view take_digits(std::string_view& text) {
  std::size_t n = 0;
  while (n < text.size() && is_digit(text[n])) ++n;
  const std::string_view out = text.substr(0, n);
  text.remove_prefix(n);
  return out;
}

bool same_word(std::string_view a, std::string_view upper) {
  return a.size() == upper.size() && std::equal(a.begin(), a.end(), upper.begin(), [](char x, char y) { return (x >= 'a' && x <= 'z' ? x - 'a' + 'A' : x) == y; });
}

// 0.digits * 10^exponent. Empty where the exponent is so long that it says nothing else.
Exact of_digits(std::string digits, std::int64_t exponent) {
  const std::size_t zeros = digits.find_first_not_of('0');
  if (zeros == std::string::npos) return Exact(0);
  digits.erase(0, zeros);
  exponent -= static_cast<std::int64_t>(zeros);
  if (exponent > MostExponent) digits = "1", exponent = MostExponent;
  if (exponent < -MostExponent) digits = "1", exponent = -MostExponent;
  if (digits.size() > MostDigits) {
    const bool more = digits.find_first_not_of('0', MostDigits) != std::string::npos;
    digits.resize(MostDigits);
    if (more) digits += '1';  // above what was kept, which is all that a rounding asks
  }
  const auto value = Exact::parse(fmt::format("0.{}e{}", digits, exponent));
  return value ? *value : Exact::nan();
}

// Digits of the exponent, held to a range that no length of digits brings back.
std::optional<std::int64_t> exponent_of(std::string_view text) {
  const bool negative = !text.empty() && text.front() == '-';
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  const std::string_view digits = take_digits(text);
  if (digits.empty() || !text.empty()) return std::nullopt;
  constexpr std::int64_t Most = std::int64_t{1} << 40;
  std::int64_t value = 0;
  for (char c : digits) value = std::min(Most, value * 10 + (c - '0'));
  return negative ? -value : value;
}

struct Decimal {
  std::int64_t digits = 0;
  int exponent = 0;  // digits * 10^exponent
};

Decimal nearest_decimal(double value, int digits) {  // value > 0
  std::string text = fmt::format("{:.{}e}", value, digits - 1);
  const std::size_t e = text.find('e');
  const int exponent = std::atoi(text.c_str() + e + 1) - (digits - 1);
  text.resize(e);
  std::erase(text, '.');
  return {std::atoll(text.c_str()), exponent};
}

std::string plain(Decimal d) {
  for (; d.digits % 10 == 0; ++d.exponent) d.digits /= 10;
  std::string text = std::to_string(d.digits);
  if (d.exponent >= 0) return text.append(static_cast<std::size_t>(d.exponent), '0');
  const auto places = static_cast<std::size_t>(-d.exponent);
  if (text.size() <= places) text.insert(0, places + 1 - text.size(), '0');
  text.insert(text.size() - places, ".");
  return text;
}

}  // namespace

Exact number_of_text(std::string_view text) {
  const bool negative = !text.empty() && text.front() == '-';
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  if (same_word(text, "INF")) return Exact::infinity(negative);
  const std::string_view whole = take_digits(text);
  std::string_view part;
  if (!text.empty() && text.front() == '.') {
    text.remove_prefix(1);
    part = take_digits(text);
  }
  if (whole.empty() && part.empty()) return Exact::nan();
  std::int64_t exponent = 0;
  if (!text.empty()) {
    if (text.front() != 'e' && text.front() != 'E') return Exact::nan();
    const auto written = exponent_of(text.substr(1));
    if (!written) return Exact::nan();
    exponent = *written;
  }
  const Exact value = of_digits(std::string(whole) + std::string(part), exponent + static_cast<std::int64_t>(whole.size()));
  if (!negative) return value;
  return value.is_zero() ? Exact::negative_zero() : -value;
}

Bits element_of_text(ElementType type, std::string_view text, CastMode mode) {
  const Exact value = number_of_text(text);
  if (type == ElementType::Bool) return value.is_zero() ? 0 : 1;
  if (!is_float(type) && value.is_nan()) return 0;
  return value.round_to(type, mode);
}

std::string text_of_element(ElementType type, Bits bits) {
  if (type == ElementType::Bool) return bits ? "1" : "0";
  if (!is_float(type)) return Exact::of(type, bits).to_string();
  if (is_nan(type, bits)) return "NaN";
  const double value = to_double(type, bits);
  const std::string sign = sign_bit(type, bits) ? "-" : "";
  if (is_infinite(type, bits)) return sign + "INF";
  if (value == 0) return sign + "0";
  constexpr int MostDigitsOfDouble = 17;
  for (int n = 1;; ++n) {
    const Decimal nearest = nearest_decimal(value < 0 ? -value : value, n);
    // Above a power of two elements are farther apart than below: the next decimal may read back where the nearest, below, does not.
    for (const Decimal d : {nearest, Decimal{nearest.digits + 1, nearest.exponent}})
      if (n == MostDigitsOfDouble || element_of_text(type, fmt::format("{}{}e{}", sign, d.digits, d.exponent)) == bits) return sign + plain(d);
  }
}

}  // namespace ulpian
