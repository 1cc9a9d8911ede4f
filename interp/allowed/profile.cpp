#include "interp/allowed/profile.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "spec/language/profiles.h"
#include "spec/numbers/format.h"

namespace ulpian::interp {
namespace {

struct FreedomRow {
  Freedom freedom;
  std::string_view name, meaning;
};
constexpr std::array<FreedomRow, FreedomCount> Freedoms{{
    {Freedom::SumZeroSigns, "sum_zero_signs", "either zero where a sum is 0"},
    {Freedom::Bodies, "bodies", "the standard's formula of an activation"},
    {Freedom::ExcessPrecision, "excess_precision", "no rounding between two operators"},
    {Freedom::ExcessIntoCasts, "excess_into_casts", "nor before a cast or a quantisation"},
    {Freedom::F64AsF32, "f64_as_f32", "f64 held and computed as f32"},
    {Freedom::I64AsI32, "i64_as_i32", "64-bit integers held and computed as 32-bit ones"},
    {Freedom::Ftz, "ftz", "subnormal results flushed to zero"},
    {Freedom::Daz, "daz", "subnormal operands read as zero"},
    {Freedom::ZeroSigns, "zero_signs", "zeros of either sign"},
    {Freedom::NanIgnored, "nan_ignored", "minimum and maximum pass over NaN"},
    {Freedom::Tf32Inputs, "tf32_inputs", "factors of summed products rounded to 11 bits, with f32's range"},
    {Freedom::F16Inputs, "f16_inputs", "factors of summed products rounded to f16"},
    {Freedom::Bf16Inputs, "bf16_inputs", "factors of summed products rounded to bf16"},
    {Freedom::F16Sums, "f16_sums", "sums accumulated in f16"},
    {Freedom::Bf16Sums, "bf16_sums", "sums accumulated in bf16"},
}};

constexpr std::size_t MostProfiles = 1000;
constexpr std::size_t Types = ElementTypeCount;
std::size_t place_of(Primitive p, ElementType t) { return static_cast<std::size_t>(p) * Types + static_cast<std::size_t>(t); }

bool has_tolerance(Primitive p) {
  return row_of(p).kind == PrimitiveKind::Elementary || p == Primitive::Divide || p == Primitive::Reciprocal || p == Primitive::SquareRoot;
}

std::string listed(std::string out, std::string_view name) { return out.empty() ? std::string(name) : out + ", " + std::string(name); }

}  // namespace

std::string_view name_of(Freedom f) { return Freedoms[static_cast<std::size_t>(f)].name; }
std::string_view meaning_of(Freedom f) { return Freedoms[static_cast<std::size_t>(f)].meaning; }
std::optional<Freedom> freedom_named(std::string_view name) {
  for (const FreedomRow& r : Freedoms)
    if (r.name == name) return r.freedom;
  return std::nullopt;
}

bool is_by_type(Freedom f) {
  switch (f) {
    case Freedom::SumZeroSigns:
    case Freedom::Ftz:
    case Freedom::Daz:
    case Freedom::ZeroSigns:
    case Freedom::NanIgnored: return true;
    default: return false;
  }
}

std::string known_freedoms() {
  std::string all;
  for (const FreedomRow& r : Freedoms) all = listed(std::move(all), r.name);
  return "there are " + all;
}

FunctionError Profile::error(Primitive p, ElementType type) const {
  FunctionError own = errors_ ? (*errors_)[place_of(p, type)] : FunctionError{};
  if (row_of(p).kind != PrimitiveKind::Elementary) return own;
  own.ulps = std::max(own.ulps, all_functions_);
  own.absolute = std::max(own.absolute, function_error_);
  return own;
}

std::string in_words(const Closeness& rule) {
  std::string out;
  const auto more = [&](double x, const char* what) {
    if (x != 0) out += fmt::format("{}{:g} {}", out.empty() ? "" : ", ", x, what);
  };
  more(rule.relative, "relative");
  more(rule.absolute, "absolute");
  more(rule.ulps, "ULP");
  return out.empty() ? "equal" : out;
}

std::optional<Closeness> Profile::rule(std::string_view op, ElementType type) const {
  if (!rules_) return std::nullopt;
  for (std::size_t k = rules_->size(); k-- > 0;) {
    const Rule& r = (*rules_)[k];
    const auto has = [](const auto& all, const auto& one) { return all.empty() || std::ranges::find(all, one) != all.end(); };
    if (has(r.types, type) && has(r.operators, op)) return r.closeness;
  }
  return std::nullopt;
}

std::vector<std::string> Profile::ruled_operators() const {
  std::vector<std::string> out;
  for (const Rule& r : rules_ ? std::span<const Rule>(*rules_) : std::span<const Rule>()) out.insert(out.end(), r.operators.begin(), r.operators.end());
  return out;
}

std::vector<std::string> Profile::rules_in_words() const {
  std::vector<std::string> out;
  if (!rules_) return out;
  for (const Rule& r : *rules_) {
    std::string text = in_words(r.closeness);
    for (std::size_t k = 0; k < r.types.size(); ++k) text += (k ? ", " : " on ") + std::string(ulpian::name_of(r.types[k]));
    for (std::size_t k = 0; k < r.operators.size(); ++k) text += (k ? ", " : ": ") + r.operators[k];
    out.push_back(std::move(text));
  }
  return out;
}

Profile Profile::with(std::span<const Freedom> more) const {
  Profile p = *this;
  for (Freedom f : more) {
    if (p.admits(f)) continue;
    p.admitted_ |= std::uint32_t{1} << static_cast<int>(f);
    p.name_ += fmt::format(" + {}", ulpian::interp::name_of(f));
  }
  return p;
}

Profile Profile::without(Freedom one) const {
  Profile p = *this;
  if (!p.admits_somewhere(one)) return p;
  const std::uint32_t others = ~(std::uint32_t{1} << static_cast<int>(one));
  p.admitted_ &= others;
  p.somewhere_ &= others;
  for (std::uint32_t& on : p.admitted_on_) on &= others;
  p.name_ += fmt::format(" - {}", ulpian::interp::name_of(one));
  return p;
}

Profile Profile::within(double ulps) const {
  Profile p = *this;
  p.all_functions_ = std::max(p.all_functions_, ulps);
  p.name_ += fmt::format(" + functions within {:g} ULP", ulps);
  return p;
}

Profile Profile::apart(double error) const {
  Profile p = *this;
  p.function_error_ = std::max(p.function_error_, error);
  p.name_ += fmt::format(" + functions within {:g}", error);
  return p;
}

// Texts to profiles.
class ProfileReader {
public:
  // The shipped profiles are named for their files; one may build on others.
  static const std::vector<Profile>& shipped() {
    static const std::vector<Profile> all = [] {
      std::vector<language::ProfileDefinition> definitions;
      for (const language::EmbeddedFile& f : language::embedded_files()) {
        if (f.kind != language::EmbeddedFile::Kind::Profile) continue;
        auto read = language::parse_profiles({f.path, std::string(f.text, f.size)});
        ensure(read.ok(), read.ok() ? std::string() : to_string(read.error()));  // shipped files are tested
        for (auto& d : *read) definitions.push_back(std::move(d));
      }
      std::vector<Profile> out;
      while (out.size() < definitions.size()) {
        const std::size_t before = out.size();
        for (const auto& d : definitions)
          if (!find(out, d.name) && (d.from.empty() || find(out, d.from))) {
            auto made = of(d, out, true);
            ensure(made.ok(), made.ok() ? std::string() : to_string(made.error()));
            out.push_back(std::move(*made));
          }
        ensure(out.size() > before, "the shipped profiles build on each other in a circle, or on one that is not there");
      }
      return out;
    }();
    return all;
  }

