#include "diff/check/region_graph.h"

#include <algorithm>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "diff/check/programs.h"
#include "spec/core/cut.h"

namespace ulpian::diff {
namespace {

std::size_t at(ValueId id) { return static_cast<std::size_t>(id); }

// Builds the graph of some regions; values are numbered anew.
class Extractor {
public:
  Extractor(const RegionView& view, const std::map<ValueId, Tensor>& constants) : view_(view), whole_(view.graph()), constants_(constants) {
    out_.graph.name = whole_.name;
    out_.graph.source = whole_.source;
    for (ValueId id : whole_.inputs) {
      const GraphValue& v = whole_.values[at(id)];
      static_ = static_ && v.extents && std::all_of(v.extents->begin(), v.extents->end(), [](const Dimension& d) { return d.extent.has_value(); });
    }
  }

  RegionGraph run(const std::vector<int>& nodes, const std::vector<ValueId>& further) {
    std::set<ValueId> made;
    for (int n : nodes)
      for (ValueId id : whole_.nodes[static_cast<std::size_t>(n)].outputs)
        if (id != AbsentValue) made.insert(id);
    made_ = &made;
    for (int n : nodes) add(n);
    for (ValueId id : made)
      if (view_.visible(id)) output(id);
    for (ValueId id : further) output(id);
    return std::move(out_);
  }

private:
  ValueId fresh(ValueId id, const std::string& name) {
    GraphValue v = whole_.values[at(id)];
    v.name = name;
    out_.graph.values.push_back(std::move(v));
    return static_cast<ValueId>(out_.graph.values.size() - 1);
  }

  // As the graph makes it.
  ValueId own(ValueId id) {
    const auto [it, added] = numbers_.emplace(id, 0);
    if (added) it->second = fresh(id, whole_.values[at(id)].name);
    return it->second;
  }

  // As a node reads it.
  ValueId read(ValueId id) {
    const auto constant = constants_.find(id);
    const bool visible = view_.visible(id);
    if (constant == constants_.end() && !visible) return own(id);
    if (const auto it = given_.find(id); it != given_.end()) return it->second;
    const std::string& name = whole_.values[at(id)].name;
    const ValueId number = fresh(id, made_->count(id) ? name + "__given" : name);
    given_.emplace(id, number);
    if (constant != constants_.end()) {
      out_.graph.constants.emplace_back(number, constant->second);
      return number;
    }
    const Datum& datum = view_.values().at(id);
    GraphValue& v = out_.graph.values[at(number)];
    if (!datum.tensor()) {
      declare(v, datum, false);
      return listed(id, number);
    }
    const Tensor& t = *datum.tensor();
    v.type = t.type();
    // As much is known of its extents as in the whole graph: optimisers go by that.
    if (v.extents && v.extents->size() == t.extents().size()) return listed(id, number);
    v.extents.emplace();
    for (std::int64_t e : t.extents()) v.extents->push_back(static_ ? Dimension{e, {}} : Dimension{});
    return listed(id, number);
  }

  ValueId listed(ValueId id, ValueId number) {
    out_.graph.inputs.push_back(number);
    out_.inputs.push_back(id);
    return number;
  }

  void add(int n) {
    const Node& node = whole_.nodes[static_cast<std::size_t>(n)];
    // A body names what it reads: those values keep their names.
    if (has_body(node))
      for (ValueId id : view_.reads(n)) (void)read(id);
    Node copy = node;
    for (ValueId& id : copy.inputs)
      if (id != AbsentValue) id = read(id);
    for (ValueId& id : copy.outputs)
      if (id != AbsentValue) id = own(id);
    out_.graph.nodes.push_back(std::move(copy));
  }

  void output(ValueId id) {
    const ValueId number = own(id);
    if (view_.visible(id))
      if (const Datum& v = view_.values().at(id); v.is_present()) {
        out_.graph.values[at(number)].type = v.tensor() ? v.tensor()->type() : v.sequence()->type;
        out_.graph.values[at(number)].is_sequence = v.sequence() != nullptr;
      }
    out_.graph.outputs.push_back(number);
    out_.outputs.push_back(id);
  }

