// From bytes to the schema's message. Internal to this folder.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "spec/core/diagnostic.h"

namespace onnx {
class ModelProto;
}

namespace ulpian::onnx_file {

Status parse_model(std::span<const std::byte> bytes, const std::string& source, int nesting_limit, ::onnx::ModelProto& model);

}  // namespace ulpian::onnx_file
