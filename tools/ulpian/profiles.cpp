#include "tools/ulpian/profiles.h"

#include <algorithm>
#include <map>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "spec/core/file.h"
#include "tools/ulpian/command.h"
#include "tools/ulpian/options.h"
#include "tools/ulpian/printable.h"

namespace ulpian::tools {
namespace {

using interp::Freedom;
using nlohmann::json;

// Of a shipped name that one; of a file all in it.
Result<std::vector<interp::Profile>> profiles_of(const std::string& name) {
  if (const auto profile = interp::profile_named(name)) return std::vector{*profile};
  if (name.find('/') == std::string::npos && !name.ends_with(".ulp"))
    return usage(fmt::format("no profile is called {}", printable(name)), fmt::format("profiles: {}; or a file of them, NAME.ulp", fmt::join(interp::profile_names(), ", ")));
  auto bytes = read_file(name, 1u << 20);
  if (!bytes) return std::move(bytes).error();
  return interp::read_profiles({name, std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size())});
}

std::string in_words(const interp::FunctionError& e) {
  std::string text = e.ulps == 0.5 && e.per_argument == 0 ? "correctly rounded" : e.per_argument == 0 ? fmt::format("{:g} ULP", e.ulps) : fmt::format("{:g} + {:g} |argument| ULP", e.ulps, e.per_argument);
  if (e.absolute != 0) text += fmt::format(" and {:g} absolute", e.absolute);
  return text;
}

// Functions of the same errors together, as `2 ULP on narrower; 3 ULP on f32, f64: exp, log`.
std::map<std::string, std::vector<std::string>> errors_of(const interp::Profile& p) {
  std::map<std::string, std::vector<std::string>> out;
  for (int k = 0; k < PrimitiveCount; ++k) {
    const auto f = static_cast<Primitive>(k);
    if (row_of(f).kind != PrimitiveKind::Elementary && f != Primitive::Divide && f != Primitive::Reciprocal && f != Primitive::SquareRoot) continue;
    // Types of the same error together; f16 stands for all that are narrower, where these are alike.
    std::map<std::string, std::string> types;
    const auto error_on = [&](ElementType type) {
      interp::FunctionError e = p.error(f, type);
      if (e.absolute == p.function_error()) e.absolute = 0;  // told of once for all
      return in_words(e);
    };
    bool one = true, alike = true;
    for (int t = 0; t < ElementTypeCount; ++t)
      if (const auto type = static_cast<ElementType>(t); is_float(type) && bits_of(type) < 32) alike = alike && error_on(type) == error_on(ElementType::F16);
    for (int t = 0; t < ElementTypeCount; ++t) {
      const auto type = static_cast<ElementType>(t);
      if (!is_float(type)) continue;
      const bool narrow = bits_of(type) < 32;
      if (narrow && alike && type != ElementType::F16) continue;
      std::string& list = types[error_on(type)];
      list += fmt::format("{}{}", list.empty() ? "" : ", ", narrow && alike ? "narrower" : name_of(type));
      one = one && types.size() == 1;
    }
    std::string all;
    for (const auto& [error, list] : types) all += one ? error : fmt::format("{}{} on {}", all.empty() ? "" : "; ", error, list);
    out[all].emplace_back(name_of(f));
  }
  return out;
}

std::vector<std::string> freedoms_of(const interp::Profile& p) {
  std::vector<std::string> out;
  for (int k = 0; k < interp::FreedomCount; ++k) {
    const auto f = static_cast<Freedom>(k);
    if (!p.admits_somewhere(f)) continue;
    std::string text(interp::name_of(f));
    if (!p.admits(f)) {
      bool narrower = true, first = true;
      const auto each = [&](auto&& g) {
        for (int t = 0; t < ElementTypeCount; ++t)
          if (const auto type = static_cast<ElementType>(t); is_float(type)) g(type, bits_of(type) < 32);
      };
      each([&](ElementType type, bool narrow) { narrower = narrower && (!narrow || p.admits(f, type)); });
      each([&](ElementType type, bool narrow) {
        if (!p.admits(f, type) || (narrow && narrower && type != ElementType::F16)) return;
        text += fmt::format("{}{}", first ? " on " : ", ", narrow && narrower ? "narrower" : name_of(type));
        first = false;
      });
    }
    out.push_back(std::move(text));
  }
  return out;
}

void print(const interp::Profile& p) {
  fmt::print("{}\n", printable(p.name()));
  if (!p.doc().empty()) fmt::print("  {}\n", printable(p.doc()));
  if (p.exactly_canonical()) return;
  for (const std::string& f : freedoms_of(p)) fmt::print("  admits {}: {}\n", f, interp::meaning_of(*interp::freedom_named(f.substr(0, f.find(' ')))));
  for (const auto& [error, functions] : errors_of(p)) {
    fmt::print("  {}:", error);
    fmt::print(" {}\n", fmt::join(functions, ", "));
  }
  for (const std::string& rule : p.rules_in_words()) fmt::print("  judges by closeness: {}\n", printable(rule));
  if (p.function_error() > 0) fmt::print("  functions besides within {:g} absolute\n", p.function_error());
}

int profiles(const std::string& name, const Common& common) {
  std::vector<interp::Profile> all;
  if (name.empty()) {
    for (const std::string& n : interp::profile_names()) all.push_back(*interp::profile_named(n));
  } else {
    auto read = profiles_of(name);
    if (!read) return report(read.error(), common);
    all = std::move(*read);
  }
  if (common.json) {
    json out = json::array();
    for (const interp::Profile& p : all) {
      json j{{"name", p.name()}, {"doc", p.doc()}, {"exactly_canonical", p.exactly_canonical()}, {"admits", freedoms_of(p)}};
      if (!p.exactly_canonical()) j["errors"] = errors_of(p);
      if (p.has_rules()) j["close"] = p.rules_in_words();
      if (p.function_error() > 0) j["function_error"] = p.function_error();
      out.push_back(std::move(j));
    }
    json freedoms = json::object();
    for (int k = 0; k < interp::FreedomCount; ++k) freedoms[std::string(interp::name_of(static_cast<Freedom>(k)))] = interp::meaning_of(static_cast<Freedom>(k));
    fmt::print("{}\n", json{{"profiles", out}, {"can_admit", freedoms}}.dump(2, ' ', false, json::error_handler_t::replace));
    return Success;
  }
  for (const interp::Profile& p : all) print(p);
  if (!name.empty()) return Success;
  fmt::print("What a profile may admit:\n");
  for (int k = 0; k < interp::FreedomCount; ++k) fmt::print("  {:<18}{}\n", interp::name_of(static_cast<Freedom>(k)), interp::meaning_of(static_cast<Freedom>(k)));
  return Success;
}

}  // namespace

