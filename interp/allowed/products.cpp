#include "interp/allowed/products.h"

#include <vector>

namespace ulpian::interp::allowed {
namespace {

using Row = void (*)(const double* x, const double* y, double* out, std::int64_t inner, std::int64_t columns);

// out[c] += sum over k of x[k] * y[k][c], four k at a time so that `out` is loaded and stored less often.
[[gnu::always_inline]] inline void row_of_products(const double* x, const double* y, double* __restrict out, std::int64_t inner, std::int64_t columns) {
  std::int64_t k = 0;
  for (; k + 4 <= inner; k += 4) {
    const double a = x[k], b = x[k + 1], c = x[k + 2], d = x[k + 3];
    const double *y0 = y + k * columns, *y1 = y0 + columns, *y2 = y1 + columns, *y3 = y2 + columns;
    for (std::int64_t j = 0; j < columns; ++j) out[j] += (a * y0[j] + b * y1[j]) + (c * y2[j] + d * y3[j]);
  }
  for (; k < inner; ++k)
    for (std::int64_t j = 0; j < columns; ++j) out[j] += x[k] * y[k * columns + j];
}

void row_portable(const double* x, const double* y, double* out, std::int64_t inner, std::int64_t columns) { row_of_products(x, y, out, inner, columns); }
#if defined(__x86_64__)
[[gnu::target("avx2")]] void row_avx2(const double* x, const double* y, double* out, std::int64_t inner, std::int64_t columns) {
  row_of_products(x, y, out, inner, columns);
}
Row best_row() { return __builtin_cpu_supports("avx2") ? row_avx2 : row_portable; }
#else
Row best_row() { return row_portable; }
#endif

}  // namespace

void add_products(const ProductShape& s, const double* x, const double* y, double* out) {
  const Row row = best_row();
  if (s.columns < 4 && s.rows > s.columns) {
    // Long rows are faster: the transposed product.
    std::vector<double> turned(static_cast<std::size_t>(s.inner * s.rows)), columns(static_cast<std::size_t>(s.columns * s.inner)), result(static_cast<std::size_t>(s.rows));
    for (std::int64_t b = 0; b < s.batch; ++b) {
      const double *xb = x + b * s.rows * s.inner, *yb = y + b * s.inner * s.columns;
      double* o = out + b * s.rows * s.columns;
      for (std::int64_t r = 0; r < s.rows; ++r)
        for (std::int64_t k = 0; k < s.inner; ++k) turned[static_cast<std::size_t>(k * s.rows + r)] = xb[r * s.inner + k];
      for (std::int64_t c = 0; c < s.columns; ++c) {
        for (std::int64_t k = 0; k < s.inner; ++k) columns[static_cast<std::size_t>(k)] = yb[k * s.columns + c];
        for (std::int64_t r = 0; r < s.rows; ++r) result[static_cast<std::size_t>(r)] = 0;
        row(columns.data(), turned.data(), result.data(), s.inner, s.rows);
        for (std::int64_t r = 0; r < s.rows; ++r) o[r * s.columns + c] += result[static_cast<std::size_t>(r)];
      }
    }
    return;
  }
  for (std::int64_t b = 0; b < s.batch; ++b)
    for (std::int64_t r = 0; r < s.rows; ++r)
      row(x + (b * s.rows + r) * s.inner, y + b * s.inner * s.columns, out + (b * s.rows + r) * s.columns, s.inner, s.columns);
}

void add_products(const ProductShape& s, const std::uint64_t* x, const std::uint64_t* y, std::uint64_t* out) {
  for (std::int64_t b = 0; b < s.batch; ++b)
    for (std::int64_t r = 0; r < s.rows; ++r) {
      std::uint64_t* o = out + (b * s.rows + r) * s.columns;
      for (std::int64_t k = 0; k < s.inner; ++k) {
        const std::uint64_t a = x[(b * s.rows + r) * s.inner + k];
        const std::uint64_t* row = y + (b * s.inner + k) * s.columns;
        for (std::int64_t c = 0; c < s.columns; ++c) o[c] += a * row[c];
      }
    }
}

void add_products_precisely(const ProductShape& s, const double* x, const double* y, double* out, double* low) {
  for (std::int64_t b = 0; b < s.batch; ++b)
    for (std::int64_t r = 0; r < s.rows; ++r) {
      double *o = out + (b * s.rows + r) * s.columns, *l = low + (b * s.rows + r) * s.columns;
      for (std::int64_t k = 0; k < s.inner; ++k) {
        const double a = x[(b * s.rows + r) * s.inner + k];
        const double* row = y + (b * s.inner + k) * s.columns;
        if (a == 0) continue;
        for (std::int64_t c = 0; c < s.columns; ++c) {
          const double p = a * row[c];
          add_precisely(p, o[c], l[c]);
          add_precisely(__builtin_fma(a, row[c], -p), o[c], l[c]);
        }
      }
    }
}

}  // namespace ulpian::interp::allowed
