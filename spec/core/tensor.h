// A tensor: an element type, extents, and its elements in row-major order. An immutable value; copies share the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "spec/core/diagnostic.h"
#include "spec/numbers/arithmetic.h"
#include "spec/numbers/element_type.h"

namespace ulpian {

using Extents = std::vector<std::int64_t>;
inline constexpr std::size_t MostAxes = 64;  // of one tensor or reduction; NumPy's arrays have at most as many

// The number of elements, or empty if it overflows 2^62 or an extent is negative.
std::optional<std::int64_t> element_count(std::span<const std::int64_t> extents);
std::string to_string(const Extents& extents);  // "[2, 3]"
// The index of an element by its row-major position, which there is.
Extents index_of(const Extents& extents, std::int64_t position);

// Unpacked storage: one byte per bool and per element of at most 8 bits (the unused high bits are zero), little endian, aligned to 64 bytes.
// Strings are kept apart.
class Tensor {
public:
  Tensor() = default;  // f32 of extents [0]
  // Zero-filled. `ensure`s that the size is representable: check declared sizes before.
  Tensor(ElementType type, Extents extents);
  Tensor(Extents extents, std::vector<std::string> strings);
  // For one who writes every element: not filled.
  static Tensor uninitialized(ElementType type, Extents extents);
  // Takes a copy of `bytes`, whose size must be that of the elements.
  static Tensor from_bytes(ElementType type, Extents extents, std::span<const std::byte> bytes);
  static Tensor scalar(ElementType type, Bits bits);

  ElementType type() const { return type_; }
  const Extents& extents() const { return extents_; }
  int rank() const { return static_cast<int>(extents_.size()); }
  std::int64_t size() const { return size_; }

  std::span<const std::byte> bytes() const;
  // For the one who fills a new tensor; `ensure`s that no copy shares the bytes.
  std::span<std::byte> writable_bytes();
  template <typename T> const T* data() const { return reinterpret_cast<const T*>(data_); }
  template <typename T> T* writable() { return reinterpret_cast<T*>(writable_bytes().data()); }
  const std::vector<std::string>& strings() const;
  std::vector<std::string>& writable_strings();

  // One element as bits (machine types of at most 64 bits), by its row-major position.
  Bits at(std::int64_t position) const;
  void set(std::int64_t position, Bits bits);

  // The same elements under other extents of the same count.
  Tensor reshaped(Extents extents) const;

private:
  struct Storage;
  Tensor(ElementType type, Extents extents, bool clear);
  ElementType type_ = ElementType::F32;
  Extents extents_{0};
  std::int64_t size_ = 0;
  std::byte* data_ = nullptr;
  std::shared_ptr<Storage> storage_;
};

// Equal types, extents and elements in the contract's sense (any NaN for NaN).
bool same_elements(const Tensor& a, const Tensor& b);

}  // namespace ulpian
