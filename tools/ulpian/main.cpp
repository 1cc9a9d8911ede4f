// ulpian: the command line. Each subcommand is one file beside this one.
#include <cerrno>
#include <cstdio>
#include <exception>
#include <system_error>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "tools/ulpian/command.h"
#include "tools/ulpian/printable.h"

int main(int argc, char** argv) {
  using namespace ulpian::tools;
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
  add_backends(app, common, chosen);
  add_spec(app, common, chosen);
  // CLI11 would say only that a subcommand is missing.
  if (argc > 1 && argv[1][0] != '-') {
    std::string all;
    bool known = false;
    for (const CLI::App* c : app.get_subcommands([](const CLI::App*) { return true; })) {
      known = known || c->get_name() == argv[1];
      all += (all.empty() ? "" : ", ") + c->get_name();
    }
    if (!known) {
      fmt::print(stderr, "error: no subcommand is called {}\n  help: there are {}; ulpian --help tells more\n", printable(std::string_view(argv[1]).substr(0, 80)), all);
      return UsageError;
    }
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    app.exit(e);
    return UsageError;
  }
  try {
    const int status = chosen ? chosen() : UsageError;
    // What was printed may still wait to be written.
    if (std::fflush(stdout) != 0) throw std::system_error(errno, std::generic_category(), "the result cannot be written");
    return status;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "error: out of memory; lower --memory-limit, or give smaller extents\n");
    return Undecided;
  } catch (const std::system_error& e) {
    fmt::print(stderr, "error: {}\n", e.what());
    return UsageError;
  } catch (const std::exception& e) {
    // A Bug: our mistake, never the user's.
    fmt::print(stderr, "{}\nThis is a fault of Ulpian: please report it with the command and the model.\n", e.what());
    return 70;
  }
}
