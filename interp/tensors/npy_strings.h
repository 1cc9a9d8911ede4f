// Strings in .npy files: arrays of fixed-width items of UCS-4 (<U) or bytes (S), filled up with zeros.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "spec/core/tensor.h"

namespace ulpian::npy {

// As UTF-8; empty if an item holds what is no character.
std::optional<std::string> decode_string(std::span<const std::byte> item, bool ucs4, bool big_endian);

// A whole file. Strings that are not UTF-8, or end in a zero, are refused: NumPy's strings cannot hold them.
Result<std::string> format_strings(const Tensor& tensor);

}  // namespace ulpian::npy
