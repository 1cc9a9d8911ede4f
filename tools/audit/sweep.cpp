#include "tools/audit/sweep.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <mutex>
#include <thread>

#include "spec/functions/functions.h"
#include "spec/functions/kernels.h"
#include "spec/numbers/arithmetic.h"
#include "spec/numbers/ensure.h"
#include "tools/audit/digest.h"
#include "tools/audit/reference.h"

namespace ulpian::audit {
namespace {

constexpr std::uint32_t Infinity = 0x7f800000, Nan = 0x7fc00000, Sign = 0x80000000;
constexpr std::uint32_t Blocks = static_cast<std::uint32_t>((std::uint64_t{1} << 32) / Sweep::Block);

std::uint32_t rounded_once(Primitive function, float x) {
  // Of f32 arguments f64 tells the root's and the quotient's nearest f32 (Figueroa, "When is double rounding innocuous?", 1995).
  if (function == Primitive::SquareRoot || function == Primitive::Reciprocal) {
    const double y = function == Primitive::SquareRoot ? std::sqrt(static_cast<double>(x)) : 1 / static_cast<double>(x);
    return y != y ? Nan : std::bit_cast<std::uint32_t>(static_cast<float>(y));
  }
  const Bits argument = std::bit_cast<std::uint32_t>(x);
  return static_cast<std::uint32_t>(elementary(function, ElementType::F32, std::span(&argument, 1)));
}

class Worker {
public:
  Worker(Primitive function, const Compute& compute, Sweep& into, std::size_t examples)
      : function_(function), compute_(compute), reference_(Reference::of(function)), into_(into), most_(examples) {}

  void block(std::uint32_t number) {
    const std::uint32_t first = number * Sweep::Block;
    for (std::uint32_t i = 0; i < Sweep::Block; ++i) x_[i] = std::bit_cast<float>(first + i);
    compute_(x_.data(), y_.data());
    own_.arguments += Sweep::Block;
    own_.digest += digest_of<float>(number, y_);
    judge(first & ~Sign, 0, Sweep::Block, (first & Sign) != 0);
  }
  void finish(std::mutex& mutex) {
    const std::lock_guard lock(mutex);
    into_.arguments += own_.arguments;
    into_.singly += own_.singly;
    into_.wrong += own_.wrong;
    into_.digest += own_.digest;
    for (const Wrong& w : own_.examples) into_.examples.push_back(w);
  }

private:
  // Arguments [from, to) of the block, whose magnitudes' bits start at `magnitude`.
  void judge(std::uint32_t magnitude, std::uint32_t from, std::uint32_t to, bool negative) {
    const std::uint32_t low = magnitude + from, high = magnitude + to - 1;
    if (low >= Infinity) {
      for (std::uint32_t i = from; i < to; ++i) {
        if (magnitude + i == Infinity) singly(i);
        else expect(i, Nan);
      }
      return;
    }
    if (high >= Infinity || low == 0 || to - from <= 8) {
      if (to - from <= 8) {
        for (std::uint32_t i = from; i < to; ++i) singly(i);
        return;
      }
      return split(magnitude, from, to, negative);
    }
    const double a = std::bit_cast<float>(low), b = std::bit_cast<float>(high);
    const double centre = (a + b) / 2 * (negative ? -1 : 1), half = (b - a) / 2;  // exact
    if (low >= std::bit_cast<std::uint32_t>(16.0f) && !reference_->cells().empty()) {
      follow_turns(magnitude, from, to, negative);
      for (std::uint32_t i = from; i < to; ++i)
        if (open_[i] != 0) singly(i);
      return;
    }
    Model model;
    switch (reference_->enclose(centre, half, model)) {
      case Kind::NotANumber:
        for (std::uint32_t i = from; i < to; ++i) expect(i, Nan);
        return;
      case Kind::Overflows:
        for (std::uint32_t i = from; i < to; ++i) expect(i, model.sign < 0 ? Infinity | Sign : Infinity);
        return;
      case Kind::Unknown: return split(magnitude, from, to, negative);
      case Kind::Modelled: break;
    }
    // A block in which the bounds settle little is too wide for its model.
    const std::uint32_t open = follow(model, centre, half, from, to);
    if (open > 4 + (to - from) / 16 && to - from > 64) return split(magnitude, from, to, negative);
    for (std::uint32_t i = from; i < to; ++i)
      if (open_[i] != 0) singly(i);
  }
  void split(std::uint32_t magnitude, std::uint32_t from, std::uint32_t to, bool negative) {
    const std::uint32_t middle = from + (to - from) / 2;
    judge(magnitude, from, middle, negative);
    judge(magnitude, middle, to, negative);
  }

  // Marks what the model does not show to be right.
  std::uint32_t follow(const Model& m, double centre, double half, std::uint32_t from, std::uint32_t to) {
    const double inverse = 1 / half;  // rounded; the model's error counts t's roundings
    std::uint32_t open = 0;
    for (std::uint32_t i = from; i < to; ++i) {
      open_[i] = !settled(m, (static_cast<double>(x_[i]) - centre) * inverse, i);
      open += open_[i];
    }
    return open;
  }

