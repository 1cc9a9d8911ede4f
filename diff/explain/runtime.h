// The words that scripts are written in: script/*.py, in their order. Private to diff/explain.
#pragma once

#include <span>
#include <string_view>

namespace ulpian::diff {

std::span<const std::string_view> runtime();

}  // namespace ulpian::diff
