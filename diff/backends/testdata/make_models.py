"""Writes the small models of the shipped backends' tests into the folder that is its argument."""
import sys

from onnx import TensorProto as T
from onnx import helper as h


def tensor(name, type, extents):
    return h.make_tensor_value_info(name, type, extents)


def sequence(name, type):
    return h.make_tensor_sequence_value_info(name, type, None)


def write(name, nodes, inputs, outputs, opset=21):
    model = h.make_model(h.make_graph(nodes, name, inputs, outputs), opset_imports=[h.make_opsetid("", opset)], ir_version=10)
    with open(f"{sys.argv[1]}/{name}.onnx", "wb") as f:
        f.write(model.SerializeToString())


node = h.make_node
write("relu", [node("Relu", ["x"], ["y"])], [tensor("x", T.FLOAT, ["n"])], [tensor("y", T.FLOAT, ["n"])])
write("bf16", [node("Cast", ["x"], ["y"], to=T.BFLOAT16), node("Cast", ["y"], ["z"], to=T.FLOAT)], [tensor("x", T.FLOAT, [3])],
      [tensor("y", T.BFLOAT16, [3]), tensor("z", T.FLOAT, [3])])
write("from_bf16", [node("Cast", ["x"], ["y"], to=T.FLOAT)], [tensor("x", T.BFLOAT16, [3])], [tensor("y", T.FLOAT, [3])])
write("from_f8", [node("Cast", ["x"], ["y"], to=T.FLOAT)], [tensor("x", T.FLOAT8E4M3FN, [3])], [tensor("y", T.FLOAT, [3])])
write("to_f8", [node("Cast", ["x"], ["y"], to=T.FLOAT8E5M2)], [tensor("x", T.FLOAT, [3])], [tensor("y", T.FLOAT8E5M2, [3])])
write("to_i4", [node("Cast", ["x"], ["y"], to=T.INT4)], [tensor("x", T.FLOAT, [3])], [tensor("y", T.INT4, [3])])
write("from_i4", [node("Cast", ["x"], ["y"], to=T.FLOAT)], [tensor("x", T.INT4, [3])], [tensor("y", T.FLOAT, [3])])
write("from_u4", [node("Cast", ["x"], ["y"], to=T.FLOAT)], [tensor("x", T.UINT4, [2, 3])], [tensor("y", T.FLOAT, [2, 3])])
write("bool", [node("Not", ["x"], ["y"])], [tensor("x", T.BOOL, [])], [tensor("y", T.BOOL, [])])
write("strings", [node("Identity", ["x"], ["y"])], [tensor("x", T.STRING, [2])], [tensor("y", T.STRING, [2])])
write("make_sequence", [node("SequenceConstruct", ["x", "x"], ["y"])], [tensor("x", T.INT64, [2])], [sequence("y", T.INT64)])
write("from_sequence", [node("SequenceAt", ["x", "i"], ["y"])], [sequence("x", T.INT64), tensor("i", T.INT64, [])], [tensor("y", T.INT64, None)])
write("empty_sequence", [node("SequenceEmpty", [], ["y"], dtype=T.INT64)], [], [sequence("y", T.INT64)])
write("has_element", [node("OptionalHasElement", ["x"], ["y"])],
      [h.make_value_info("x", h.make_optional_type_proto(h.make_tensor_type_proto(T.INT64, [2])))], [tensor("y", T.BOOL, [])])
write("from_i2", [node("Cast", ["x"], ["y"], to=T.FLOAT)], [tensor("x", T.INT2, [3])], [tensor("y", T.FLOAT, [3])], opset=25)
write("complex", [node("Identity", ["x"], ["y"])], [tensor("x", T.COMPLEX64, [])], [tensor("y", T.COMPLEX64, [])])
write("renamed", [node("Dropout", ["x"], ["y"])], [tensor("x", T.FLOAT, [1]), tensor("z", T.FLOAT, [1])], [tensor("y", T.FLOAT, [1])])
write("unread", [node("Relu", ["x"], ["y"])], [tensor("unread", T.FLOAT, [1]), tensor("x", T.FLOAT, [1])], [tensor("y", T.FLOAT, [1])])
write("no_such_operator", [node("Nope", ["x"], ["y"])], [tensor("x", T.FLOAT, [3])], [tensor("y", T.FLOAT, [3])])
write("no_kernel", [node("Relu", ["x"], ["y"])], [tensor("x", T.BFLOAT16, [3])], [tensor("y", T.BFLOAT16, [3])])
write("future_opset", [node("Relu", ["x"], ["y"])], [tensor("x", T.FLOAT, [3])], [tensor("y", T.FLOAT, [3])], opset=999)
write("wrong_shapes", [node("MatMul", ["x", "z"], ["y"])], [tensor("x", T.FLOAT, [2, 3]), tensor("z", T.FLOAT, [4, 5])], [tensor("y", T.FLOAT, [2, 5])])
write("gather", [node("Gather", ["x", "i"], ["y"])], [tensor("x", T.FLOAT, [3]), tensor("i", T.INT64, [1])], [tensor("y", T.FLOAT, [1])])
write("huge", [node("ConstantOfShape", ["n"], ["y"])], [tensor("n", T.INT64, [1])], [tensor("y", T.FLOAT, None)])
