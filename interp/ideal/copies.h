// Parts of a program whose terms have their real values already, copied into another program: what interp/ideal and
// interp/allowed make programs of bounds from. No part of the interface.
#pragma once

#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "interp/ideal/nearness.h"
#include "spec/core/builder.h"

namespace ulpian::interp {

// Not covered here.
struct Unknown {};

// |real - (value + low)| <= radius; a part that is missing is 0.
struct Number {
  core::TermId value = core::None, low = core::None, radius = core::None;
  bool narrow = false;  // an f32 or narrower: products of two are exact in f64
  bool exact() const { return radius == core::None; }
};

// All floats as those of one type, each by the same function of its value: of what is moved only, that is the whole program over other numbers.
struct Retyped {
  ElementType type = ElementType::F64;  // or F32
  double (*value)(double x) = nullptr;
  Tensor of(const Tensor& t) const;
};

class Copies {
protected:
  Copies(const core::Program& program, const Nearnesses& near, std::optional<Retyped> retyped = {}) : retyped_(retyped), p_(program), near_(near), tensors_(program.tensors.size(), core::None) {}

  struct Scope {
    std::unordered_map<core::Variable, core::Variable> variables;
    std::unordered_map<core::Variable, core::TermId> indices;  // what stands for a variable of a tensor whose element is made in place
    std::unordered_map<core::TermId, core::TermId> copies;
    std::unordered_map<core::TermId, Number> numbers;
  };

  core::Variable variable(core::Variable v);
  std::vector<core::Variable> fresh(std::span<const core::Variable> all);
  std::vector<core::TermId> copies(std::span<const core::TermId> all);
  core::TermId copy(core::TermId id);
  core::TermId copy_or_none(core::TermId id) { return id == core::None ? core::None : copy(id); }
  core::TensorId tensor(core::TensorId id);

  // At a place of its own for variables and terms.
  template <typename Make> auto apart(Make make) {
    Scope around = std::exchange(scope_, {});
    try {
      auto out = make();
      scope_ = std::move(around);
      return out;
    } catch (const Unknown&) {
      scope_ = std::move(around);
      throw;
    }
  }

  const std::optional<Retyped> retyped_;
  const core::Program& p_;
  const Nearnesses& near_;
  core::Builder b_;
  Scope scope_;

private:
  core::Size size(core::Size s);
  core::TermId copied(core::TermId id);

  std::unordered_map<core::Size, core::Size> sizes_;
  std::vector<core::TensorId> tensors_;
};

}  // namespace ulpian::interp
