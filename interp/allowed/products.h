// Many inner products at once, in f64. Any order: their users bound the error. Private to this folder.
#pragma once

#include <cstdint>

namespace ulpian::interp::allowed {

// out[b][r][c] += sum over k of x[b][r][k] * y[b][k][c]
struct ProductShape {
  std::int64_t batch = 1, rows = 1, inner = 1, columns = 1;
};
void add_products(const ProductShape& shape, const double* x, const double* y, double* out);
// The same modulo 2^64.
void add_products(const ProductShape& shape, const std::uint64_t* x, const std::uint64_t* y, std::uint64_t* out);
// out + low += the sum, in double-double arithmetic: off by at most inner * 2^-100 times the sum of magnitudes, range permitting.
void add_products_precisely(const ProductShape& shape, const double* x, const double* y, double* out, double* low);

// (high, low) += value, in double-double arithmetic.
inline void add_precisely(double value, double& high, double& low) {
  const double s = high + value, t = s - high;
  const double rest = (high - (s - t)) + (value - t) + low;
  const double h = s + rest;
  low = rest - (h - s);
  high = h;
}

}  // namespace ulpian::interp::allowed
