#include "spec/core/tensor.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

namespace ulpian {

std::optional<std::int64_t> element_count(std::span<const std::int64_t> extents) {
  constexpr std::int64_t Most = std::int64_t{1} << 62;
  bool empty = false;
  for (std::int64_t e : extents) {
    if (e < 0) return std::nullopt;
    if (e == 0) empty = true;
  }
  if (empty) return 0;
  std::int64_t count = 1;
  for (std::int64_t e : extents) {
    if (e > Most / count) return std::nullopt;
    count *= e;
  }
  return count;
}

Extents index_of(const Extents& extents, std::int64_t position) {
  Extents out(extents.size());
  for (std::size_t d = extents.size(); d-- > 0; position /= extents[d]) out[d] = position % extents[d];
  return out;
}

std::string to_string(const Extents& extents) {
  std::string out = "[";
  for (std::size_t k = 0; k < extents.size(); ++k) out += (k ? ", " : "") + std::to_string(extents[k]);
  return out + "]";
}

struct Tensor::Storage {
  // From here on the system gives zeroed pages as they are touched: clearing gigabytes at once would pass any deadline.
  static constexpr std::size_t Large = std::size_t{1} << 20;
  std::byte* bytes = nullptr;
  void* cleared = nullptr;  // what calloc gave, if it did
  std::size_t size = 0;
  std::vector<std::string> strings;
  Storage() = default;
  Storage(std::size_t n, bool clear) : size(n) {
    // At least one cache line, so that data() is never null and vector loads of an empty tensor stay inside.
    if (clear && n >= Large) {
      cleared = std::calloc(n + 128, 1);
      if (!cleared) throw std::bad_alloc();
      void* start = cleared;
      std::size_t room = n + 128;
      bytes = static_cast<std::byte*>(std::align(64, n + 64, start, room));
      return;
    }
    bytes = static_cast<std::byte*>(::operator new(n + 64, std::align_val_t{64}));
    if (clear) std::memset(bytes, 0, n + 64);
    else std::memset(bytes + n, 0, 64);
  }
  ~Storage() {
    if (cleared) std::free(cleared);
    else if (bytes) ::operator delete(bytes, std::align_val_t{64});
  }
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
};

Tensor::Tensor(ElementType type, Extents extents) : Tensor(type, std::move(extents), true) {}

Tensor Tensor::uninitialized(ElementType type, Extents extents) { return Tensor(type, std::move(extents), false); }

Tensor::Tensor(ElementType type, Extents extents, bool clear) : type_(type), extents_(std::move(extents)) {
  auto count = element_count(extents_);
  ensure(count.has_value(), to_string(extents_));
  size_ = *count;
  if (type == ElementType::String) {
    storage_ = std::make_shared<Storage>();
    storage_->strings.resize(static_cast<std::size_t>(size_));
    return;
  }
  ensure(bytes_of(type) > 0, "no tensor holds elements of Z or R");
  ensure(size_ <= (std::int64_t{1} << 62) / bytes_of(type));
  storage_ = std::make_shared<Storage>(static_cast<std::size_t>(size_) * static_cast<std::size_t>(bytes_of(type)), clear);
  data_ = storage_->bytes;
}

Tensor::Tensor(Extents extents, std::vector<std::string> strings) : Tensor(ElementType::String, std::move(extents)) {
  ensure(static_cast<std::int64_t>(strings.size()) == size_);
  storage_->strings = std::move(strings);
}

Tensor Tensor::from_bytes(ElementType type, Extents extents, std::span<const std::byte> bytes) {
  Tensor t(type, std::move(extents));
  ensure(bytes.size() == t.bytes().size(), "the number of bytes is not that of the elements");
  if (!bytes.empty()) std::memcpy(t.data_, bytes.data(), bytes.size());
  return t;
}

Tensor Tensor::scalar(ElementType type, Bits bits) {
  Tensor t(type, Extents{});
  t.set(0, bits);
  return t;
}

std::span<const std::byte> Tensor::bytes() const { return storage_ ? std::span<const std::byte>(storage_->bytes, storage_->size) : std::span<const std::byte>(); }

std::span<std::byte> Tensor::writable_bytes() {
  ensure(storage_ && storage_.use_count() == 1, "the bytes of a tensor are shared");
  return {storage_->bytes, storage_->size};
}

const std::vector<std::string>& Tensor::strings() const {
  ensure(type_ == ElementType::String && storage_);
  return storage_->strings;
}

std::vector<std::string>& Tensor::writable_strings() {
  ensure(type_ == ElementType::String && storage_ && storage_.use_count() == 1);
  return storage_->strings;
}

Bits Tensor::at(std::int64_t position) const {
  ensure(position >= 0 && position < size_);
  const auto width = static_cast<std::size_t>(bytes_of(type_));
  ensure(width >= 1 && width <= 8);
  Bits bits = 0;
  std::memcpy(&bits, data_ + static_cast<std::size_t>(position) * width, width);
  return bits;
}

void Tensor::set(std::int64_t position, Bits bits) {
  ensure(position >= 0 && position < size_ && storage_.use_count() == 1);
  const auto width = static_cast<std::size_t>(bytes_of(type_));
  ensure(width >= 1 && width <= 8);
  std::memcpy(data_ + static_cast<std::size_t>(position) * width, &bits, width);
}

Tensor Tensor::reshaped(Extents extents) const {
  auto count = element_count(extents);
  ensure(count && *count == size_);
  Tensor t = *this;
  t.extents_ = std::move(extents);
  return t;
}

bool same_elements(const Tensor& a, const Tensor& b) {
  if (a.type() != b.type() || a.extents() != b.extents()) return false;
  if (a.type() == ElementType::String) return a.strings() == b.strings();
  if (a.bytes().size() == b.bytes().size() && (a.size() == 0 || std::memcmp(a.bytes().data(), b.bytes().data(), a.bytes().size()) == 0)) return true;
  if (is_complex(a.type())) {
    const ElementType part = part_of(a.type());
    const Extents parts{2 * a.size()};
    return same_elements(Tensor::from_bytes(part, parts, a.bytes()), Tensor::from_bytes(part, parts, b.bytes()));
  }
  for (std::int64_t k = 0; k < a.size(); ++k)
    if (!same_element(a.type(), a.at(k), b.at(k))) return false;
  return true;
}

}  // namespace ulpian
