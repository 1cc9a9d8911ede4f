// A value's declared type as the file holds it. Internal to this folder.
#pragma once

#include "spec/core/graph.h"

namespace onnx {
class ValueInfoProto;
}

namespace ulpian::onnx_file {

void write_value_info(const GraphValue& value, ::onnx::ValueInfoProto& out);

}  // namespace ulpian::onnx_file