  const RegionView& view_;
  const Graph& whole_;
  const std::map<ValueId, Tensor>& constants_;
  const std::set<ValueId>* made_ = nullptr;
  std::map<ValueId, ValueId> numbers_, given_;
  bool static_ = true;  // all extents of the whole graph's inputs are numbers
  RegionGraph out_;
};

}  // namespace

RegionView::RegionView(const Graph& graph, std::map<ValueId, Tensor> constants)
    : graph_(&graph), constants_(std::move(constants)), reads_(reads_of_nodes(graph)), maker_(graph.values.size(), -1), readers_(graph.values.size()) {
  for (std::size_t n = 0; n < graph_->nodes.size(); ++n) {
    for (ValueId id : reads_[n]) ++readers_[at(id)];
    for (ValueId id : graph_->nodes[n].outputs)
      if (id != AbsentValue) maker_[at(id)] = static_cast<int>(n);
  }
}

RegionView::Landmarks RegionView::landmarks(const std::function<bool(ValueId)>& harmless) const {
  std::set<ValueId> fixed;
  for (const auto& [id, tensor] : constants_) fixed.insert(id);
  Landmarks out;
  for (std::size_t n = 0; n < graph_->nodes.size(); ++n) {
    const bool known = std::all_of(reads_[n].begin(), reads_[n].end(), [&](ValueId id) { return fixed.count(id) != 0; });
    for (ValueId id : graph_->nodes[n].outputs) {
      if (id == AbsentValue || constant(id)) continue;
      if (known) fixed.insert(id);
      if (known || harmless(id)) out.harmless.push_back(id);
      else if (readers_[at(id)] > 1) out.shared.push_back(id);
    }
  }
  return out;
}

namespace {

// Which of `count` things belong together.
class Groups {
public:
  explicit Groups(std::size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), 0); }
  int root(int x) {
    while (parent(x) != x) x = parent(x) = parent(parent(x));
    return x;
  }
  void join(int a, int b) { parent(root(a)) = root(b); }

private:
  int& parent(int x) { return parent_[static_cast<std::size_t>(x)]; }
  std::vector<int> parent_;
};

}  // namespace

std::size_t RegionView::largest_part(const Region& region, ValueId shown) const {
  std::map<int, int> number;
  for (int n : region.nodes) number.emplace(n, static_cast<int>(number.size()));
  Groups groups(number.size());
  for (int n : region.nodes)
    for (ValueId id : reads(n))
      if (const auto maker = number.find(maker_[at(id)]); id != shown && maker != number.end() && !visible(id) && !constant(id)) groups.join(number.at(n), maker->second);
  std::map<int, std::size_t> sizes;
  std::size_t largest = 0;
  for (std::size_t k = 0; k < number.size(); ++k) largest = std::max(largest, ++sizes[groups.root(static_cast<int>(k))]);
  return largest;
}

std::vector<Region> RegionView::regions() const {
  Groups groups(graph_->nodes.size());
  const auto joins = [&](ValueId id) { return maker_[at(id)] >= 0 && !visible(id) && !constant(id); };
  for (std::size_t n = 0; n < graph_->nodes.size(); ++n)
    for (ValueId id : reads_[n])
      if (joins(id)) groups.join(static_cast<int>(n), maker_[at(id)]);
  std::map<int, Region> by_root;
  for (std::size_t n = 0; n < graph_->nodes.size(); ++n) {
    // What gives constants is no part of anything.
    const auto& outputs = graph_->nodes[n].outputs;
    if (std::all_of(outputs.begin(), outputs.end(), [&](ValueId id) { return id == AbsentValue || constant(id); })) continue;
    Region& r = by_root[groups.root(static_cast<int>(n))];
    r.nodes.push_back(static_cast<int>(n));
    for (ValueId id : outputs)
      if (id != AbsentValue && joins(id) && readers_[at(id)] > 0) r.hidden.push_back(id);
  }
  std::vector<Region> out;
  for (auto& [r, region] : by_root) out.push_back(std::move(region));
  std::sort(out.begin(), out.end(), [](const Region& a, const Region& b) { return a.nodes[0] < b.nodes[0]; });
  return out;
}

RegionGraph RegionView::extract(const std::vector<const Region*>& regions, const std::vector<ValueId>& further_outputs) const {
  std::vector<int> nodes;
  for (const Region* r : regions) nodes.insert(nodes.end(), r->nodes.begin(), r->nodes.end());
  std::sort(nodes.begin(), nodes.end());
  return Extractor(*this, constants_).run(nodes, further_outputs);
}

std::string names_of(const Graph& graph, const std::vector<int>& nodes) {
  constexpr std::size_t Most = 4;
  std::string out;
  for (std::size_t k = 0; k < nodes.size() && k < Most; ++k) out += (k ? ", " : "") + describe(graph.nodes[static_cast<std::size_t>(nodes[k])]);
  if (nodes.size() > Most) out += fmt::format(" and {} more", nodes.size() - Most);
  return out;
}

}  // namespace ulpian::diff
