// Text for a terminal. Names come from other people's files: nothing in them may move the cursor, change colours or reverse the reading direction.
#pragma once

#include <string>
#include <string_view>

namespace ulpian::tools {

// Line feeds, tabs and printable UTF-8 as they are; every other byte as \xNN.
std::string printable(std::string_view text);
// The same without line feeds and tabs: for a name or a path inside a message, which would look like two.
std::string one_line(std::string_view text);
// Every line after the first moved in, so that none can pass for one of ours.
std::string indented(std::string_view text, std::string_view indent);

}  // namespace ulpian::tools
