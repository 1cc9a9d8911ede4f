// Operations without a typed loop: one lane after another through the canonical meaning.
#include <cstring>

#include "interp/evaluate/frame.h"
#include "spec/functions/kernels.h"

namespace ulpian::interp::block {
namespace {

Bits load(const std::byte* p, std::int64_t k, int width) {
  Bits bits = 0;
  std::memcpy(&bits, p + k * width, static_cast<std::size_t>(width));
  return bits;
}
void store(std::byte* p, std::int64_t k, int width, Bits bits) { std::memcpy(p + k * width, &bits, static_cast<std::size_t>(width)); }

}  // namespace

void Frame::generic(const Instruction& i) {
  const GenericOperation& o = tape_.operations[i.extra];
  const std::int64_t n = count_of(i.uniform);
  if (o.kind == NodeKind::Constant) {
    const RegisterInfo& info = tape_.registers[i.dst];
    if (info.kind == RegisterClass::Real) reals_[info.slot][0] = Real(program_.reals[o.data]);
    else if (info.kind == RegisterClass::Text) texts_[info.slot][0] = program_.texts[o.data];
    else std::memcpy(own<std::byte>(i.dst), &o.data, info.width);
    return;
  }
  const auto object = [](ElementType t) { return t == ElementType::R || t == ElementType::String; };
  if (object(o.from) || object(o.to)) generic_objects(o, i, n);
  else generic_bits(o, i, n);
}

void Frame::generic_bits(const GenericOperation& o, const Instruction& i, std::int64_t n) {
  const auto width = [](ElementType t) { return t == ElementType::Z ? 8 : bytes_of(t); };
  const int from = width(o.from), to = width(o.to);
  const std::byte* a = current_[i.a];
  const std::byte* b = i.b == NoRegister ? nullptr : current_[i.b];
  auto* d = own<std::byte>(i.dst);
  std::uint8_t* mark = i.c == NoRegister ? nullptr : own<std::uint8_t>(i.c);
  const auto p = static_cast<Primitive>(o.operation);
  const auto mode = static_cast<CastMode>(o.operation);
  if (o.kind == NodeKind::Primitive && is_float(o.from) && row_of(p).kind == PrimitiveKind::Elementary) {
    elementary_array(p, o.from, a, b, d, static_cast<std::size_t>(n));
    return;
  }
  for (std::int64_t k = 0; k < n; ++k) {
    const Bits x = load(a, k, from);
    if (mark) mark[k] = 0;
    std::optional<Bits> y;
    if (o.kind == NodeKind::Cast || p == Primitive::ToInteger) {
      if (o.kind != NodeKind::Cast) {
        if (const auto z = integer_of(o.from, x)) y = static_cast<Bits>(*z);
      } else if (o.from == ElementType::Z) {
        const auto z = static_cast<std::int64_t>(x);
        if (mode != CastMode::Exact || !is_integer(o.to) || holds(o.to, z)) y = machine_of(z, o.to, mode);
      } else if (o.to == ElementType::Z) {
        if (const auto z = integer_of(o.from, x)) y = static_cast<Bits>(*z);
      } else {
        y = convert(o.from, o.to, x, mode);
      }
    } else if (o.from == ElementType::Z) {
      const std::int64_t args[2] = {static_cast<std::int64_t>(x), b ? static_cast<std::int64_t>(load(b, k, from)) : 0};
      if (const auto z = integer_primitive(p, std::span(args, b ? 2 : 1))) y = static_cast<Bits>(*z);
    } else {
      const Bits args[2] = {x, b ? load(b, k, from) : 0};
      y = machine_primitive(p, o.from, std::span(args, b ? 2 : 1));
    }
    if (!y && mark) mark[k] = static_cast<std::uint8_t>(o.data);
    store(d, k, to, y.value_or(0));
  }
}

void Frame::generic_objects(const GenericOperation& o, const Instruction& i, std::int64_t n) {
  const RegisterInfo& to = tape_.registers[i.dst];
  const auto slot = [&](Register r) { return tape_.registers[r].slot; };
  std::uint8_t* mark = o.kind == NodeKind::Select || i.c == NoRegister ? nullptr : own<std::uint8_t>(i.c);
  std::byte* d = to.kind == RegisterClass::Bytes ? own<std::byte>(i.dst) : nullptr;
  const auto p = static_cast<Primitive>(o.operation);
  const auto mode = static_cast<CastMode>(o.operation);
  for (std::int64_t k = 0; k < n; ++k) {
    const auto j = static_cast<std::size_t>(k);
    bool known = true;
    if (k % 16 == 15) check_();  // exact numbers may be long
    if (o.kind == NodeKind::Select) {
      const Register chosen = get<std::uint8_t>(i.a)[k] ? i.b : i.c;
      if (to.kind == RegisterClass::Real) reals_[to.slot][j] = reals_[slot(chosen)][j];
      else texts_[to.slot][j] = texts_[slot(chosen)][j];
      continue;
    }
    if (o.from == ElementType::R) {
      const Real args[2] = {reals_[slot(i.a)][j], i.b == NoRegister ? Real() : reals_[slot(i.b)][j]};
      const std::span<const Real> x(args, i.b == NoRegister ? 1 : 2);
      if (o.kind == NodeKind::Cast) {
        const auto y = round_to(args[0], o.to, mode);
        known = y.has_value();
        store(d, k, bytes_of(o.to), y.value_or(0));
      } else if (o.to == ElementType::Bool) {
        const auto y = real_comparison(p, x);
        known = y.has_value();
        d[k] = static_cast<std::byte>(y.value_or(false) ? 1 : 0);
      } else if (o.to == ElementType::Z) {
        const auto y = to_integer(p, args[0]);
        known = y.has_value();
        store(d, k, 8, static_cast<Bits>(y.value_or(0)));
      } else {
        auto y = real_primitive(p, x);
        known = y.has_value();
        reals_[to.slot][j] = known ? std::move(*y) : Real();
      }
    } else if (o.to == ElementType::R) {
      const int width = o.from == ElementType::Z ? 8 : bytes_of(o.from);
      const Bits x = load(current_[i.a], k, width);
      reals_[to.slot][j] = o.from == ElementType::Z ? Real(static_cast<std::int64_t>(x)) : real_of(o.from, x);
    } else if (p == Primitive::Concatenate) {
      texts_[to.slot][j] = texts_[slot(i.a)][j] + texts_[slot(i.b)][j];
    } else if (p == Primitive::Length) {
      store(d, k, 8, texts_[slot(i.a)][j].size());
    } else {
      const int order = texts_[slot(i.a)][j].compare(texts_[slot(i.b)][j]);
      const bool y = p == Primitive::Equal ? order == 0 : p == Primitive::NotEqual ? order != 0 : p == Primitive::Less ? order < 0
                   : p == Primitive::LessEqual ? order <= 0 : p == Primitive::Greater ? order > 0 : order >= 0;
      d[k] = static_cast<std::byte>(y ? 1 : 0);
    }
    if (mark) mark[k] = known ? 0 : static_cast<std::uint8_t>(o.data);
  }
}

}  // namespace ulpian::interp::block
