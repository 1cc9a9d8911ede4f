// The header of an .npy file: a Python dictionary of three keys, as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "spec/core/tensor.h"

namespace ulpian::npy {

struct Header {
  std::string descr;          // NumPy's type, "<f4"
  bool fortran_order = false;
  Extents shape;
  std::size_t data = 0;       // where the elements begin
};

Result<Header> parse_header(std::span<const std::byte> file);

// Magic, version and dictionary, padded so that the elements begin at a multiple of 64.
std::string format_header(const std::string& descr, const Extents& shape);

}  // namespace ulpian::npy
