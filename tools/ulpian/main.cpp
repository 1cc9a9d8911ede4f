// ulpian: the command line. Each subcommand is one file beside this one.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <optional>
#include <string_view>
#include <system_error>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "tools/ulpian/command.h"

namespace {

using namespace ulpian;
using namespace ulpian::tools;

// For errors that come before options are read.
bool asks_for_json(int argc, char** argv) {
  for (int k = 1; k < argc && std::string_view(argv[k]) != "--"; ++k)
    if (std::string_view(argv[k]) == "--json") return true;
  return false;
}

Diagnostic of_kind(ErrorKind kind, std::string message, std::string help = {}) {
  Diagnostic d;
  d.kind = kind;
  d.message = std::move(message);
  d.hint = std::move(help);
  return d;
}

// CLI11 would say only that a subcommand is missing.
std::optional<Diagnostic> no_such_subcommand(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return std::nullopt;
  std::string all;
  for (const CLI::App* c : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (c->get_name() == argv[1]) return std::nullopt;
    all += (all.empty() ? "" : ", ") + c->get_name();
  }
  return of_kind(ErrorKind::Usage, fmt::format("no subcommand is called {}", std::string_view(argv[1]).substr(0, 80)), fmt::format("there are {}; ulpian --help tells more", all));
}

int run(const std::function<int()>& chosen, const Common& common) {
  try {
    const int status = chosen ? chosen() : UsageError;
    // What was printed may still wait to be written.
    if (std::fflush(stdout) != 0) throw std::system_error(errno, std::generic_category(), "the result cannot be written");
    return status;
  } catch (const std::bad_alloc&) {
    return report(of_kind(ErrorKind::Limit, "out of memory", "lower --memory-limit, or give smaller extents"), common);
  } catch (const std::system_error& e) {
    return report(of_kind(ErrorKind::Input, e.what()), common);
  } catch (const std::exception& e) {
    return report_bug(e.what(), common);
  }
}

}  // namespace

int main(int argc, char** argv) {
#if defined(__GLIBC__)
  // Tensors come and go by the megabyte: given back to the system each time, their pages cost as much as what is computed in them.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_TOP_PAD, 1 << 24);
#endif
  // A file that grows beyond what is allowed is an error of its write, which leaves nothing behind; the signal would.
  std::signal(SIGXFSZ, SIG_IGN);
  CLI::App app{
      "Ulpian: the reference language for tensor programs.\n"
      "Runs ONNX models on an executable specification, and holds other implementations against it.\n"};
  app.footer(
      "Examples:\n"
      "  ulpian check model.onnx --backend onnxruntime       every operator of a model, on ONNX Runtime\n"
      "  ulpian run model.onnx --inputs DIR --out DIR2       the canonical answer\n"
      "  ulpian spec show onnx.Softmax                       what an operator means\n"
      "Exit status: 0 ran / conforms, 1 does not conform, 2 usage or input error, 3 undecided or a limit.\n");
  app.require_subcommand(1);
  app.set_version_flag("--version", "ulpian " ULPIAN_VERSION " (canonical edition 0)");
  Common common;
  std::function<int()> chosen;
  add_run(app, common, chosen);
  add_check(app, common, chosen);
  add_audit(app, common, chosen);
  add_backends(app, common, chosen);
  add_spec(app, common, chosen);
  add_profiles(app, common, chosen);
  if (const auto d = no_such_subcommand(app, argc, argv)) {
    common.json = asks_for_json(argc, argv);
    return report(*d, common);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    common.json = asks_for_json(argc, argv);
    const bool known = argc > 1 && argv[1][0] != '-';
    return report(of_kind(ErrorKind::Usage, e.what(), fmt::format("ulpian {}--help tells more", known ? fmt::format("{} ", argv[1]) : "")), common);
  }
  return run(chosen, common);
}
