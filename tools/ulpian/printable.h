// Text for a terminal. Names come from other people's files: nothing in them may move the cursor, change colours or reverse the reading direction.
#pragma once

#include <string>
#include <string_view>

namespace ulpian::tools {

// Line feeds, tabs and printable UTF-8 as they are; every other byte as \xNN.
std::string printable(std::string_view text);

}  // namespace ulpian::tools