  static const Profile* find(std::span<const Profile> all, std::string_view name) {
    // Of several of one name the last.
    for (std::size_t k = all.size(); k-- > 0;)
      if (all[k].name_ == name) return &all[k];
    return nullptr;
  }

  static Result<Profile> of(const language::ProfileDefinition& d, std::span<const Profile> before, bool is_shipped = false) {
    const auto wrong = [](const Place& place, std::string message, std::string hint) {
      Diagnostic out;
      out.kind = ErrorKind::Definition;
      out.message = std::move(message);
      out.place = place;
      return out.help(std::move(hint));
    };
    Profile p;
    if (before.size() >= MostProfiles) return wrong(d.place, fmt::format("more than {} profiles", MostProfiles), {});
    if (!is_shipped && find(shipped(), d.name)) return wrong(d.place, fmt::format("{} is a profile of Ulpian's own", d.name), "give yours another name");
    if (!d.from.empty()) {
      const Profile* base = find(before, d.from);
      if (base == nullptr) {
        std::string all;
        for (const Profile& b : before) all = listed(std::move(all), b.name_);
        return wrong(d.from_place, fmt::format("no profile is called {}", d.from), fmt::format("profiles so far: {}", all));
      }
      p = *base;
    }
    p.name_ = d.name;
    p.doc_ = d.doc;
    p.base_ = d.from;
    if (d.exactly && (!d.from.empty() || !d.admitted.empty() || !d.bounds.empty() || !d.rules.empty() || d.function_error != 0))
      return wrong(d.place, fmt::format("profile {} is exactly the canonical value, and admits more", d.name), "exactly stands alone");
    p.exactly_ = p.exactly_ || d.exactly;
    if (p.exactly_ && !d.exactly) return wrong(d.from_place, fmt::format("profile {} cannot add to {}, which admits the canonical value alone", d.name, d.from), {});
    p.function_error_ = std::max(p.function_error_, d.function_error);
    const auto float_types = [&](const std::vector<language::ProfileDefinition::Name>& names, bool integers) -> Result<std::set<ElementType>> {
      std::set<ElementType> types;
      for (const auto& t : names) {
        if (t.text == "narrower") {
          for (std::size_t k = 0; k < Types; ++k)
            if (const auto e = static_cast<ElementType>(k); is_float(e) && bits_of(e) < 32) types.insert(e);
        } else if (const auto e = element_type_named(t.text); e && (is_float(*e) || (integers && is_integer(*e)))) {
          types.insert(*e);
        } else {
          return wrong(t.place, fmt::format("{} is no {}type", t.text, integers ? "" : "float "), "f64, f32, narrower (all floats that are narrower than f32), or one of these: f16, bf16, ...");
        }
      }
      return types;
    };
    for (const auto& a : d.admitted) {
      const auto f = freedom_named(a.name.text);
      if (!f) return wrong(a.name.place, fmt::format("there is no {} to admit", a.name.text), known_freedoms());
      const std::uint32_t bit = std::uint32_t{1} << static_cast<int>(*f);
      if (a.types.empty()) {
        p.admitted_ |= bit;
        continue;
      }
      if (!is_by_type(*f)) {
        std::string all;
        for (const FreedomRow& r : Freedoms)
          if (is_by_type(r.freedom)) all = listed(std::move(all), r.name);
        return wrong(a.name.place, fmt::format("{} is admitted of all types, or not", a.name.text), fmt::format("by type: {}", all));
      }
      auto types = float_types(a.types, false);
      if (!types) return std::move(types).error();
      p.somewhere_ |= bit;
      for (ElementType t : *types) p.admitted_on_[static_cast<std::size_t>(t)] |= bit;
    }
    if (!d.rules.empty()) {
      auto rules = p.rules_ ? *p.rules_ : std::vector<Profile::Rule>();
      for (const auto& c : d.rules) {
        auto types = float_types(c.types, true);
        if (!types) return std::move(types).error();
        Profile::Rule r{{c.relative, c.absolute, c.ulps}, {types->begin(), types->end()}, {}};
        for (const auto& op : c.operators) r.operators.push_back(op.text);
        rules.push_back(std::move(r));
      }
      p.rules_ = std::make_shared<const std::vector<Profile::Rule>>(std::move(rules));
    }
    if (d.bounds.empty()) return p;
    auto errors = p.errors_ ? *p.errors_ : std::vector<FunctionError>(PrimitiveCount * Types);
    for (const auto& b : d.bounds) {
      auto named_types = float_types(b.types, false);
      if (!named_types) return std::move(named_types).error();
      std::set<ElementType> types = std::move(*named_types);
      if (b.types.empty())
        for (std::size_t k = 0; k < Types; ++k)
          if (is_float(static_cast<ElementType>(k))) types.insert(static_cast<ElementType>(k));
      std::set<Primitive> functions;
      for (const auto& f : b.functions) {
        std::vector<Primitive> primitives;
        if (f.text == "functions") {
          for (int k = 0; k < PrimitiveCount; ++k)
            if (row_of(static_cast<Primitive>(k)).kind == PrimitiveKind::Elementary) primitives.push_back(static_cast<Primitive>(k));
        } else {
          auto named = primitive_named(f.text, 1);
          if (!named) named = primitive_named(f.text, 2);
          if (!named || !has_tolerance(*named))
            return wrong(f.place, fmt::format("{} is no function that may have an error", f.text), "\"/\", reciprocal, sqrt, the elementary functions by name, or functions for all of these");
          if ((b.absolute != 0 || b.per_argument != 0) && row_of(*named).kind != PrimitiveKind::Elementary)
            return wrong(f.place, fmt::format("the error of {} is a number of ulp", f.text), "absolute errors, and ulp by the argument, are of elementary functions");
          if (b.per_argument != 0 && row_of(*named).arity == 2) return wrong(f.place, fmt::format("{} has two arguments", f.text), "ulp by the argument are of functions of one");
          primitives.push_back(*named);
        }
        for (Primitive one : primitives) functions.insert(one);
      }
      for (Primitive one : functions)
        for (ElementType t : types) {
          FunctionError& e = errors[place_of(one, t)];
          if (b.absolute != 0) e.absolute = b.absolute;
          else e.ulps = b.ulps, e.per_argument = row_of(one).arity == 2 ? 0 : b.per_argument;
        }
    }
    p.errors_ = std::make_shared<const std::vector<FunctionError>>(std::move(errors));
    return p;
  }
};

std::optional<Profile> profile_named(std::string_view name) {
  const Profile* p = ProfileReader::find(ProfileReader::shipped(), name);
  return p != nullptr ? std::optional(*p) : std::nullopt;
}

std::vector<std::string> profile_names() {
  std::vector<std::string> out;
  for (const Profile& p : ProfileReader::shipped()) out.push_back(p.name());
  return out;
}

Result<std::vector<Profile>> read_profiles(const language::SourceText& source) {
  auto definitions = language::parse_profiles(source);
  if (!definitions) return std::move(definitions).error();
  std::vector<Profile> known = ProfileReader::shipped(), out;
  for (const auto& d : *definitions) {
    auto made = ProfileReader::of(d, known);
    if (!made) return std::move(made).error();
    known.push_back(*made);
    out.push_back(std::move(*made));
  }
  return out;
}

}  // namespace ulpian::interp
