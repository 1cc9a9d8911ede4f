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
    std::memcpy(d, s, static_cast<std::size_t>(n * width));
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

// The part [low, high) of n lanes in which 0 <= value + step * lane < extent.
void narrow(std::int64_t value, std::int64_t step, std::int64_t extent, std::int64_t& low, std::int64_t& high) {
  if (step == 0) {
    if (value < 0 || value >= extent) low = high = 0;
    return;
  }
  const auto ceiling = [](std::int64_t a, std::int64_t b) { return a / b + (a % b > 0 ? 1 : 0); };  // b > 0
  if (step > 0) {
    if (value < 0) low = std::max(low, ceiling(-value, step));
    high = std::min(high, value >= extent ? 0 : ceiling(extent - value, step));
  } else {
    if (value >= extent) low = std::max(low, ceiling(value - extent + 1, -step));
    high = std::min(high, value < 0 ? 0 : ceiling(value + 1, -step));
  }
  // Nothing left: an empty part that still lies within the run.
  if (high <= low) low = high = 0;
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

void Frame::read_segments(const ReadPlan& p, Register dst) {
  const BufferView& b = buffers_[p.buffer];
  const FormTerm* terms = tape_.form_terms.data() + p.position.first;
  const std::int64_t base = base_of(p.position);
  std::int64_t step = 0;
  for (std::size_t k = 0; k < p.position.lanes; ++k)
    if (terms[k].index + 1u == rank_) step = terms[k].coefficient;
  const auto start_of = [&](const Form& f, std::int64_t from, std::size_t segment) {
    const FormTerm* t = tape_.form_terms.data() + f.first;
    const std::int64_t* at = coordinates_.data() + segment * rank_;
    for (std::size_t k = 0; k < f.lanes; ++k) from += t[k].coefficient * at[t[k].index];
    return from;
  };
  if (p.checks == 0 && p.poison == NoRegister) {
    if (step == 1 && lengths_.size() == 1 && storage_[dst] != nullptr) {
      // The tensor's own bytes serve as the register.
      current_[dst] = b.data + start_of(p.position, base, 0) * p.width;
      return;
    }
    auto* d = own<std::byte>(dst);
    for (std::size_t s = 0; s < lengths_.size(); ++s) {
      copy_run(d, b.data + start_of(p.position, base, s) * p.width, step, lengths_[s], p.width);
      d += static_cast<std::ptrdiff_t>(lengths_[s]) * p.width;
    }
    return;
  }
  auto* d = own<std::byte>(dst);
  std::uint8_t* mark = p.poison == NoRegister ? nullptr : own<std::uint8_t>(p.poison);
  const std::byte* otherwise = p.has_else ? current_[p.otherwise] : nullptr;
  const std::uint8_t* otherwise_mark = p.otherwise_poison == NoRegister ? nullptr : get<std::uint8_t>(p.otherwise_poison);
  std::array<std::int64_t, 16> check_base{}, check_step{};
  ensure(p.checks <= check_base.size(), "a tensor of too high a rank");
  for (std::uint32_t k = 0; k < p.checks; ++k) {
    const Form& f = tape_.checks[p.first_check + k].index;
    check_base[k] = base_of(f);
    for (std::size_t j = 0; j < f.lanes; ++j)
      if (tape_.form_terms[f.first + j].index + 1u == rank_) check_step[k] = tape_.form_terms[f.first + j].coefficient;
  }
  std::int64_t lane = 0;
  for (std::size_t s = 0; s < lengths_.size(); ++s) {
    const std::int64_t n = lengths_[s];
    std::int64_t low = 0, high = n;
    for (std::uint32_t k = 0; k < p.checks && low < high; ++k) {
      const IndexCheck& c = tape_.checks[p.first_check + k];
      narrow(start_of(c.index, check_base[k], s), check_step[k], c.extent, low, high);
    }
    const std::int64_t from = low < high ? start_of(p.position, base, s) + low * step : 0;
    std::byte* out = d + lane * p.width;
    const auto outside = [&](std::int64_t begin, std::int64_t end) {
      if (begin == end) return;
      const auto bytes = static_cast<std::size_t>((end - begin) * p.width);
      if (otherwise) std::memcpy(out + begin * p.width, otherwise + (lane + begin) * p.width, bytes);
      else std::memset(out + begin * p.width, 0, bytes);
      if (mark == nullptr) return;
      if (!p.has_else) std::memset(mark + lane + begin, p.origin, static_cast<std::size_t>(end - begin));
      else if (otherwise_mark) std::memcpy(mark + lane + begin, otherwise_mark + lane + begin, static_cast<std::size_t>(end - begin));
      else std::memset(mark + lane + begin, 0, static_cast<std::size_t>(end - begin));
    };
    outside(0, low);
    outside(high, n);
    if (low < high) {
      copy_run(out + low * p.width, b.data + from * p.width, step, high - low, p.width);
      if (mark) {
        if (p.buffer_poison && b.poison) {
          for (std::int64_t k = low; k < high; ++k) mark[lane + k] = b.poison[from + (k - low) * step] ? p.origin : 0;
        } else {
          std::memset(mark + lane + low, 0, static_cast<std::size_t>(high - low));
        }
      }
    }
    lane += n;
  }
}

void Frame::read_gather(const ReadPlan& p, Register dst) {
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
