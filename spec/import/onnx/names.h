// Names that a file gives, as messages show them.
#pragma once

#include <string>
#include <string_view>

namespace ulpian::onnx_file {

// In double quotes, control characters and invalid bytes escaped, cut to 80 bytes: a name may be megabytes long.
std::string shown(std::string_view name);

bool valid_utf8(std::string_view text);

}  // namespace ulpian::onnx_file
