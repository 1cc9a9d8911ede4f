// What an implementation may deviate by (numerics.md, section 7). Profiles are data: spec/profiles, and texts of the same form.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "spec/core/diagnostic.h"
#include "spec/language/specification.h"
#include "spec/numbers/primitive.h"

namespace ulpian::interp {

// What a profile may admit besides correctly rounded operations and sums in any order. Of several that explain an answer the first is preferred.
enum class Freedom : std::uint8_t {
  SumZeroSigns,     // either zero where a sum or dot is 0
  Bodies,           // the standard's formula of an activation (`within body`), each operation rounded
  ExcessPrecision,  // the rounding that ends a definition may be left out before the next operator
  ExcessIntoCasts,  // and before a cast or a quantisation, which read it as its type says
  // Types that are held narrower; judged by whole calls (diff/check/narrowed.h), sets do not know of it:
  F64AsF32,         // f64 as f32
  I64AsI32,         // 64-bit integers as 32-bit ones
  // Deviations:
  Ftz,              // a subnormal result of any operation may be a zero of either sign
  Daz,              // a subnormal operand of any operation may be read as a zero
  ZeroSigns,        // a zero may have either sign
  NanIgnored,       // minimum and maximum may pass over NaN
  Tf32Inputs,       // the f32 factors of products that are summed may be rounded first: to 11 bits, to f16, to bf16
  F16Inputs,
  Bf16Inputs,
  F16Sums,          // sums and dots of f32 may be accumulated in the narrower type
  Bf16Sums,
};
inline constexpr int FreedomCount = 15;
inline constexpr Freedom FirstDeviation = Freedom::Ftz;
std::string_view name_of(Freedom f);       // "ftz", "bf16_inputs"
std::string_view meaning_of(Freedom f);    // in a few words
std::optional<Freedom> freedom_named(std::string_view name);
bool is_by_type(Freedom f);    // whether a profile may admit it of some types only
std::string known_freedoms();              // "there are sum_zero_signs, ...", to help who wrote another name

// How far a primitive may be off on an element type, from the real value: in units in the last place of the result (0.5: correctly rounded). Of
// elementary functions so many more for each unit of the argument's magnitude, and by an absolute error besides.
struct FunctionError {
  double ulps = 0.5, per_argument = 0, absolute = 0;
  bool is_rounding() const { return ulps <= 0.5 && per_argument == 0 && absolute == 0; }
};

// Someone else's rule: an output may be as far from the canonical value as one of these says, whatever the sets hold. The first two together:
// |got - canonical| <= absolute + relative |canonical|.
struct Closeness {
  double relative = 0, absolute = 0, ulps = 0;
};

std::string in_words(const Closeness& rule);  // `0.001 relative, 1e-07 absolute`

class Profile {
public:
  Profile() = default;
  const std::string& name() const { return name_; }
  const std::string& doc() const { return doc_; }
  // The canonical value only, so that the true value need not be a member.
  bool exactly_canonical() const { return exactly_; }
  // Error of one primitive on one element type, in units in the last place of the result; 0.5 is correctly rounded.
  double ulp(Primitive primitive, ElementType type) const { return error(primitive, type).ulps; }
  FunctionError error(Primitive primitive, ElementType type) const;
  bool admits(Freedom f) const { return (admitted_ >> static_cast<int>(f) & 1) != 0; }  // of every type
  bool admits(Freedom f, ElementType type) const { return ((admitted_ | admitted_on_[static_cast<std::size_t>(type)]) >> static_cast<int>(f) & 1) != 0; }
  bool admits_somewhere(Freedom f) const { return ((admitted_ | somewhere_) >> static_cast<int>(f) & 1) != 0; }
  bool deviates() const { return ((admitted_ | somewhere_) >> static_cast<int>(FirstDeviation)) != 0; }

  // Of every elementary function besides, absolute.
  double function_error() const { return function_error_; }
  // Whether it judges by closeness to the canonical value where it says so; its sets then tell what that rule lets through, and refuses.
  bool has_rules() const { return rules_ != nullptr; }
  // Of outputs of this type of this operator (of several together: ""); nothing where it says nothing.
  std::optional<Closeness> rule(std::string_view op, ElementType type) const;
  std::vector<std::string> ruled_operators() const;  // those that rules name
  std::vector<std::string> rules_in_words() const;  // one line each, later ones count
  const std::string& base() const { return base_; }  // the profile it adds to, as it was named; empty: none

  // As this, admitting more. `within`: elementary functions off by so many ULP, where that is more; `apart`: by so much.
  Profile with(std::span<const Freedom> more) const;
  Profile without(Freedom one) const;
  Profile within(double ulps) const;
  Profile apart(double error) const;

private:
  friend class ProfileReader;
  struct Rule {
    Closeness closeness;
    std::vector<ElementType> types;      // none: all
    std::vector<std::string> operators;  // none: all
  };
  std::string name_, doc_, base_;
  bool exactly_ = false;
  std::uint32_t admitted_ = 0, somewhere_ = 0;                // of every type; of some
  std::array<std::uint32_t, ElementTypeCount> admitted_on_{};  // of one
  double all_functions_ = 0.5, function_error_ = 0;
  std::shared_ptr<const std::vector<FunctionError>> errors_;  // by primitive, then by element type; none: all correctly rounded
  std::shared_ptr<const std::vector<Rule>> rules_;
};

std::optional<Profile> profile_named(std::string_view name);  // "standard", "strict", "accurate", "canonical"
std::vector<std::string> profile_names();
// The profiles of a text, in its order. They may build on each other and on the shipped ones.
Result<std::vector<Profile>> read_profiles(const language::SourceText& source);

}  // namespace ulpian::interp