  // The same by cells of a turn, for arguments of one binade above 1. Whole turns are left out in fixed point: an error of 2^-104 turns at most.
  std::uint32_t follow_turns(std::uint32_t magnitude, std::uint32_t from, std::uint32_t to, bool negative) {
    const std::vector<Reference::Cell>& cells = reference_->cells();
    const std::uint32_t low = magnitude + from;
    const int exponent = static_cast<int>(low >> 23) - 127 - 23;
    if (exponent != exponent_) step_ = reference_->phase_of_power(exponent_ = exponent);
    Phase phase = step_ * ((low & 0x7fffff) | 0x800000);
    std::uint32_t open = 0;
    for (std::uint32_t i = from; i < to; ++i, phase += step_) {
      const Phase shifted = (negative ? -phase : phase) + (Phase{1} << (127 - Reference::CellBits));
      const Reference::Cell& cell = cells[static_cast<std::size_t>(shifted >> (128 - Reference::CellBits))];
      const auto within = static_cast<std::int64_t>(static_cast<std::uint64_t>((shifted << Reference::CellBits) >> 64) - (std::uint64_t{1} << 63));
      if (within == 0 && cell.kind == Kind::Modelled && cell.model.high == 0 && cell.model.low == 0) {
        expect(i, negative && reference_->zeros_are_signed() ? Sign : 0);
        open_[i] = 0;
        continue;
      }
      open_[i] = cell.kind != Kind::Modelled || !settled(cell.model, static_cast<double>(within) * 0x1p-63, i);
      open += open_[i];
    }
    return open;
  }

  // y is the function's value rounded once if the value lies less than half a gap away.
  bool settled(const Model& m, double t, std::uint32_t i) const {
    double p = m.terms[Model::Terms - 1];
    for (int k = Model::Terms - 2; k >= 0; --k) p = p * t + m.terms[k];
    const double rest = m.low + p * t;
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(y_[i]);
    const std::uint32_t exponent = std::max(bits & Infinity, std::uint32_t{1} << 23);
    const double ulp = std::bit_cast<double>((std::uint64_t{exponent >> 23} + (1023 - 127 - 23)) << 52);
    // An infinity stands for 2^128: the bits of one binade more.
    const double y = (bits & ~Sign) == Infinity ? std::copysign(0x1p128, static_cast<double>(y_[i])) : static_cast<double>(y_[i]);
    const bool narrow = (bits & 0x7fffff) == 0 && (bits & Infinity) > (std::uint32_t{1} << 23);
    const double away = ((m.high - y) + rest) * ((bits & Sign) != 0 ? -1.0 : 1.0);  // from zero
    const double slack = m.error + std::fabs(away) * 0x1p-52;
    const double above = (bits & ~Sign) == Infinity ? HUGE_VAL : ulp * 0.5;
    // A zero has the sign of the value that vanished into it.
    const bool lost = (bits & ~Sign) == 0 && m.sign != ((bits & Sign) != 0 ? -1 : 1);
    return away + slack < above && -away + slack < (narrow ? ulp * 0.25 : ulp * 0.5) && y == y && !lost;
  }

  void singly(std::uint32_t i) {
    ++own_.singly;
    expect(i, rounded_once(function_, x_[i]));
  }
  void expect(std::uint32_t i, std::uint32_t expected) {
    const std::uint32_t got = std::bit_cast<std::uint32_t>(y_[i]);
    if (got == expected) return;
    ++own_.wrong;
    if (own_.examples.size() < most_) own_.examples.push_back({std::bit_cast<std::uint32_t>(x_[i]), got, expected});
  }

  Primitive function_;
  const Compute& compute_;
  std::unique_ptr<Reference> reference_;
  Sweep own_, &into_;
  std::size_t most_;
  std::array<float, Sweep::Block> x_, y_;
  std::array<std::uint8_t, Sweep::Block> open_;
  int exponent_ = 0;  // of step_; none
  Phase step_ = 0;
};

}  // namespace

bool can_sweep(Primitive function) { return Reference::of(function) != nullptr; }

Compute own(Primitive function) {
  if (row_of(function).kind != PrimitiveKind::Elementary)
    return [function](const float* x, float* y) {
      for (std::uint32_t i = 0; i < Sweep::Block; ++i) {
        const Bits argument = std::bit_cast<std::uint32_t>(x[i]);
        y[i] = std::bit_cast<float>(static_cast<std::uint32_t>(apply(function, ElementType::F32, std::span(&argument, 1))));
      }
    };
  return [function](const float* x, float* y) { elementary_program(function, x, y, Sweep::Block); };
}

Sweep sweep(Primitive function, const Compute& compute, const SweepOptions& options) {
  ensure(can_sweep(function), "a function that the reference has");
  Sweep result;
  std::mutex mutex;
  std::atomic<std::uint64_t> next = 0, done = 0;
  std::atomic<bool> stopped = false;
  const std::uint32_t stride = std::max(1u, options.stride);
  const std::uint64_t blocks = std::min<std::uint64_t>(Blocks - std::min(Blocks, options.first), options.count) / stride;
  const unsigned threads = options.threads != 0 ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  constexpr std::uint64_t Portion = 256;
  {
    std::vector<std::jthread> workers;
    for (unsigned w = 0; w < threads; ++w)
      workers.emplace_back([&] {
        Worker worker(function, compute, result, options.examples);
        while (!stopped) {
          const std::uint64_t start = next.fetch_add(Portion);
          if (start >= blocks) break;
          const std::uint64_t end = std::min<std::uint64_t>(start + Portion, blocks);
          for (std::uint64_t k = start; k < end; ++k) worker.block(static_cast<std::uint32_t>(options.first + k * stride + (k * 7) % stride));  // not always the same place of a binade
          done += end - start;
          const std::lock_guard lock(mutex);
          if (options.progress) options.progress(static_cast<double>(done) / static_cast<double>(blocks));
          if (options.stop && options.stop()) stopped = true;
        }
        worker.finish(mutex);
      });
  }
  result.complete = result.arguments == std::uint64_t{1} << 32;
  std::sort(result.examples.begin(), result.examples.end(), [](const Wrong& a, const Wrong& b) { return a.argument < b.argument; });
  if (result.examples.size() > options.examples) result.examples.resize(options.examples);
  return result;
}

}  // namespace ulpian::audit
