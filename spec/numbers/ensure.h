// `ensure` is how Ulpian says that Ulpian is wrong: a broken internal promise throws `Bug`.
// It is never used for a user's mistake (that is a Diagnostic) nor for a backend's (that is a Verdict).
#pragma once

#include <stdexcept>
#include <string>

namespace ulpian {

class Bug : public std::logic_error {
public:
  using std::logic_error::logic_error;
};

[[noreturn]] void fail_bug(const char* condition, const std::string& message, const char* file, int line);

}  // namespace ulpian

// The condition is always checked, in every build; the message is evaluated only on failure. One expression, so that compilers see without
// optimisation, too, that nothing comes after `ensure(false)`.
#define ensure(condition, ...) \
  ((condition) ? static_cast<void>(0) : ::ulpian::fail_bug(#condition, std::string{__VA_ARGS__}, __FILE__, __LINE__))
