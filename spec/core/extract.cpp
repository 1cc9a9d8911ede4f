#include "spec/core/extract.h"

#include <algorithm>
#include <map>

namespace ulpian::core {
namespace {

// Ids of the part in the order of the whole, so that each still stands behind what it uses.
class Numbering {
public:
  bool add(std::uint32_t id) { return ids_.emplace(id, 0).second; }
  void number() {
    std::uint32_t next = 0;
    for (auto& [id, own] : ids_) own = next++;
  }
  std::uint32_t operator[](std::uint32_t id) const { return id == None ? None : ids_.at(id); }
  const std::map<std::uint32_t, std::uint32_t>& all() const { return ids_; }

private:
  std::map<std::uint32_t, std::uint32_t> ids_;
};

class Extractor {
public:
  explicit Extractor(const Program& whole) : whole_(whole) {}

  Program run(TensorId tensor) {
    need_set(whole_.variable_sets.empty() ? std::vector<Variable>{} : whole_.variable_sets[0], 0);
    need_tensor(tensor);
    while (!terms_todo_.empty() || !tensors_todo_.empty()) {
      if (!terms_todo_.empty()) {
        const TermId id = terms_todo_.back();
        terms_todo_.pop_back();
        visit_term(id);
      } else {
        const TensorId id = tensors_todo_.back();
        tensors_todo_.pop_back();
        visit_tensor(id);
      }
    }
    for (Numbering* n : {&terms_, &tensors_, &variables_, &sizes_, &sets_, &binders_, &groups_}) n->number();
    return copy(tensor);
  }

private:
  void need_term(TermId id) {
    if (id != None && terms_.add(id)) terms_todo_.push_back(id);
  }
  void need_tensor(TensorId id) {
    if (id != None && tensors_.add(id)) tensors_todo_.push_back(id);
  }
  void need_set(const std::vector<Variable>& set, std::uint32_t id) {
    sets_.add(id);
    for (Variable v : set) variables_.add(v);
  }

  void visit_term(TermId id) {
    const Term& t = whole_.terms[id];
    for (TermId a : whole_.arguments_of(id)) need_term(a);
    need_set(whole_.variable_sets[t.free], t.free);
    if (t.binders != None) {
      binders_.add(t.binders);
      for (Variable v : whole_.binder_lists[t.binders]) variables_.add(v);
    }
    if (t.kind == TermKind::Variable) variables_.add(static_cast<Variable>(t.data));
    if (t.kind == TermKind::Read || t.kind == TermKind::ReadElse) need_tensor(static_cast<TensorId>(t.data));
    if (t.kind == TermKind::Size) {
      sizes_.add(static_cast<Size>(t.data));
      need_tensor(whole_.sizes[t.data].defined_by);
    }
  }

  void visit_tensor(TensorId id) {
    const TensorNode& n = whole_.tensors[id];
    for (TermId t : n.extents) need_term(t);
    for (TermId t : n.domain) need_term(t);
    for (Variable v : n.variables) variables_.add(v);
    need_term(n.body);
    if (n.kind == TensorKind::Scatter) {
      need_tensor(n.scatter.base);
      need_term(n.scatter.filter);
      for (TermId t : n.scatter.index) need_term(t);
    }
    if (n.kind != TensorKind::Recurrence || !groups_.add(n.group)) return;
    const Recurrence& group = whole_.recurrences[n.group];
    for (Variable v : group.variables) variables_.add(v);
    for (TermId t : group.extents) need_term(t);
    for (TensorId t : group.members) need_tensor(t);
  }

  template <typename Ids>
  void rename(Ids& ids, const Numbering& numbering) const {
    for (auto& id : ids) id = numbering[id];
  }

  Term copy_term(TermId id, Program& out) const {
    Term t = whole_.terms[id];
    const auto arguments = whole_.arguments_of(id);
    t.first = static_cast<std::uint32_t>(out.arguments.size());
    for (TermId a : arguments) out.arguments.push_back(terms_[a]);
    t.free = sets_[t.free];
    t.binders = binders_[t.binders];
    switch (t.kind) {
      case TermKind::Variable: t.data = variables_[static_cast<Variable>(t.data)]; break;
      case TermKind::Size: t.data = sizes_[static_cast<Size>(t.data)]; break;
      case TermKind::Read:
      case TermKind::ReadElse: t.data = tensors_[static_cast<TensorId>(t.data)]; break;
      case TermKind::Constant:
        if (t.type == ElementType::R) {
          out.reals.push_back(whole_.reals[t.data]);
          t.data = out.reals.size() - 1;
        } else if (t.type == ElementType::String) {
          out.texts.push_back(whole_.texts[t.data]);
          t.data = out.texts.size() - 1;
        }
        break;
      default: break;
    }
    return t;
  }

  TensorNode copy_tensor(TensorId id) const {
    TensorNode n = whole_.tensors[id];
    rename(n.extents, terms_);
    rename(n.domain, terms_);
    rename(n.variables, variables_);
    n.body = terms_[n.body];
    if (n.kind == TensorKind::Scatter) {
      n.scatter.base = tensors_[n.scatter.base];
      n.scatter.filter = terms_[n.scatter.filter];
      rename(n.scatter.index, terms_);
    }
    n.group = n.kind == TensorKind::Recurrence ? groups_[n.group] : None;
    return n;
  }

  Program copy(TensorId tensor) const {
    Program out;
    out.op = whole_.op;
    out.places = whole_.places;
    for (const auto& [id, own] : variables_.all()) out.variables.push_back(whole_.variables[id]);
    for (const auto& [id, own] : sizes_.all()) {
      SizeInfo s = whole_.sizes[id];
      s.defined_by = tensors_[s.defined_by];
      out.sizes.push_back(std::move(s));
    }
    for (const auto& [id, own] : sets_.all()) {
      std::vector<Variable> set = whole_.variable_sets[id];
      rename(set, variables_);
      out.variable_sets.push_back(std::move(set));
    }
    for (const auto& [id, own] : binders_.all()) {
      std::vector<Variable> list = whole_.binder_lists[id];
      rename(list, variables_);
      out.binder_lists.push_back(std::move(list));
    }
    for (const auto& [id, own] : terms_.all()) out.terms.push_back(copy_term(id, out));
    for (const auto& [id, own] : tensors_.all()) out.tensors.push_back(copy_tensor(id));
    for (const auto& [id, own] : groups_.all()) {
      Recurrence group = whole_.recurrences[id];
      rename(group.variables, variables_);
      rename(group.extents, terms_);
      rename(group.members, tensors_);
      out.recurrences.push_back(std::move(group));
    }
    for (TensorId t : whole_.inputs) out.inputs.push_back(t != None && tensors_.all().count(t) ? tensors_[t] : None);
    out.outputs = {tensors_[tensor]};
    out.output_names = {whole_.tensors[tensor].name};
    return out;
  }

  const Program& whole_;
  Numbering terms_, tensors_, variables_, sizes_, sets_, binders_, groups_;
  std::vector<TermId> terms_todo_;
  std::vector<TensorId> tensors_todo_;
};

}  // namespace

Program extract(const Program& program, TensorId tensor) { return Extractor(program).run(tensor); }

}  // namespace ulpian::core
