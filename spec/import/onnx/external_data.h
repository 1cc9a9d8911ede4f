// Tensors whose bytes lie in files beside the model. A model comes from elsewhere: it may name files inside its own folder only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "spec/core/diagnostic.h"

namespace ulpian::onnx_file {

class ExternalData {
public:
  // `folder` is the model's; without one (a model given as bytes) every external tensor is an error.
  explicit ExternalData(std::string folder);
  ~ExternalData();
  ExternalData(const ExternalData&) = delete;
  ExternalData& operator=(const ExternalData&) = delete;

  // That `size` bytes from `offset` exist in the file `location`; to be asked before memory is set aside for them.
  Status check(const std::string& location, std::uint64_t offset, std::uint64_t size);
  // Fills `out` with them.
  Status read(const std::string& location, std::uint64_t offset, std::span<std::byte> out);

private:
  struct OpenFile;
  Result<OpenFile*> open(const std::string& location);

  std::string folder_;
  std::map<std::string, std::unique_ptr<OpenFile>> files_;
};

}  // namespace ulpian::onnx_file
