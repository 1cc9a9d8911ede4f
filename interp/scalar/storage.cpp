#include "interp/scalar/storage.h"

#include <cstring>

namespace ulpian::interp {

Storage::Storage(ElementType type, Extents extents) : type_(type), extents_(std::move(extents)) {
  const auto count = element_count(extents_);
  ensure(count.has_value());
  size_ = *count;
  if (type == ElementType::Z) integers_.resize(static_cast<std::size_t>(size_));
  else if (type == ElementType::R) reals_.resize(static_cast<std::size_t>(size_));
  else tensor_ = Tensor(type, extents_);
}

Storage::Storage(Tensor tensor) : type_(tensor.type()), extents_(tensor.extents()), size_(tensor.size()), tensor_(std::move(tensor)) {}

std::optional<std::int64_t> Storage::bytes_needed(ElementType type, const Extents& extents) {
  const auto count = element_count(extents);
  std::int64_t each = bytes_of(type);
  if (type == ElementType::Z) each = sizeof(std::int64_t);
  if (type == ElementType::R) each = sizeof(Real);
  if (type == ElementType::String) each = sizeof(std::string);
  std::int64_t total = 0;
  if (!count || __builtin_mul_overflow(*count, each, &total)) return std::nullopt;
  return total;
}

Value Storage::at(std::int64_t position) const {
  const auto k = static_cast<std::size_t>(position);
  if (!computed_.empty() && !computed_[k]) return Poison{.cause = Poison::Cause::NotComputed, .index = position};
  if (!poison_.empty())
    if (auto found = poison_.find(position); found != poison_.end()) return found->second;
  if (type_ == ElementType::Z) return integers_[k];
  if (type_ == ElementType::R) return reals_[k];
  if (type_ == ElementType::String) return tensor_.strings()[k];
  if (!is_complex(type_)) return tensor_.at(position);
  Complex c;
  const std::size_t half = static_cast<std::size_t>(bytes_of(type_)) / 2;
  const std::byte* element = tensor_.bytes().data() + 2 * half * k;
  std::memcpy(&c.re, element, half);
  std::memcpy(&c.im, element + half, half);
  return c;
}

void Storage::set(std::int64_t position, const Value& value) {
  const auto k = static_cast<std::size_t>(position);
  if (!computed_.empty()) computed_[k] = true;
  if (!poison_.empty()) poison_.erase(position);
  if (const auto* p = std::get_if<Poison>(&value)) {
    poison_.emplace(position, *p);
  } else if (type_ == ElementType::Z) {
    integers_[k] = integer(value);
  } else if (type_ == ElementType::R) {
    reals_[k] = real(value);
  } else if (type_ == ElementType::String) {
    tensor_.writable_strings()[k] = std::get<std::string>(value);
  } else if (is_complex(type_)) {
    const auto& c = std::get<Complex>(value);
    const std::size_t half = static_cast<std::size_t>(bytes_of(type_)) / 2;
    std::byte* element = tensor_.writable_bytes().data() + 2 * half * k;
    std::memcpy(element, &c.re, half);
    std::memcpy(element + half, &c.im, half);
  } else {
    tensor_.set(position, bits(value));
  }
}

void Storage::expect_all() { computed_.assign(static_cast<std::size_t>(size_), false); }

const Poison* Storage::first_poison(std::int64_t& position) const {
  const Poison* first = nullptr;
  for (const auto& [at, p] : poison_)
    if (!first || at < position) position = at, first = &p;
  return first;
}

}  // namespace ulpian::interp
