// Whole documents: testdata/*.run.ulp (definitions whose examples must hold, on the scalar evaluator) and testdata/*.reject.ulp (texts that
// are refused, with the message). ULPIAN_UPDATE=1 rewrites the messages of the latter; read what changed.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "interp/scalar/scalar.h"
#include "interp/session/examples.h"
#include "spec/core/file.h"
#include "spec/language/language_test_support.h"

namespace ulpian::language::testing {
namespace {

const std::filesystem::path Root = ULPIAN_SOURCE_DIR;

std::string text_of(const std::filesystem::path& file) {
  auto bytes = read_file(file.string(), 1u << 24);
  EXPECT_TRUE(bytes.ok()) << file;
  return bytes ? std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size()) : std::string();
}

std::vector<std::filesystem::path> documents(const std::string& suffix) {
  std::vector<std::filesystem::path> out;
  for (const auto& entry : std::filesystem::directory_iterator(Root / "spec/language/testdata"))
    if (entry.path().string().ends_with(suffix)) out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

// The error of one example's call, from elaboration or evaluation; empty where it has an answer.
std::optional<Diagnostic> error_of(const Specification& spec, const Example& e) {
  auto program = elaborate(spec, e.call);
  if (!program) return program.error();
  const auto broken = core::verify(*program);
  EXPECT_FALSE(broken) << e.title << ": " << broken.value_or("");
  auto answer = interp::evaluate_scalar(*program, e.inputs);
  if (!answer) return answer.error();
  return std::nullopt;
}

// Every example of every operator in `text`; the number of them.
int run_examples(const std::string& file, const std::string& text) {
  const SourceText source{file, text};
  auto spec = Specification::load(std::span(&source, 1));
  EXPECT_TRUE(spec.ok()) << file << ": " << (spec ? "" : to_string(spec.error()));
  if (!spec) return 0;
  int count = 0;
  for (const std::string& name : (*spec)->names())
    for (const OperatorDefinition* d : (*spec)->definitions(name)) {
      if (!d->file->user) continue;
      auto examples = examples_of(**spec, *d);
      EXPECT_TRUE(examples.ok()) << (examples ? "" : to_string(examples.error()));
      if (!examples) continue;
      for (const Example& e : *examples) {
        ++count;
        const std::string where = fmt::format("{}:{}: {}", e.place.file, e.place.line, e.title);
        const auto failure = interp::failure_of(*spec, e, interp::Evaluator::Scalar);
        EXPECT_FALSE(failure) << where << ": " << failure.value_or("");
      }
    }
  return count;
}

TEST(Documents, ExamplesHold) {
  int files = 0, examples = 0;
  for (const auto& file : documents(".run.ulp")) {
    ++files;
    const int n = run_examples("spec/language/testdata/" + file.filename().string(), text_of(file));
    EXPECT_GT(n, 0) << file;
    examples += n;
  }
  fmt::print("{} examples in {} documents\n", examples, files);
  EXPECT_GT(files, 0);
}

// The message for a text: of its parsing, else of the first example that fails, else of a call without inputs.
std::string message_of(const std::string& text) {
  const SourceText source{"case.ulp", text};
  auto spec = Specification::load(std::span(&source, 1));
  if (!spec) return to_string(spec.error());
  const OperatorDefinition* last = nullptr;
  for (const std::string& name : (*spec)->names())
    for (const OperatorDefinition* d : (*spec)->definitions(name))
      if (d->file->user && (!last || d->at.line > last->at.line)) last = d;
  if (!last) return "(nothing is defined)";
  auto examples = examples_of(**spec, *last);
  if (!examples) return to_string(examples.error());
  if (examples->empty()) {
    Example plain;
    plain.call.op = last->name;
    plain.call.version = last->since.front();
    examples->push_back(plain);
  }
  for (const Example& e : *examples) {
    if (auto error = error_of(**spec, e)) return to_string(*error);
  }
  return "(no error)";
}

// A reject document is a list of cases: `#---- title`, the message as lines `#! ...`, then the text.
struct Case {
  std::string title, message, text;
};

std::vector<Case> cases_of(const std::string& document) {
  std::vector<Case> out;
  std::istringstream lines(document);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#---- ")) out.push_back({line.substr(6), "", ""});
    else if (out.empty()) continue;
    else if (line.starts_with("#! ")) out.back().message += line.substr(3) + "\n";
    else out.back().text += line + "\n";
  }
  return out;
}

std::string head_of(const std::string& document) { return document.substr(0, document.find("#---- ")); }

TEST(Documents, RefusedTextsSayWhy) {
  const bool update = std::getenv("ULPIAN_UPDATE") != nullptr;
  int count = 0;
  for (const auto& file : documents(".reject.ulp")) {
    const std::string document = text_of(file);
    std::string rewritten = head_of(document);
    for (const Case& c : cases_of(document)) {
      ++count;
      const std::string got = message_of(c.text) + "\n";
      EXPECT_NE(got, "(no error)\n") << file.filename() << ": " << c.title;
      if (!update) {
        EXPECT_EQ(got, c.message) << file.filename() << ": " << c.title;
      }
      rewritten += "#---- " + c.title + "\n";
      std::istringstream lines(got);
      for (std::string line; std::getline(lines, line);) rewritten += "#! " + line + "\n";
      rewritten += c.text;
    }
    if (update) std::ofstream(file) << rewritten;
  }
  EXPECT_GT(count, 0);
}

// Blocks of ```ulp in the pages of docs/: all that define an operator are parsed, and their examples run.
TEST(Documents, DefinitionsInThePagesAreTrue) {
  int operators = 0;
  for (const char* page : {"docs/language.md", "docs/tutorial.md"}) {
    if (!std::filesystem::exists(Root / page)) continue;
    const std::string text = text_of(Root / page);
    for (std::size_t at = text.find("```ulp\n"); at != std::string::npos; at = text.find("```ulp\n", at + 1)) {
      const std::size_t start = at + 7, end = text.find("```", start);
      ASSERT_NE(end, std::string::npos);
      const std::string block = text.substr(start, end - start);
      if (block.find("op ") == std::string::npos) continue;
      ++operators;
      EXPECT_GT(run_examples(page, block), 0) << block;
    }
  }
  fmt::print("{} definitions in pages\n", operators);
}

}  // namespace
}  // namespace ulpian::language::testing
