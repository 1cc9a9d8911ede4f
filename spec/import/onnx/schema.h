// The generated protobuf code, for the .cpp files of this folder only: it is heavy, and no other folder shall depend on it.
#pragma once

#include <google/protobuf/arena.h>
#include <onnx/onnx-ml.pb.h>
