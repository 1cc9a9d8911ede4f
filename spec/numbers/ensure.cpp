#include "spec/numbers/ensure.h"

namespace ulpian {

void fail_bug(const char* condition, const std::string& message, const char* file, int line) {
  std::string text = "internal error: " + std::string(condition);
  if (!message.empty()) text += ": " + message;
  throw Bug(text + " (" + file + ":" + std::to_string(line) + ")");
}

}  // namespace ulpian
