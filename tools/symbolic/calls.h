// The calls that a definition is proved on: the settings of its examples, at other ranks, too, and with symbols for extents.
#pragma once

#include <vector>

#include "spec/language/elaborate.h"

namespace ulpian::tools {

struct SymbolicCall {
  language::Call call;      // extents are symbols, elements of static inputs unknown
  language::Call known;     // the same with the example's elements of static inputs
  language::Call concrete;  // the example's own extents; meaningful where `ranks_of_example`
  bool ranks_of_example = true;
  std::string title;        // "axis = 1; x: [D0, D1]"
};

struct CallOptions {
  std::int64_t most_rank = 4;
  std::size_t most_settings = 40;  // of attributes, and which inputs there are
  std::size_t most_ranks = 30;     // variants of each
  // Also settings beside those of the examples (refusals among them): each attribute, version and optional input changed alone.
  bool beside = false;
};

Result<std::vector<SymbolicCall>> symbolic_calls(const language::Specification& specification, const language::OperatorDefinition& definition, const CallOptions& options);

}  // namespace ulpian::tools
