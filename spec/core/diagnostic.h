// How Ulpian tells a user that something of theirs is wrong: one clear message that names what was found, what is asked, where, and what
// to do. `Result<T>` is a value or such a message. Ulpian's own mistakes are `Bug`s (spec/numbers/ensure.h), a backend's are verdicts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "spec/numbers/ensure.h"

namespace ulpian {

// A place in a text file; line and column count from 1, 0 is unknown.
struct Place {
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

enum class ErrorKind : std::uint8_t {
  Usage,        // the command line
  Input,        // a file: missing, truncated, malformed, of a wrong type or shape
  Syntax,       // a specification's text does not parse
  Definition,   // a definition is wrong: types or ranks do not fit, a name is not defined
  Requirement,  // a `require` of a definition is violated: an implementation must refuse
  Undefined,    // an `undefined when` of a definition holds: anything conforms
  Unsupported,  // valid, but not (yet) defined here: an unknown operator, a version, a type
  Limit,        // a declared size, the memory, time or fuel allowed
};

struct Diagnostic {
  ErrorKind kind = ErrorKind::Input;
  std::string message;          // `Conv "conv1": X has 6 channels; W needs 4 x 1 groups`
  std::string program_place;    // `model.onnx, node 3`; empty if none
  Place place;                  // in the specification or the text file
  std::string source_line;      // the text of that line (of a long one, a part), for the caret; empty if none
  std::vector<std::string> notes;  // the chain of calls, the types that do not fit
  std::string hint;             // what to do
  std::uint32_t caret = 0;      // the place's column within source_line; 0: place.column

  Diagnostic& in_program(std::string where) { program_place = std::move(where); return *this; }
  Diagnostic& note(std::string text) { notes.push_back(std::move(text)); return *this; }
  Diagnostic& help(std::string text) { hint = std::move(text); return *this; }
};

// `message (program place; file:line)`, then for texts the line with a caret, notes and the hint, each on lines of their own.
std::string to_string(const Diagnostic& diagnostic);
std::string_view name_of(ErrorKind kind);

template <typename T>
class [[nodiscard]] Result {
public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}                       // NOLINT
  Result(Diagnostic diagnostic) : state_(std::in_place_index<1>, std::move(diagnostic)) {}   // NOLINT

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { ensure(ok(), to_string(std::get<1>(state_))); return std::get<0>(state_); }
  const T& value() const& { ensure(ok(), to_string(std::get<1>(state_))); return std::get<0>(state_); }
  T&& value() && { ensure(ok(), to_string(std::get<1>(state_))); return std::move(std::get<0>(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  Diagnostic& error() & { ensure(!ok()); return std::get<1>(state_); }
  const Diagnostic& error() const& { ensure(!ok()); return std::get<1>(state_); }
  Diagnostic&& error() && { ensure(!ok()); return std::move(std::get<1>(state_)); }

private:
  std::variant<T, Diagnostic> state_;
};

// A result without a value.
using Status = Result<std::monostate>;
inline Status success() { return std::monostate{}; }

}  // namespace ulpian
