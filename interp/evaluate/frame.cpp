#include "interp/evaluate/frame.h"

#include <algorithm>
#include <cstring>

namespace ulpian::interp::block {

AlignedBytes aligned_bytes(std::size_t size) {
  return AlignedBytes(static_cast<std::byte*>(::operator new(size + 64, std::align_val_t{64})));
}

Frame::Frame(const Tape& tape, const core::Program& program, std::span<const BufferView> buffers, std::span<const std::int64_t> variables,
             std::int64_t block, Instructions level, std::function<void()> check)
    : tape_(tape), program_(program), buffers_(buffers), kernels_(kernels(level)), block_(block), rank_(tape.extents.size()), check_(std::move(check)) {
  const auto padded = [&](std::uint32_t slot) {
    const std::int64_t n = tape.slot_uniform[slot] ? 1 : block;
    return static_cast<std::size_t>((n * tape.slot_widths[slot] + 63) / 64 * 64);
  };
  std::vector<std::size_t> offsets(tape.slot_widths.size());
  std::size_t total = 0;
  for (std::uint32_t s = 0; s < offsets.size(); ++s) {
    offsets[s] = total;
    total += padded(s);
  }
  const std::size_t scratch = tape.scratch_per_lane * static_cast<std::size_t>((block + 63) / 64 * 64);
  memory_ = aligned_bytes(total + scratch);
  scratch_ = memory_.get() + total;
  storage_.resize(tape.registers.size());
  current_.resize(tape.registers.size());
  for (std::size_t r = 0; r < storage_.size(); ++r) {
    const RegisterInfo& info = tape.registers[r];
    storage_[r] = info.slot < offsets.size() ? memory_.get() + offsets[info.slot] : nullptr;
    current_[r] = storage_[r];
    if (info.kind == RegisterClass::Bytes) continue;
    const auto n = static_cast<std::size_t>(info.uniform ? 1 : block);
    auto& reals = reals_;
    if (info.kind == RegisterClass::Real) {
      if (reals.size() <= info.slot) reals.resize(info.slot + 1);
      reals[info.slot].resize(n);
    } else {
      if (texts_.size() <= info.slot) texts_.resize(info.slot + 1);
      texts_[info.slot].resize(n);
    }
  }
  for (const Root& r : tape.roots) home_.push_back(storage_[r.value]);
  uniforms_.resize(tape.uniform_slots);
  begin(variables);
}

Frame::~Frame() = default;

void Frame::begin(std::span<const std::int64_t> variables) {
  for (std::size_t k = 0; k < tape_.context.size(); ++k) uniforms_[k] = variables[tape_.context[k]];
  lanes_ = block_;  // broadcasts fill whole registers
  lengths_.clear();
  coordinates_.clear();
  execute(tape_.setup);
}

void Frame::restore(std::size_t k) {
  storage_[tape_.roots[k].value] = home_[k];
}

const std::uint8_t* Frame::poison(std::size_t k) const {
  const Register r = tape_.roots[k].poison;
  return r == NoRegister ? nullptr : get<std::uint8_t>(r);
}

// Cuts points [start, start + count) of the box of axes [first, last) into runs along its last axis.
void Frame::add_segments(std::size_t first, std::size_t last, std::int64_t start, std::int64_t count, std::int64_t) {
  const std::size_t rank = last - first;
  std::array<std::int64_t, 64> at{};
  ensure(rank <= at.size());
  std::int64_t rest = start;
  for (std::size_t a = rank; a-- > 0;) {
    at[a] = rest % tape_.extents[first + a];
    rest /= tape_.extents[first + a];
  }
  while (count > 0) {
    const std::int64_t length = std::min(count, tape_.extents[last - 1] - at[rank - 1]);
    coordinates_.insert(coordinates_.end(), at.begin(), at.begin() + static_cast<std::ptrdiff_t>(rank));
    lengths_.push_back(static_cast<std::int32_t>(length));
    count -= length;
    at[rank - 1] = 0;
    for (std::size_t a = rank - 1; a-- > 0;) {
      if (++at[a] < tape_.extents[first + a]) break;
      at[a] = 0;
    }
  }
}

// Looks at the limits when so much has been done since that it took some milliseconds.
void Frame::look(std::int64_t lanes) {
  constexpr std::int64_t Some = std::int64_t{1} << 24;
  work_ += lanes * static_cast<std::int64_t>(tape_.body.size());
  if (work_ < Some) return;
  work_ = 0;
  check_();
}

void Frame::run(std::int64_t start, std::int64_t count) {
  ensure(count <= block_);
  lanes_ = count;
  lengths_.clear();
  coordinates_.clear();
  if (rank_ == 0) lengths_.push_back(static_cast<std::int32_t>(count));
  else add_segments(0, rank_, start, count, 0);
  look(count);
  execute(tape_.body);
}

void Frame::run_cross(std::size_t split, std::int64_t outer, std::int64_t outers, std::int64_t inner, std::int64_t inners) {
  ensure(outers * inners <= block_);
  if (split == rank_) {
    // The inner group has no axes: it is a single point.
    run(outer, outers);
    return;
  }
  lanes_ = outers * inners;
  lengths_.clear();
  coordinates_.clear();
  add_segments(split, rank_, inner, inners, 0);
  inner_at_.swap(coordinates_);
  inner_lengths_.swap(lengths_);
  split_ = split;
  outer_at_.resize(static_cast<std::size_t>(outers) * split);
  std::array<std::int64_t, 64> at{};
  std::int64_t rest = outer;
  for (std::size_t a = split; a-- > 0;) {
    at[a] = rest % tape_.extents[a];
    rest /= tape_.extents[a];
  }
  for (std::int64_t k = 0; k < outers; ++k) {
    std::copy_n(at.begin(), split, outer_at_.begin() + k * static_cast<std::ptrdiff_t>(split));
    for (std::size_t a = split; a-- > 0;) {
      if (++at[a] < tape_.extents[a]) break;
      at[a] = 0;
    }
  }
  outers_ = outers;
  cross_ = true;
  expanded_ = false;
  look(lanes_);
  execute(tape_.body);
  cross_ = false;
  expanded_ = true;
}

// The runs of a cross one by one, for those who look at them so.
void Frame::expand() {
  if (expanded_) return;
  expanded_ = true;
  lengths_.clear();
  coordinates_.clear();
  const std::size_t width = rank_ - split_;
  for (std::size_t k = 0; k < static_cast<std::size_t>(outers_); ++k)
    for (std::size_t s = 0; s < inner_lengths_.size(); ++s) {
      const auto outer = outer_at_.begin() + static_cast<std::ptrdiff_t>(k * split_), inner = inner_at_.begin() + static_cast<std::ptrdiff_t>(s * width);
      coordinates_.insert(coordinates_.end(), outer, outer + static_cast<std::ptrdiff_t>(split_));
      coordinates_.insert(coordinates_.end(), inner, inner + static_cast<std::ptrdiff_t>(width));
      lengths_.push_back(inner_lengths_[s]);
    }
}

void Frame::execute(const std::vector<Instruction>& list) {
  for (const Instruction& i : list) {
    switch (i.code) {
      case Code::Kernel: {
        const std::byte* a = i.a == NoRegister ? nullptr : current_[i.a];
        const std::byte* b = i.b == NoRegister ? nullptr : current_[i.b];
        const std::byte* c = i.c == NoRegister ? nullptr : current_[i.c];
        i.kernel(own<std::byte>(i.dst), a, b, c, count_of(i.uniform));
        break;
      }
      case Code::Broadcast: {
        const RegisterInfo& from = tape_.registers[i.a];
        const RegisterInfo& to = tape_.registers[i.dst];
        if (from.kind == RegisterClass::Bytes) i.kernel(own<std::byte>(i.dst), current_[i.a], nullptr, nullptr, lanes_);
        else if (from.kind == RegisterClass::Real) std::fill_n(reals_[to.slot].begin(), lanes_, reals_[from.slot][0]);
        else std::fill_n(texts_[to.slot].begin(), lanes_, texts_[from.slot][0]);
        break;
      }
      case Code::FormValue: {
        const Form& f = tape_.forms[i.extra];
        auto* out = own<std::int64_t>(i.dst);
        expand();
        if (i.c != NoRegister) form_checked(f, out, own<std::uint8_t>(i.c), count_of(i.uniform));
        else if (i.uniform) *out = base_of(f);
        else form_lanes(f, out, lanes_);
        break;
      }
      case Code::Read: read(i); break;
      case Code::Generic: generic(i); break;
      case Code::PoisonEither:
      case Code::PoisonSelect:
      case Code::PoisonMark: poison(i); break;
      case Code::Loop: loop(tape_.loops[i.extra]); break;
    }
  }
}

std::int64_t Frame::base_of(const Form& f) const {
  auto sum = static_cast<std::uint64_t>(f.constant);
  const FormTerm* t = tape_.form_terms.data() + f.first + f.lanes;
  for (std::size_t k = 0; k < f.uniforms; ++k, ++t) sum += static_cast<std::uint64_t>(t->coefficient) * static_cast<std::uint64_t>(uniforms_[t->index]);
  for (std::size_t k = 0; k < f.scalars; ++k, ++t) sum += static_cast<std::uint64_t>(t->coefficient) * static_cast<std::uint64_t>(*get<std::int64_t>(t->index));
  return static_cast<std::int64_t>(sum);
}

// The form in every lane. Unsigned arithmetic, so that lanes nobody uses may overflow.
void Frame::form_lanes(const Form& f, std::int64_t* out, std::int64_t n) const {
  const auto base = static_cast<std::uint64_t>(base_of(f));
  const FormTerm* terms = tape_.form_terms.data() + f.first;
  std::int64_t lane = 0;
  for (std::size_t s = 0; s < lengths_.size(); ++s) {
    const std::int64_t* at = coordinates_.data() + s * rank_;
    std::uint64_t value = base, step = 0;
    for (std::size_t k = 0; k < f.lanes; ++k) {
      value += static_cast<std::uint64_t>(terms[k].coefficient) * static_cast<std::uint64_t>(at[terms[k].index]);
      if (terms[k].index + 1u == rank_) step = static_cast<std::uint64_t>(terms[k].coefficient);
    }
    for (std::int32_t k = 0; k < lengths_[s]; ++k, value += step) out[lane++] = static_cast<std::int64_t>(value);
  }
  ensure(lane == n);
  const FormTerm* vectors = terms + f.lanes + f.uniforms + f.scalars;
  for (std::size_t k = 0; k < f.vectors; ++k) {
    const auto* x = get<std::int64_t>(vectors[k].index);
    const auto c = static_cast<std::uint64_t>(vectors[k].coefficient);
    for (std::int64_t j = 0; j < n; ++j) out[j] = static_cast<std::int64_t>(static_cast<std::uint64_t>(out[j]) + c * static_cast<std::uint64_t>(x[j]));
  }
}

// The same, noting the lanes whose value does not fit.
void Frame::form_checked(const Form& f, std::int64_t* out, std::uint8_t* mark, std::int64_t n) const {
  const FormTerm* terms = tape_.form_terms.data() + f.first;
  const FormTerm* known = terms + f.lanes;
  std::int64_t lane = 0;
  for (std::size_t s = 0; lane < n; ++s) {
    const std::int64_t length = s < lengths_.size() ? lengths_[s] : n;
    const std::int64_t* at = s < lengths_.size() ? coordinates_.data() + s * rank_ : nullptr;
    for (std::int64_t k = 0; k < length && lane < n; ++k, ++lane) {
      std::int64_t sum = f.constant;
      bool over = false;
      const auto add = [&](std::int64_t coefficient, std::int64_t x) {
        std::int64_t product = 0;
        over |= __builtin_mul_overflow(coefficient, x, &product);
        over |= __builtin_add_overflow(sum, product, &sum);
      };
      for (std::size_t j = 0; j < f.lanes; ++j) add(terms[j].coefficient, at[terms[j].index] + (terms[j].index + 1u == rank_ ? k : 0));
      for (std::size_t j = 0; j < f.uniforms; ++j) add(known[j].coefficient, uniforms_[known[j].index]);
      for (std::size_t j = 0; j < f.scalars; ++j) add(known[f.uniforms + j].coefficient, *get<std::int64_t>(known[f.uniforms + j].index));
      const FormTerm* vectors = known + f.uniforms + f.scalars;
      for (std::size_t j = 0; j < f.vectors; ++j) add(vectors[j].coefficient, get<std::int64_t>(vectors[j].index)[lane]);
      out[lane] = sum;
      mark[lane] = over ? f.origin : 0;
    }
  }
}

void Frame::poison(const Instruction& i) {
  const std::int64_t n = count_of(i.uniform);
  auto* d = own<std::uint8_t>(i.dst);
  if (i.code == Code::PoisonMark) {
    std::memset(d, static_cast<int>(i.extra), static_cast<std::size_t>(n));
    return;
  }
  const auto* a = get<std::uint8_t>(i.a);
  if (i.code == Code::PoisonEither) {
    const auto* b = get<std::uint8_t>(i.b);
    for (std::int64_t k = 0; k < n; ++k) d[k] = a[k] != 0 ? a[k] : b[k];
    return;
  }
  const auto* b = i.b == NoRegister ? nullptr : get<std::uint8_t>(i.b);
  const auto* c = i.c == NoRegister ? nullptr : get<std::uint8_t>(i.c);
  for (std::int64_t k = 0; k < n; ++k) d[k] = a[k] != 0 ? (b ? b[k] : std::uint8_t{0}) : (c ? c[k] : std::uint8_t{0});
}

}  // namespace ulpian::interp::block
