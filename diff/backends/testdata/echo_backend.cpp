// Answers each run with its inputs; with an argument it wants static shapes. Programs "refuse", "throw" and "exhaust" do what they say.
#include <cstdio>
#include <map>
#include <new>
#include <stdexcept>

#include "diff/backends/server.h"

namespace {

using namespace ulpian;
using namespace ulpian::diff;

class Echo : public Handler {
public:
  explicit Echo(bool is_static) : static_(is_static) {}
  Introduction introduce(const HelloRequest& request) override {
    std::printf("text that a library prints\n");
    std::fflush(stdout);
    Introduction i;
    i.name = "echo";
    i.version = "1";
    i.formats = {"onnx", "core"};
    i.element_types = {ElementType::F32, ElementType::BF16};
    i.static_shapes = static_;
    i.details = {{"threads", std::to_string(request.threads)}};
    return i;
  }
  std::variant<PreparedAnswer, Refused, Failed> prepare(const PrepareRequest& request) override {
    if (*request.bytes == "refuse") return Refused{Refusal::Invalid, "it says refuse"};
    programs_[request.program] = *request.bytes;
    extents_[request.program] = request.inputs.empty() ? Extents{} : request.inputs.front().extents;
    return PreparedAnswer{request.inputs, {Port{"y", ElementType::F32, {2, -1}}}, 0.25};
  }
  Outcome run(ProgramId program, const Values& inputs) override {
    if (programs_.at(program) == "throw") throw std::runtime_error("it says throw");
    if (programs_.at(program) == "exhaust") throw std::bad_alloc();
    if (static_ && inputs.at(0).tensor()->extents() != extents_.at(program)) return {Refused{Refusal::Unsupported, "other extents"}, -1, {}};
    Outputs outputs;
    outputs.values = inputs;
    outputs.float_state.flushes_subnormals = false;
    outputs.float_state.rounding = "nearest";
    return {std::move(outputs), 0.5, {}};
  }
  void release(ProgramId program) override { programs_.erase(program); }

private:
  bool static_;
  std::map<ProgramId, std::string> programs_;
  std::map<ProgramId, Extents> extents_;
};

}  // namespace

int main(int count, char**) {
  Echo echo(count > 1);
  return serve(echo);
}
