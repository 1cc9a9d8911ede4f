// A libFuzzer target: any bytes as a specification file. Must end in a Result, within the limits.
#include <cstddef>
#include <cstdint>

#include "spec/language/elaborate.h"

namespace {

using namespace ulpian;
using namespace ulpian::language;

void exercise(const Specification& spec) {
  for (const std::string& name : spec.names())
    for (const OperatorDefinition* d : spec.definitions(name)) {
      if (!d->file->user) continue;
      auto examples = examples_of(spec, *d);
      if (!examples) continue;
      for (std::size_t k = 0; k < examples->size() && k < 8; ++k) {
        auto program = elaborate(spec, (*examples)[k].call);
        if (program) ensure(!core::verify(*program), "a core program that breaks its rules");
      }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const SourceText source{"fuzz.ulp", std::string(reinterpret_cast<const char*>(data), size)};
  if (auto spec = Specification::load(std::span(&source, 1))) exercise(**spec);
  return 0;
}
