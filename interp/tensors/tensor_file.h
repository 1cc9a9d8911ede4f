// A tensor's file by its ending: .npy (NumPy) or .pb (ONNX's TensorProto). Writing leaves a whole file or none.
#pragma once

#include <optional>
#include <string>

#include "spec/core/tensor.h"

namespace ulpian {

// `type`: what the elements are, for a file that cannot say so (npy.h). A file that says another type is an error.
Result<Tensor> read_tensor(const std::string& file, std::optional<ElementType> type = {}, std::int64_t memory_limit = std::int64_t{16} << 30);

// `name` is kept in .pb files.
Status write_tensor(const std::string& file, const Tensor& tensor, const std::string& name = {});

}  // namespace ulpian
