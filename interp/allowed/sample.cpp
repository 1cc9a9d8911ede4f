#include "interp/allowed/sample.h"

#include <algorithm>

namespace ulpian::interp {

std::int64_t AllowedSample::slot(std::int64_t position) const {
  if (positions.empty()) return position;
  const auto at = std::ranges::lower_bound(positions, position);
  ensure(at != positions.end() && *at == position);
  return at - positions.begin();
}

bool AllowedSample::has(std::int64_t position) const { return positions.empty() || std::ranges::binary_search(positions, position); }

}  // namespace ulpian::interp

namespace ulpian::interp::allowed {
namespace {

bool is(const core::Program& p, core::TermId id, std::int64_t constant) { return p.integer_constant(id) == constant; }

// Whether a read at these indices walks through the tensor in the order of the reader's elements: axes of extent 1 may come and go. (Terms are hash-consed.)
bool in_order(const core::Program& p, const core::TensorNode& reader, std::span<const core::TermId> index, const core::TensorNode& read) {
  std::size_t axis = 0;
  const auto pass_ones = [&](core::Variable until) {
    while (axis < reader.variables.size() && reader.variables[axis] != until && is(p, reader.extents[axis], 1)) ++axis;
  };
  if (index.size() != read.extents.size()) return false;
  for (std::size_t k = 0; k < index.size(); ++k) {
    const core::Term& t = p.term(index[k]);
    if (is(p, index[k], 0) && is(p, read.extents[k], 1)) continue;
    if (t.kind != core::TermKind::Variable) return false;
    const auto v = static_cast<core::Variable>(t.data);
    pass_ones(v);
    if (axis == reader.variables.size() || reader.variables[axis] != v || reader.extents[axis] != read.extents[k]) return false;
    ++axis;
  }
  pass_ones(core::None);
  return axis == reader.variables.size();
}

}  // namespace

core::TensorId source_of(const core::Program& p, core::TensorId id) {
  for (;;) {
    const core::TensorNode& n = p.tensor(id);
    if (n.kind != core::TensorKind::Comprehension || n.body == core::None) return id;
    const core::Term& t = p.term(n.body);
    if (t.kind != core::TermKind::Read || t.type != n.type) return id;
    const auto read = static_cast<core::TensorId>(t.data);
    if (!in_order(p, n, p.arguments_of(n.body), p.tensor(read))) return id;
    id = read;
  }
}

}  // namespace ulpian::interp::allowed
