// Registers get slots of the frame, shared by values that are not alive together; lane axes that no index tells apart become one.
#include <algorithm>
#include <limits>

#include "interp/evaluate/tape_compile.h"

namespace ulpian::interp::block {

// Where a register is first written and last read, in the order in which instructions stand.
struct Life {
  std::uint32_t first = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t last = 0;
  bool fixed = false;  // a slot of its own
};

template <class F> void TapeCompiler::uses(const Instruction& i, F&& f) const {
  const auto form_uses = [&](const Form& form) {
    const std::size_t from = form.first + form.lanes + form.uniforms;
    for (std::size_t k = 0; k < std::size_t{form.scalars} + form.vectors; ++k) f(tape_.form_terms[from + k].index);
  };
  const bool third = i.code != Code::FormValue && (i.code != Code::Generic || tape_.operations[i.extra].kind == NodeKind::Select);
  for (Register r : {i.a, i.b, third ? i.c : NoRegister})
    if (r != NoRegister) f(r);
  if (i.code == Code::FormValue) form_uses(tape_.forms[i.extra]);
  if (i.code == Code::Read) {
    const ReadPlan& p = tape_.reads[i.extra];
    form_uses(p.position);
    for (std::uint32_t k = 0; k < p.checks; ++k) form_uses(tape_.checks[p.first_check + k].index);
    if (p.otherwise != NoRegister) f(p.otherwise);
    if (p.otherwise_poison != NoRegister) f(p.otherwise_poison);
  }
}

void TapeCompiler::number(const std::vector<Instruction>& list, std::vector<Life>& lives,
                          std::vector<std::pair<std::uint32_t, std::uint32_t>>& open, std::uint32_t& position) const {
  const auto define = [&](Register r) {
    if (r == NoRegister) return;
    lives[r].first = std::min(lives[r].first, position);
    lives[r].last = std::max(lives[r].last, position);
  };
  const auto use = [&](Register r) {
    if (r == NoRegister) return;
    Life& l = lives[r];
    l.last = std::max(l.last, position);
    // Read again in every round of a loop that it was defined before: alive to that loop's end.
    for (const auto& [begin, end] : open)
      if (l.first < begin) {
        l.last = std::max(l.last, end);
        break;
      }
  };
  const auto length = [&](auto&& self, const std::vector<Instruction>& instructions) -> std::uint32_t {
    std::uint32_t n = 0;
    for (const Instruction& i : instructions) n += i.code == Code::Loop ? self(self, tape_.loops[i.extra].body) + 2 : 1;
    return n;
  };
  for (const Instruction& i : list) {
    if (i.code != Code::Loop) {
      uses(i, use);
      define(i.dst);
      if (i.code == Code::Read) define(tape_.reads[i.extra].poison);
      if (i.code == Code::FormValue) define(i.c);
      if (i.code == Code::Generic && tape_.operations[i.extra].kind != NodeKind::Select) define(i.c);
      ++position;
      continue;
    }
    const Loop& loop = tape_.loops[i.extra];
    const std::uint32_t begin = position, end = begin + length(length, loop.body) + 1;
    for (Register r : {loop.out, loop.out_poison, loop.accumulator, loop.accumulator_poison}) {
      define(r);
      if (r != NoRegister) lives[r].last = std::max(lives[r].last, end);
    }
    for (Register r : {loop.initial, loop.initial_poison}) {
      use(r);
      if (r != NoRegister) lives[r].last = std::max(lives[r].last, end);
    }
    open.emplace_back(begin, end);
    ++position;
    number(loop.body, lives, open, position);
    for (Register r : {loop.value, loop.second, loop.filter, loop.body_poison, loop.filter_poison}) use(r);
    open.pop_back();
    ensure(position == end);
    ++position;
  }
}

void TapeCompiler::assign_slots() {
  std::vector<Life> lives(tape_.registers.size());
  std::vector<std::pair<std::uint32_t, std::uint32_t>> open;
  std::uint32_t position = 0;
  number(tape_.setup, lives, open, position);
  const std::uint32_t setup_end = position;
  number(tape_.body, lives, open, position);
  for (std::size_t r = 0; r < lives.size(); ++r)
    lives[r].fixed = tape_.registers[r].uniform || lives[r].first < setup_end || tape_.registers[r].kind != RegisterClass::Bytes;
  for (const Root& root : tape_.roots)
    for (Register r : {root.value, root.poison})
      if (r != NoRegister) lives[r].fixed = true;

  std::vector<Register> order;
  for (std::size_t r = 0; r < lives.size(); ++r)
    if (lives[r].first != std::numeric_limits<std::uint32_t>::max()) order.push_back(static_cast<Register>(r));
  std::ranges::sort(order, {}, [&](Register r) { return lives[r].first; });
  const auto new_slot = [&](const RegisterInfo& info) {
    tape_.slot_widths.push_back(info.width);
    tape_.slot_uniform.push_back(info.uniform);
    return static_cast<std::uint32_t>(tape_.slot_widths.size() - 1);
  };
  std::vector<Register> alive;
  std::vector<std::uint32_t> idle;
  for (Register r : order) {
    RegisterInfo& info = tape_.registers[r];
    if (lives[r].fixed) {
      info.slot = new_slot(info);
      continue;
    }
    std::erase_if(alive, [&](Register o) {
      if (lives[o].last >= lives[r].first) return false;
      idle.push_back(tape_.registers[o].slot);
      return true;
    });
    const auto free = std::ranges::find_if(idle, [&](std::uint32_t s) { return tape_.slot_widths[s] == info.width; });
    if (free != idle.end()) {
      info.slot = *free;
      idle.erase(free);
    } else {
      info.slot = new_slot(info);
    }
    alive.push_back(r);
  }
}

void TapeCompiler::collapse_axes() {
  const std::size_t rank = tape_.extents.size();
  if (rank == 0) return;
  // Nothing runs over a box without elements, and the product of its other extents may be beyond all counting.
  if (!element_count(tape_.extents).value_or(0)) {
    tape_.split = std::min<std::size_t>(request_.no_collapse_at, rank);
    return;
  }
  // Every form that looks at lane axes.
  std::vector<Form*> forms;
  for (Form& f : tape_.forms)
    if (f.lanes != 0) forms.push_back(&f);
  for (ReadPlan& p : tape_.reads)
    if (p.position.lanes != 0) forms.push_back(&p.position);
  for (IndexCheck& c : tape_.checks)
    if (c.index.lanes != 0) forms.push_back(&c.index);
  const auto coefficient = [&](const Form& f, std::size_t axis) {
    for (std::size_t k = 0; k < f.lanes; ++k)
      if (tape_.form_terms[f.first + k].index == axis) return tape_.form_terms[f.first + k].coefficient;
    return std::int64_t{0};
  };
  std::vector<bool> joined(rank, false);  // with the axis after it
  for (std::size_t a = 0; a + 1 < rank; ++a) {
    if (a + 1 == request_.no_collapse_at) continue;
    joined[a] = std::ranges::all_of(forms, [&](const Form* f) {
      std::int64_t wanted = 0;
      return !__builtin_mul_overflow(coefficient(*f, a + 1), tape_.extents[a + 1], &wanted) && coefficient(*f, a) == wanted;
    });
  }
  std::vector<std::uint16_t> renamed(rank);
  std::vector<std::int64_t> extents;
  std::int64_t product = 1;
  for (std::size_t a = 0; a < rank; ++a) {
    product *= tape_.extents[a];
    if (a == request_.no_collapse_at) tape_.split = extents.size();
    renamed[a] = static_cast<std::uint16_t>(extents.size());
    if (joined[a]) continue;
    extents.push_back(product);
    product = 1;
  }
  for (Form* f : forms) {
    std::uint16_t kept = 0;
    for (std::size_t k = 0; k < f->lanes; ++k) {
      const FormTerm t = tape_.form_terms[f->first + k];
      if (joined[t.index]) continue;  // the axis it was joined to carries the step
      tape_.form_terms[f->first + kept++] = {renamed[t.index], t.coefficient};
    }
    // The terms after the lanes' close up.
    const std::size_t rest = std::size_t{f->uniforms} + f->scalars + f->vectors;
    for (std::size_t k = 0; k < rest; ++k) tape_.form_terms[f->first + kept + k] = tape_.form_terms[f->first + f->lanes + k];
    f->lanes = kept;
  }
  if (request_.no_collapse_at >= rank) tape_.split = extents.size();
  tape_.extents = std::move(extents);
}

double TapeCompiler::cost_of(const std::vector<Instruction>& list) const {
  double sum = 0;
  for (const Instruction& i : list) {
    if (i.code == Code::Loop) {
      double trips = 1;
      for (std::int64_t e : tape_.loops[i.extra].extents) trips *= static_cast<double>(e);
      sum += trips * (1 + cost_of(tape_.loops[i.extra].body));
    } else {
      sum += i.uniform ? 0.01 : i.code == Code::Generic ? 40 : 1;
    }
  }
  return sum;
}

}  // namespace ulpian::interp::block
