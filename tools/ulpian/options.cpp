#include "tools/ulpian/options.h"

#include <charconv>
#include <cstdint>
#include <limits>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "tools/ulpian/printable.h"

namespace ulpian::tools {

CLI::Validator number_between(double low, double high) {
  return CLI::Validator(
      [low, high](std::string& text) {
        double v = 0;
        const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), v);
        const bool is_number = ec == std::errc() && end == text.data() + text.size();
        // Not v < low: a NaN is in no range.
        return is_number && v >= low && v <= high ? std::string() : fmt::format("\"{}\" is not a number from {} to {}", one_line(text), low, high);
      },
      "");
}

CLI::Validator whole_number() {
  return CLI::Validator(
      [](std::string& text) {
        std::uint64_t v = 0;
        const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), v);
        const bool is_number = ec == std::errc() && end == text.data() + text.size();
        return is_number ? std::string() : fmt::format("\"{}\" is not a whole number from 0 to {}", one_line(text), std::numeric_limits<std::uint64_t>::max());
      },
      "");
}

CLI::Validator not_empty() {
  return CLI::Validator([](std::string& text) { return text.empty() ? std::string("the text given is empty") : std::string(); }, "");
}

}  // namespace ulpian::tools
