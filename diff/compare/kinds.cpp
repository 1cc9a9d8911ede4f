#include "diff/compare/kinds.h"

#include <fmt/format.h>

#include "spec/core/counted.h"

namespace ulpian::diff {

namespace {

std::string kind_of(const Datum& v) {
  const Datum::Sequence* s = v.sequence();
  return !v.is_present() ? "nothing" : s ? "a sequence of " + counted(s->items.size(), fmt::format("{} tensor", name_of(s->type))) : "a tensor";
}

std::string kind_of(const core::ResultInfo& r) {
  switch (r.kind) {
    case core::ResultKind::Nothing: return "nothing";
    case core::ResultKind::Tensor: return "a tensor";
    case core::ResultKind::Sequence: return "a sequence of " + counted(r.count, fmt::format("{} tensor", name_of(r.type)));
  }
  ensure(false);
}

// Libraries do not tell the type of a sequence without tensors.
bool has_kind(const Datum& v, const core::ResultInfo& r) {
  const Datum::Sequence* s = v.sequence();
  if (r.kind != core::ResultKind::Sequence) return s == nullptr && v.is_present() == (r.kind == core::ResultKind::Tensor);
  return s && s->items.size() == r.count && (r.count == 0 || s->type == r.type);
}

std::string name_of_result(const Expectation& e, const core::ResultInfo& r, std::size_t k) {
  if (r.kind == core::ResultKind::Tensor && r.first < e.names.size() && !e.names[r.first].empty()) return "\"" + e.names[r.first] + "\"";
  if (r.kind == core::ResultKind::Sequence && r.count > 0 && r.first < e.names.size()) return "\"" + e.names[r.first].substr(0, e.names[r.first].rfind('[')) + "\"";
  return std::to_string(k);
}

}  // namespace

std::optional<std::string> wrong_kind(const Expectation& e, std::span<const Datum> got, MaybeTensors& tensors) {
  if (e.results.empty()) {
    for (std::size_t k = 0; k < got.size(); ++k) {
      if (got[k].sequence() && k < e.canonical.size() && e.canonical[k]) return fmt::format("the output {} is {}; a tensor is right", k < e.names.size() ? "\"" + e.names[k] + "\"" : std::to_string(k), kind_of(got[k]));
      tensors.push_back(got[k].tensor() ? std::optional(*got[k].tensor()) : std::nullopt);
    }
    return std::nullopt;
  }
  tensors.resize(e.canonical.size());
  for (std::size_t k = 0; k < e.results.size(); ++k) {
    if (k < e.unseen.size() && e.unseen[k]) continue;
    const core::ResultInfo& r = e.results[k];
    const Datum given = k < got.size() ? got[k] : Datum();
    if (!given.is_present() && r.kind == core::ResultKind::Tensor) continue;  // missing, as judged below
    if (!has_kind(given, r)) return fmt::format("the output {} is {}; {} is right", name_of_result(e, r, k), kind_of(given), kind_of(r));
    for (std::size_t j = 0; j < given.count(); ++j) tensors[r.first + j] = given.part(j);
  }
  return std::nullopt;
}

}  // namespace ulpian::diff
