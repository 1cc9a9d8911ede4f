// The elements of one tensor while a program is evaluated: also of Z and R, and also elements that have no value. Private to this folder.
#pragma once

#include <unordered_map>
#include <vector>

#include "interp/scalar/value.h"
#include "spec/core/tensor.h"

namespace ulpian::interp {

class Storage {
public:
  Storage(ElementType type, Extents extents);
  explicit Storage(Tensor tensor);

  // Bytes of such a tensor; empty if it cannot exist.
  static std::optional<std::int64_t> bytes_needed(ElementType type, const Extents& extents);

  ElementType type() const { return type_; }
  const Extents& extents() const { return extents_; }
  std::int64_t size() const { return size_; }

  Value at(std::int64_t position) const;
  void set(std::int64_t position, const Value& value);
  // From now on an element that was not set is Poison::NotComputed.
  void expect_all();

  // The finished tensor of a machine type.
  const Tensor& tensor() const { return tensor_; }
  // The first element without a value, by position; null if all have one.
  const Poison* first_poison(std::int64_t& position) const;

private:
  ElementType type_;
  Extents extents_;
  std::int64_t size_ = 0;
  Tensor tensor_;                     // machine types and strings
  std::vector<std::int64_t> integers_;  // Z
  std::vector<Real> reals_;             // R
  std::unordered_map<std::int64_t, Poison> poison_;
  std::vector<bool> computed_;          // recurrences; empty elsewhere
};

}  // namespace ulpian::interp
