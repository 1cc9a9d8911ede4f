// The profile that a command line names, and `ulpian profiles`.
#pragma once

#include <string>
#include <vector>

#include "interp/allowed/profile.h"

namespace CLI {
class App;
}

namespace ulpian::tools {

struct ProfileChoice {
  std::string profile = "standard";  // a shipped one's name, or a file
  std::vector<std::string> admit;    // what it admits besides
};

void add_profile_options(CLI::App& command, ProfileChoice& choice);
Result<interp::Profile> chosen_profile(const ProfileChoice& choice);

}  // namespace ulpian::tools
