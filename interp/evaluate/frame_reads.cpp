// Reads: runs of lanes at a constant step where the index is linear in the lanes, gathers otherwise.
#include <algorithm>
#include <cstring>

#include "interp/evaluate/frame.h"

namespace ulpian::interp::block {
namespace {

template <class W> void copy_strided(W* d, const W* s, std::int64_t step, std::int64_t n) {
  if (step == 0) {
    const W x = *s;
    for (std::int64_t k = 0; k < n; ++k) d[k] = x;
  } else if (step == 2) {
    for (std::int64_t k = 0; k < n; ++k) d[k] = s[2 * k];
  } else {
    for (std::int64_t k = 0; k < n; ++k) d[k] = s[k * step];
  }
}

void copy_run(std::byte* d, const std::byte* s, std::int64_t step, std::int64_t n, int width) {
  if (step == 1) {
    std::int64_t bytes = n * width;
    if (bytes > 256) {
      std::memcpy(d, s, static_cast<std::size_t>(bytes));
      return;
    }
    // Short runs are common: without a call.
    for (; bytes >= 16; bytes -= 16, d += 16, s += 16) std::memcpy(d, s, 16);
    for (; bytes >= 4; bytes -= 4, d += 4, s += 4) std::memcpy(d, s, 4);
    for (; bytes > 0; --bytes) *d++ = *s++;
    return;
  }
  switch (width) {
    case 1: return copy_strided(reinterpret_cast<std::uint8_t*>(d), reinterpret_cast<const std::uint8_t*>(s), step, n);
    case 2: return copy_strided(reinterpret_cast<std::uint16_t*>(d), reinterpret_cast<const std::uint16_t*>(s), step, n);
    case 4: return copy_strided(reinterpret_cast<std::uint32_t*>(d), reinterpret_cast<const std::uint32_t*>(s), step, n);
    default: return copy_strided(reinterpret_cast<std::uint64_t*>(d), reinterpret_cast<const std::uint64_t*>(s), step, n);
  }
}

template <class W> void gather(W* d, const W* s, const std::int64_t* at, const std::uint8_t* valid, const W* otherwise, std::int64_t n) {
  if (valid == nullptr) {
    for (std::int64_t k = 0; k < n; ++k) d[k] = s[at[k]];
  } else {
    for (std::int64_t k = 0; k < n; ++k) d[k] = valid[k] ? s[at[k]] : otherwise ? otherwise[k] : W{0};
  }
}

}  // namespace

void Frame::read(const Instruction& i) {
  const ReadPlan& p = tape_.reads[i.extra];
  if (p.width == 0) read_objects(p, i.dst);
  else if (p.uniform) read_one(p, i.dst);
  else if (p.position.vectors == 0) {
    bool regular = true;
    for (std::uint32_t k = 0; k < p.checks; ++k) regular = regular && tape_.checks[p.first_check + k].index.vectors == 0;
    if (regular) read_segments(p, i.dst);
    else read_gather(p, i.dst);
  } else {
    read_gather(p, i.dst);
  }
}

void Frame::read_one(const ReadPlan& p, Register dst) {
  bool inside = true;
  for (std::uint32_t k = 0; k < p.checks; ++k) {
    const IndexCheck& c = tape_.checks[p.first_check + k];
    const std::int64_t index = base_of(c.index);
    inside = inside && index >= 0 && index < c.extent;
  }
  auto* d = own<std::byte>(dst);
  const BufferView& b = buffers_[p.buffer];
  const std::int64_t at = inside ? base_of(p.position) : 0;
  const auto width = static_cast<std::size_t>(p.width);
  if (inside) std::memcpy(d, b.data + at * p.width, width);
  else if (p.has_else) std::memcpy(d, current_[p.otherwise], width);
  else std::memset(d, 0, width);
  if (p.poison == NoRegister) return;
  std::uint8_t mark = 0;
  if (inside) mark = p.buffer_poison && b.poison && b.poison[at] ? p.origin : 0;
  else mark = !p.has_else ? p.origin : p.otherwise_poison == NoRegister ? 0 : *get<std::uint8_t>(p.otherwise_poison);
  *own<std::uint8_t>(p.poison) = mark;
}

// One read over the runs of a block.
struct Frame::Runs {
  const ReadPlan* plan = nullptr;
  const std::byte* data = nullptr;
  const std::uint8_t* data_poison = nullptr;
  std::byte* out = nullptr;
  std::uint8_t* mark = nullptr;
  const std::byte* otherwise = nullptr;
  const std::uint8_t* otherwise_mark = nullptr;
  std::int64_t step = 0;
  std::array<std::int64_t, 16> check_step{}, extent{};
};

// f(lane, length, position, check values) for every run.
template <class F> void Frame::for_each_run(const ReadPlan& p, Runs& runs, F&& f) {
  const FormTerm* all = tape_.form_terms.data();
  const std::size_t values = 1 + p.checks;
  const auto form_of = [&](std::size_t k) -> const Form& { return k == 0 ? p.position : tape_.checks[p.first_check + k - 1].index; };
  std::array<std::int64_t, 17> base{}, at{};
  for (std::size_t k = 0; k < values; ++k) {
    const Form& form = form_of(k);
    base[k] = base_of(form);
    for (std::size_t j = 0; j < form.lanes; ++j)
      if (all[form.first + j].index + 1u == rank_) (k == 0 ? runs.step : runs.check_step[k - 1]) = all[form.first + j].coefficient;
    if (k > 0) runs.extent[k - 1] = tape_.checks[p.first_check + k - 1].extent;
  }
  // The part of a form that some of the axes contribute.
  const auto part = [&](const Form& form, std::size_t first, std::size_t last, const std::int64_t* coordinates) {
    std::int64_t sum = 0;
    for (std::size_t j = 0; j < form.lanes; ++j) {
      const FormTerm& t = all[form.first + j];
      if (t.index >= first && t.index < last) sum += t.coefficient * coordinates[t.index - first];
    }
    return sum;
  };
  std::int64_t lane = 0;
  if (!cross_) {
    for (std::size_t s = 0; s < lengths_.size(); ++s) {
      for (std::size_t k = 0; k < values; ++k) at[k] = base[k] + part(form_of(k), 0, rank_, coordinates_.data() + s * rank_);
      f(lane, lengths_[s], at[0], at.data() + 1);
      lane += lengths_[s];
    }
    return;
  }
  const std::size_t runs_inside = inner_lengths_.size(), width = rank_ - split_;
  starts_.resize(runs_inside * values);
  for (std::size_t s = 0; s < runs_inside; ++s)
    for (std::size_t k = 0; k < values; ++k) starts_[s * values + k] = base[k] + part(form_of(k), split_, rank_, inner_at_.data() + s * width);
  std::array<std::int64_t, 17> outer{};
  for (std::size_t o = 0; o < static_cast<std::size_t>(outers_); ++o) {
    for (std::size_t k = 0; k < values; ++k) outer[k] = part(form_of(k), 0, split_, outer_at_.data() + o * split_);
    for (std::size_t s = 0; s < runs_inside; ++s) {
      for (std::size_t k = 0; k < values; ++k) at[k] = outer[k] + starts_[s * values + k];
      f(lane, inner_lengths_[s], at[0], at.data() + 1);
      lane += inner_lengths_[s];
    }
  }
}

void Frame::read_run(const Runs& r, std::int64_t lane, std::int64_t n, std::int64_t from, std::int64_t* checks) const {
  const ReadPlan& p = *r.plan;
  std::int64_t low = 0, high = n;
  for (std::uint32_t k = 0; k < p.checks && low < high; ++k) narrow(checks[k], r.check_step[k], r.extent[k], low, high);
  std::byte* out = r.out + lane * p.width;
  from += low * r.step;
  if (low < high) copy_run(out + low * p.width, r.data + from * p.width, r.step, high - low, p.width);
  const auto outside = [&](std::int64_t begin, std::int64_t end) {
    if (begin == end) return;
    const auto bytes = static_cast<std::size_t>((end - begin) * p.width);
    if (r.otherwise) std::memcpy(out + begin * p.width, r.otherwise + (lane + begin) * p.width, bytes);
    else std::memset(out + begin * p.width, 0, bytes);
    if (r.mark == nullptr) return;
    std::uint8_t* mark = r.mark + lane + begin;
    if (!p.has_else) std::memset(mark, p.origin, static_cast<std::size_t>(end - begin));
    else if (r.otherwise_mark) std::memcpy(mark, r.otherwise_mark + lane + begin, static_cast<std::size_t>(end - begin));
    else std::memset(mark, 0, static_cast<std::size_t>(end - begin));
  };
  outside(0, low);
  outside(high, n);
  if (r.mark == nullptr || low == high) return;
  if (r.data_poison == nullptr) {
    std::memset(r.mark + lane + low, 0, static_cast<std::size_t>(high - low));
    return;
  }
  for (std::int64_t k = low; k < high; ++k) r.mark[lane + k] = r.data_poison[from + (k - low) * r.step] ? p.origin : 0;
}

void Frame::read_segments(const ReadPlan& p, Register dst) {
  const BufferView& b = buffers_[p.buffer];
  ensure(p.checks <= 16, "a tensor of too high a rank");
  Runs r;
  r.plan = &p;
  r.data = b.data;
  if (p.checks == 0 && p.poison == NoRegister) {
    if (!cross_ && lengths_.size() == 1) {
      std::int64_t whole = -1;
      for_each_run(p, r, [&](std::int64_t, std::int64_t, std::int64_t from, std::int64_t*) { whole = from; });
      if (r.step == 1) {
        // The tensor's own bytes serve as the register.
        current_[dst] = b.data + whole * p.width;
        return;
      }
    }
    r.out = own<std::byte>(dst);
    for_each_run(p, r, [&](std::int64_t lane, std::int64_t n, std::int64_t from, std::int64_t*) {
      copy_run(r.out + lane * p.width, r.data + from * p.width, r.step, n, p.width);
    });
    return;
  }
  if (p.buffer_poison) r.data_poison = b.poison;
  r.out = own<std::byte>(dst);
  r.mark = p.poison == NoRegister ? nullptr : own<std::uint8_t>(p.poison);
  r.otherwise = p.has_else ? current_[p.otherwise] : nullptr;
  r.otherwise_mark = p.otherwise_poison == NoRegister ? nullptr : get<std::uint8_t>(p.otherwise_poison);
  for_each_run(p, r, [&](std::int64_t lane, std::int64_t n, std::int64_t from, std::int64_t* checks) { read_run(r, lane, n, from, checks); });
}

void Frame::read_gather(const ReadPlan& p, Register dst) {
  expand();
  const std::int64_t n = lanes_;
  positions_.resize(static_cast<std::size_t>(block_) * 2);
  valid_.resize(static_cast<std::size_t>(block_));
  std::int64_t* at = positions_.data();
  form_lanes(p.position, at, n);
  std::uint8_t* valid = nullptr;
  if (p.checks != 0) {
    valid = valid_.data();
    std::memset(valid, 1, static_cast<std::size_t>(n));
    std::int64_t* index = at + block_;
    for (std::uint32_t k = 0; k < p.checks; ++k) {
      const IndexCheck& c = tape_.checks[p.first_check + k];
      form_lanes(c.index, index, n);
      const auto extent = static_cast<std::uint64_t>(c.extent);
      for (std::int64_t j = 0; j < n; ++j) valid[j] = static_cast<std::uint8_t>(valid[j] & (static_cast<std::uint64_t>(index[j]) < extent ? 1 : 0));
    }
  }
  auto* d = own<std::byte>(dst);
  const BufferView& b = buffers_[p.buffer];
  const std::byte* e = p.has_else ? current_[p.otherwise] : nullptr;
  const auto typed = [&]<class W>() {
    gather(reinterpret_cast<W*>(d), reinterpret_cast<const W*>(b.data), at, valid, reinterpret_cast<const W*>(e), n);
  };
  switch (p.width) {
    case 1: typed.template operator()<std::uint8_t>(); break;
    case 2: typed.template operator()<std::uint16_t>(); break;
    case 4: typed.template operator()<std::uint32_t>(); break;
    default: typed.template operator()<std::uint64_t>(); break;
  }
  if (p.poison == NoRegister) return;
  auto* mark = own<std::uint8_t>(p.poison);
  const std::uint8_t* e_mark = p.otherwise_poison == NoRegister ? nullptr : get<std::uint8_t>(p.otherwise_poison);
  for (std::int64_t k = 0; k < n; ++k) {
    if (!valid || valid[k]) mark[k] = p.buffer_poison && b.poison && b.poison[at[k]] ? p.origin : 0;
    else mark[k] = !p.has_else ? p.origin : e_mark ? e_mark[k] : 0;
  }
}

// Reals and strings, which are objects.
void Frame::read_objects(const ReadPlan& p, Register dst) {
  expand();
  const std::int64_t n = p.uniform ? 1 : lanes_;
  std::vector<std::int64_t> at(static_cast<std::size_t>(n)), index(static_cast<std::size_t>(n));
  const auto evaluate = [&](const Form& f, std::vector<std::int64_t>& out) {
    if (p.uniform) out[0] = base_of(f);
    else form_lanes(f, out.data(), n);
  };
  evaluate(p.position, at);
  std::vector<std::uint8_t> valid(static_cast<std::size_t>(n), 1);
  for (std::uint32_t k = 0; k < p.checks; ++k) {
    const IndexCheck& c = tape_.checks[p.first_check + k];
    evaluate(c.index, index);
    for (std::size_t j = 0; j < at.size(); ++j) valid[j] = valid[j] != 0 && index[j] >= 0 && index[j] < c.extent ? 1 : 0;
  }
  const BufferView& b = buffers_[p.buffer];
  const std::uint32_t slot = tape_.registers[dst].slot;
  std::uint8_t* mark = p.poison == NoRegister ? nullptr : own<std::uint8_t>(p.poison);
  const std::uint8_t* e_mark = p.otherwise_poison == NoRegister ? nullptr : get<std::uint8_t>(p.otherwise_poison);
  for (std::size_t k = 0; k < at.size(); ++k) {
    const auto from = static_cast<std::size_t>(at[k]);
    if (p.type == ElementType::R) {
      reals_[slot][k] = valid[k] ? b.reals[from] : p.has_else ? reals_[tape_.registers[p.otherwise].slot][k] : Real();
    } else {
      texts_[slot][k] = valid[k] ? b.texts[from] : p.has_else ? texts_[tape_.registers[p.otherwise].slot][k] : std::string();
    }
    if (mark == nullptr) continue;
    if (valid[k]) mark[k] = p.buffer_poison && b.poison && b.poison[from] ? p.origin : 0;
    else mark[k] = !p.has_else ? p.origin : e_mark ? e_mark[k] : 0;
  }
}

}  // namespace ulpian::interp::block
