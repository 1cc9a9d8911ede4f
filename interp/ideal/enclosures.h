// A quick way to most ideal values: from a program another one that computes in f64, or in pairs of f64, what the first says over the reals, and
// beside each number a bound of how far the real one lies off. Where both ends of that interval round to the same element, that is the ideal
// one; for the few others, and where a definition does what is not known here, RealElements decides. The evaluators run it like any other program.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "interp/ideal/nearness.h"
#include "spec/core/program.h"

namespace ulpian::interp {

enum class Arithmetic : std::uint8_t {
  Singles,  // f64: for outputs of narrower types
  Pairs,    // unevaluated sums of two f64: for outputs of f64
};
Arithmetic arithmetic_for(ElementType output);

struct Enclosing {
  core::Program program;  // takes the inputs of the first
  // By output of the first, in which outputs of this one the f64 are whose sum is its value, and its radius; core::None for a part that is 0, and for
  // the value where it is not covered.
  std::vector<std::uint32_t> values, lows, radii;
};

// Covers outputs that have this arithmetic; empty where none is covered.
std::optional<Enclosing> enclosing(const core::Program& program, const Nearnesses& near, Arithmetic arithmetic);

// The same of some elements of one output, with smaller radii and more work for each. The program takes one more input, i32[count, rank]: their
// indices; its outputs are of f64[count].
std::optional<Enclosing> enclosing_at(const core::Program& program, const Nearnesses& near, std::size_t output, std::int64_t count);

// The dots of these programs are summed in shorter chains than the definition's (block::Options::dot_block), which are off by less.
inline constexpr std::int64_t EnclosingDotBlock = 256, EnclosingPairsDotBlock = 128;

// Radii are computed in f64, too: the true ones are less by this much more.
inline constexpr double RadiusSlack = 0x1p-30;

}  // namespace ulpian::interp
