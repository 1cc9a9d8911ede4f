// NumPy's .npy files. Numbers only: an array of Python objects is a pickle, which is a program, and is refused.
//
// Element types that NumPy lacks (bf16, the small floats, integers of 2 and 4 bits) are written as unsigned integers of the same width, at
// least a byte, one element each; whoever reads them back says which type is meant. Strings are NumPy's own (<U).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "spec/core/tensor.h"

namespace ulpian {

struct NpyOptions {
  std::optional<ElementType> type;  // what the elements are; else what the file says
  std::int64_t memory_limit = std::int64_t{16} << 30;
};

Result<Tensor> parse_npy(std::span<const std::byte> bytes, const std::string& source, const NpyOptions& options = {});
Result<Tensor> read_npy(const std::string& file, const NpyOptions& options = {});

Result<std::string> format_npy(const Tensor& tensor);
Status write_npy(const std::string& file, const Tensor& tensor);

bool numpy_has(ElementType type);
// NumPy's name of the type that holds these elements in a file: "float32", "uint16" for bf16.
std::string numpy_name(ElementType type);

}  // namespace ulpian
