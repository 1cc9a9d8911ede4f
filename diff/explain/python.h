// A core program as Python: what a script shows an element by (script/*.py has the words that it is written in). Private to diff/explain.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "spec/core/binding.h"
#include "spec/core/program.h"

namespace ulpian::diff {

struct PythonOptions {
  std::string function;                                                                     // its name
  const std::set<std::string>* reserved = nullptr;                                          // names that mean something else
  std::function<std::string(const Tensor& tensor, const std::string& name)> elements;       // a tensor's elements, as a Python expression
  std::vector<bool> wanted;                                                                 // by output
};

struct PythonProgram {
  std::string text;                 // `def FUNCTION(x, w):` and its body, which returns the outputs as tensors, or None
  std::vector<std::string> inputs;  // its parameters, by Program::inputs
  std::set<std::string> gaps;       // what is not translated
};

// A name of Python's that is none of `taken`, into which it goes.
std::string python_name(const std::string& name, const std::string& otherwise, std::set<std::string>& taken);
std::string python_type(ElementType type);
std::string python_text(const std::string& text, bool is_utf8 = false);  // a string literal; else a byte beyond ASCII is a character of its own
std::string python_extents(const Extents& extents);  // `(2, 3,)`

// `sizes`: those that follow from the inputs.
PythonProgram to_python(const core::Program& program, const core::Sizes& sizes, const PythonOptions& options);

}  // namespace ulpian::diff
