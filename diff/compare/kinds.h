// Whether outputs are tensors, sequences or nothing where they should be.
#pragma once

#include "diff/compare/verdict.h"

namespace ulpian::diff {

using MaybeTensors = std::vector<std::optional<Tensor>>;

// The tensors of outputs as `canonical` lists them, where kinds and lengths are right; else what is wrong.
std::optional<std::string> wrong_kind(const Expectation& e, std::span<const Datum> got, MaybeTensors& tensors);

}  // namespace ulpian::diff
