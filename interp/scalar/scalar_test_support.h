// Core programs by hand, for tests of evaluators.
#pragma once

#include <bit>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "interp/scalar/scalar.h"
#include "spec/core/builder.h"

namespace ulpian::interp::testing {

using core::Builder;
using core::None;
using core::Program;
using core::ReduceKind;
using core::TensorId;
using core::TensorKind;
using core::TensorNode;
using core::TermId;
using core::Variable;
using E = ElementType;
using P = Primitive;

inline constexpr float Infinity = std::numeric_limits<float>::infinity();
inline constexpr float NotANumber = std::numeric_limits<float>::quiet_NaN();

inline Bits bits_of_float(float x) { return std::bit_cast<std::uint32_t>(x); }

inline Tensor floats(Extents extents, const std::vector<float>& values) {
  return Tensor::from_bytes(E::F32, std::move(extents), std::as_bytes(std::span(values)));
}
inline Tensor floats(const std::vector<float>& values) { return floats({static_cast<std::int64_t>(values.size())}, values); }
inline Tensor integers(const std::vector<std::int64_t>& values) {
  return Tensor::from_bytes(E::I64, {static_cast<std::int64_t>(values.size())}, std::as_bytes(std::span(values)));
}
inline Tensor of_bits(E type, const std::vector<Bits>& values) {
  Tensor t(type, {static_cast<std::int64_t>(values.size())});
  for (std::size_t k = 0; k < values.size(); ++k) t.set(static_cast<std::int64_t>(k), values[k]);
  return t;
}

// A builder with the shapes of equation that tests need.
struct Maker : Builder {
  using Builder::at;
  TensorId input(const char* name, E type, std::vector<TermId> extents) {
    TensorNode n;
    n.name = name;
    n.type = type;
    n.extents = std::move(extents);
    const TensorId id = add(std::move(n));
    program().inputs.push_back(id);
    return id;
  }
  // A vector whose extent is a size symbol of its own.
  TensorId vector(const char* name, E type) { return input(name, type, {size(fresh_size(std::string("n_") + name))}); }
  TermId extent(TensorId t, std::size_t axis = 0) { return program().tensors[t].extents[axis]; }
  TermId f32(float x) { return constant(E::F32, bits_of_float(x)); }
  TermId at(TensorId t, TermId i) { return read(t, std::span(&i, 1)); }
  TermId at_else(TensorId t, TermId i, TermId otherwise) { return read_else(t, std::span(&i, 1), otherwise, false); }
  TermId reduce_over(ReduceKind kind, E type, Variable v, TermId extent, std::vector<TermId> bodies, TermId filter = None, TermId initial = None) {
    return reduce(kind, type, std::span(&v, 1), std::span(&extent, 1), filter, false, initial, bodies);
  }
  TensorId each(const char* name, std::vector<Variable> variables, std::vector<TermId> extents, TermId body) {
    TensorNode n;
    n.name = name;
    n.type = type_of(body);
    n.kind = TensorKind::Comprehension;
    n.variables = std::move(variables);
    n.extents = std::move(extents);
    n.body = body;
    return add(std::move(n));
  }
  TensorId scalar(const char* name, TermId body) { return each(name, {}, {}, body); }
  void output(TensorId t) {
    program().outputs.push_back(t);
    program().output_names.push_back(node(t).name);
  }
  Result<Outputs> run(std::vector<std::optional<Tensor>> inputs, const Limits& limits = {}) {
    EXPECT_EQ(core::verify(program()), std::nullopt);
    return evaluate_scalar(program(), inputs, limits);
  }
  // The only output; a test failure where there is none.
  Tensor result(std::vector<std::optional<Tensor>> inputs) {
    auto out = run(std::move(inputs));
    if (!out) {
      ADD_FAILURE() << to_string(out.error());
      return {};
    }
    return *(*out)[0];
  }
  Diagnostic failure(std::vector<std::optional<Tensor>> inputs, const Limits& limits = {}) {
    auto out = run(std::move(inputs), limits);
    if (out) {
      ADD_FAILURE() << "no error";
      return {};
    }
    return out.error();
  }
};

inline ::testing::AssertionResult same(const Tensor& a, const Tensor& b) {
  if (same_elements(a, b)) return ::testing::AssertionSuccess();
  auto failure = ::testing::AssertionFailure() << name_of(a.type()) << to_string(a.extents()) << " against " << name_of(b.type()) << to_string(b.extents());
  if (a.type() == b.type() && a.extents() == b.extents() && a.type() != E::String)
    for (std::int64_t k = 0; k < a.size(); ++k)
      if (!same_element(a.type(), a.at(k), b.at(k))) return failure << fmt::format(": element {} is {:#x}, not {:#x}", k, a.at(k), b.at(k));
  return failure;
}

}  // namespace ulpian::interp::testing