void add_profile_options(CLI::App& command, ProfileChoice& choice) {
  command.add_option("--profile", choice.profile, fmt::format("What an implementation may deviate by, or whose rule to judge by: {}; or a file (the last profile in it counts)", fmt::join(interp::profile_names(), ", ")))->type_name("NAME|FILE")->capture_default_str()->check(not_empty());
  command.add_option("--admit", choice.admit, "What the profile admits besides, as `ulpian profiles` lists it: ftz,bf16_inputs")->type_name("NAME,...")->delimiter(',')->allow_extra_args(false)->check(not_empty());
}

Result<interp::Profile> chosen_profile(const ProfileChoice& choice) {
  auto all = profiles_of(choice.profile);
  if (!all) return std::move(all).error();
  std::vector<Freedom> more;
  for (const std::string& a : choice.admit) {
    const auto f = interp::freedom_named(a);
    if (!f) {
      return usage(fmt::format("--admit: there is no {} to admit", printable(a)), interp::known_freedoms());
    }
    if (all->back().exactly_canonical()) return usage(fmt::format("--admit: the profile {} admits the canonical value alone", all->back().name()), "choose another, strict for example");
    if (!all->back().admits(*f) && std::find(more.begin(), more.end(), *f) == more.end()) more.push_back(*f);
  }
  return all->back().with(more);
}

void add_profiles(CLI::App& app, Common& common, std::function<int()>& chosen) {
  auto name = std::make_shared<std::string>();
  CLI::App& c = *app.add_subcommand("profiles", "What an implementation may deviate by: the profiles, and what one may admit (docs/profiles.md)");
  c.add_option("profile", *name, "Only this one, or those of a file")->type_name("NAME|FILE")->check(not_empty());
  c.add_flag("--json", common.json, "Print the result as JSON on standard output");
  c.footer("Examples:\n  ulpian profiles\n  ulpian profiles standard\n  ulpian profiles my_chip.ulp\nExit status: 0, 2 usage or a file that is wrong.\n");
  c.callback([name, &common, &chosen] { chosen = [name, &common] { return profiles(*name, common); }; });
}

}  // namespace ulpian::tools
