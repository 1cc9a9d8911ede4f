// What an edge of a graph carries: a tensor (or, under sets, an enclosure of one), a sequence of them, or nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "spec/core/tensor.h"

namespace ulpian {

// An immutable value. Nothing stands for an input that a call leaves out and for an optional without a value alike: no operator tells them
// apart. ONNX's optionals hold a tensor or a sequence, which then stand for themselves.
template <typename T>
class BasicDatum {
public:
  struct Sequence {
    ElementType type = ElementType::F32;  // of all its tensors; an empty one has it, too
    std::vector<T> items;
  };
  BasicDatum() = default;
  BasicDatum(T tensor) : content_(std::move(tensor)) {}
  BasicDatum(std::optional<T> tensor) {
    if (tensor) content_ = std::move(*tensor);
  }
  BasicDatum(Sequence sequence) : content_(std::make_shared<const Sequence>(std::move(sequence))) {}

  bool is_present() const { return content_.index() != 0; }
  const T* tensor() const { return std::get_if<T>(&content_); }
  const Sequence* sequence() const {
    const auto* s = std::get_if<std::shared_ptr<const Sequence>>(&content_);
    return s ? s->get() : nullptr;
  }
  // The tensors inside: none, one, or those of the sequence.
  std::size_t count() const { return tensor() ? 1 : sequence() ? sequence()->items.size() : 0; }
  const T& part(std::size_t k) const { return tensor() ? *tensor() : sequence()->items[k]; }

private:
  std::variant<std::monostate, T, std::shared_ptr<const Sequence>> content_;
};

using Datum = BasicDatum<Tensor>;

}  // namespace ulpian
