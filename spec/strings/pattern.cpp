#include "spec/strings/pattern.h"

#include <re2/re2.h>

#include "spec/numbers/ensure.h"

namespace ulpian {

struct Pattern::Compiled {
  re2::RE2 expression;
};

Pattern::Pattern(std::string_view text) {
  constexpr std::size_t MostBytes = std::size_t{1} << 20;  // RE2 compares lengths as int
  if (text.size() > MostBytes) {
    error_ = "it is longer than a MiB";
    return;
  }
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(8 << 20);
  compiled_.reset(new Compiled{re2::RE2(re2::StringPiece(text.data(), text.size()), options)});
  error_ = compiled_->expression.error();
}

Pattern::~Pattern() = default;

bool Pattern::matches(std::string_view text) const {
  ensure(compiled_ && error_.empty());
  return re2::RE2::FullMatch(re2::StringPiece(text.data(), text.size()), compiled_->expression);
}

}  // namespace ulpian
