// A quick way to most ideal values: from a program another one that computes in f64 what the first says over the reals, and beside each number
// a bound of how far the real one lies off. Where both ends of that interval round to the same element, that is the ideal one; for the few
// others, and where a definition does what is not known here, RealElements decides. The evaluators run it like any other program.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "interp/ideal/nearness.h"
#include "spec/core/program.h"

namespace ulpian::interp {

struct Enclosing {
  core::Program program;  // takes the inputs of the first
  // By output of the first, in which output of this one its value and its radius are; core::None where it is not covered.
  std::vector<std::uint32_t> values, radii;
};

// Empty where no output is covered.
std::optional<Enclosing> enclosing(const core::Program& program, const Nearnesses& near);

// The same of some elements of one output, with smaller radii and more work for each. The program takes one more input, i64[count, rank]: their
// indices; it has the two outputs f64[count], values[output] and radii[output].
std::optional<Enclosing> enclosing_at(const core::Program& program, const Nearnesses& near, std::size_t output, std::int64_t count);

// The dots of these programs are summed in shorter chains than the definition's (block::Options::dot_block), which are off by less.
inline constexpr std::int64_t EnclosingDotBlock = 512;

// Radii are computed in f64, too: the true ones are less by this much more.
inline constexpr double RadiusSlack = 0x1p-30;

}  // namespace ulpian::interp
