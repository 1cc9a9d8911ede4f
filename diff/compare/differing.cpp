#include "diff/compare/differing.h"

#include "spec/numbers/arithmetic.h"

namespace ulpian::diff {

namespace {

// Most elements are equal: they are passed over by their bits.
template <typename Unsigned> std::vector<std::int64_t> differing_bits(const Tensor& a, const Tensor& b) {
  std::vector<std::int64_t> out;
  const bool floats = is_float(a.type());
  const auto *x = reinterpret_cast<const Unsigned*>(a.bytes().data()), *y = reinterpret_cast<const Unsigned*>(b.bytes().data());
  for (std::int64_t i = 0; i < a.size(); ++i)
    if (x[i] != y[i] && !(floats && is_nan(a.type(), x[i]) && is_nan(a.type(), y[i]))) out.push_back(i);
  return out;
}

}  // namespace

std::vector<std::int64_t> differing(const Tensor& a, const Tensor& b) {
  switch (bytes_of(a.type())) {
    case 1: return differing_bits<std::uint8_t>(a, b);
    case 2: return differing_bits<std::uint16_t>(a, b);
    case 4: return differing_bits<std::uint32_t>(a, b);
    default: return differing_bits<std::uint64_t>(a, b);
  }
}

Tensor elements_of(const Tensor& all, std::span<const std::int64_t> positions) {
  Tensor out(all.type(), {static_cast<std::int64_t>(positions.size())});
  if (all.type() == ElementType::F32) {
    float* to = out.writable<float>();
    for (std::size_t k = 0; k < positions.size(); ++k) to[k] = all.data<float>()[positions[k]];
    return out;
  }
  for (std::size_t k = 0; k < positions.size(); ++k) out.set(static_cast<std::int64_t>(k), all.at(positions[k]));
  return out;
}

}  // namespace ulpian::diff
