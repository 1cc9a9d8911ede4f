"""Small ONNX models of many kinds, with inputs that they take: what fuzzing and tools/hostile start from."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

F32, I64, BOOL, U8, STRING = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL, TensorProto.UINT8, TensorProto.STRING


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs, outputs, **attributes)


def value(name, extents, type=F32):
    return helper.make_tensor_value_info(name, type, extents)


def model(nodes, inputs, outputs, constants=(), opset=18, functions=(), domains=()):
    graph = helper.make_graph(nodes, "g", inputs, outputs, [numpy_helper.from_array(np.asarray(a), n) for n, a in constants])
    sets = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, v) for d, v in domains)]
    return helper.make_model(graph, opset_imports=sets, functions=list(functions), ir_version=10)


def ramp(*extents, type=np.float32):
    n = int(np.prod(extents))
    return (np.arange(n) % 11 - (5 if np.issubdtype(type, np.signedinteger) or np.issubdtype(type, np.floating) else 0)).astype(type).reshape(extents)


def unary(op, **attributes):
    return model([node(op, ["x"], ["y"], **attributes)], [value("x", [2, 3])], [value("y", [2, 3])]), [ramp(2, 3)]


def chain():
    return model([node("Relu", ["x"], ["h"]), node("Exp", ["h"], ["y"])], [value("x", [2, 3])], [value("y", [2, 3])]), [ramp(2, 3)]


def shapes():
    nodes = [node("Shape", ["x"], ["s"]), node("Gather", ["s", "zero"], ["n"], axis=0), node("Concat", ["n", "rest"], ["t"], axis=0), node("Reshape", ["x", "t"], ["y"])]
    return model(nodes, [value("x", ["N", 2, 3])], [value("y", ["N", 6])], [("zero", np.array([0])), ("rest", np.array([-1]))]), [ramp(2, 2, 3)]


def convolution():
    nodes = [node("Conv", ["x", "w", "b"], ["h"], kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[1, 1]), node("MaxPool", ["h"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
             node("GlobalAveragePool", ["p"], ["g"]), node("Flatten", ["g"], ["y"])]
    return model(nodes, [value("x", [1, 2, 6, 6])], [value("y", [1, 3])], [("w", ramp(3, 2, 3, 3)), ("b", ramp(3))]), [ramp(1, 2, 6, 6)]


def attention():
    nodes = [node("MatMul", ["x", "w"], ["q"]), node("Transpose", ["q"], ["t"], perm=[0, 2, 1]), node("MatMul", ["q", "t"], ["s"]), node("Softmax", ["s"], ["p"], axis=-1),
             node("MatMul", ["p", "q"], ["a"]), node("LayerNormalization", ["a", "g"], ["y"])]
    return model(nodes, [value("x", [1, 3, 4])], [value("y", [1, 3, 4])], [("w", ramp(4, 4)), ("g", np.ones(4, np.float32))]), [ramp(1, 3, 4)]


def recurrent():
    nodes = [node("LSTM", ["x", "w", "r"], ["y", "h", ""], hidden_size=2)]
    return model(nodes, [value("x", [3, 1, 2])], [value("y", [3, 1, 1, 2]), value("h", [1, 1, 2])], [("w", ramp(1, 8, 2) / 10), ("r", ramp(1, 8, 2) / 10)]), [ramp(3, 1, 2)]


def indices():
    nodes = [node("Gather", ["x", "i"], ["g"], axis=1), node("Slice", ["g", "from", "to"], ["s"]), node("Pad", ["s", "pads"], ["p"]), node("ReduceSum", ["p", "axes"], ["y"], keepdims=0)]
    constants = [("from", np.array([0])), ("to", np.array([2])), ("pads", np.array([0, 1, 0, 1])), ("axes", np.array([1]))]
    return model(nodes, [value("x", [3, 4]), value("i", [2], I64)], [value("y", ["M"])], constants), [ramp(3, 4), np.array([0, 3])]


def expand():
    nodes = [node("Expand", ["x", "s"], ["e"]), node("Tile", ["e", "r"], ["t"]), node("Split", ["t"], ["y", "z"], axis=0, num_outputs=2)]
    return model(nodes, [value("x", [1, 3]), value("s", [2], I64)], [value("y", None), value("z", None)], [("r", np.array([2, 1]))]), [ramp(1, 3), np.array([2, 3])]


def quantised():
    nodes = [node("QuantizeLinear", ["x", "scale", "zero"], ["q"]), node("DequantizeLinear", ["q", "scale", "zero"], ["y"])]
    return model(nodes, [value("x", [2, 3])], [value("y", [2, 3])], [("scale", np.float32(0.5)), ("zero", np.uint8(7))]), [ramp(2, 3)]


def resized():
    nodes = [node("Resize", ["x", "", "scales"], ["y"], mode="linear", coordinate_transformation_mode="half_pixel")]
    return model(nodes, [value("x", [1, 1, 3, 3])], [value("y", None)], [("scales", np.array([1, 1, 2, 2], np.float32))]), [ramp(1, 1, 3, 3)]


def scattered():
    nodes = [node("ScatterElements", ["x", "i", "u"], ["y"], axis=0, reduction="add"), node("TopK", ["y", "k"], ["v", "p"]), node("CumSum", ["v", "axis"], ["c"])]
    return model(nodes, [value("x", [3, 3])], [value("c", None), value("p", None, I64)],
                 [("i", np.array([[0, 2, 1]])), ("u", ramp(1, 3)), ("k", np.array([2])), ("axis", np.array(1))]), [ramp(3, 3)]


def einsum():
    return model([node("Einsum", ["x", "w"], ["y"], equation="ij,jk->ik")], [value("x", [2, 3])], [value("y", [2, 2])], [("w", ramp(3, 2))]), [ramp(2, 3)]


def branches():
    def branch(name, op):
        return helper.make_graph([node(op, ["x"], [name])], name, [], [value(name, [2])])
    nodes = [node("If", ["c"], ["y"], then_branch=branch("a", "Relu"), else_branch=branch("b", "Neg"))]
    return model(nodes, [value("x", [2]), value("c", [], BOOL)], [value("y", [2])]), [ramp(2), np.array(True)]


def loop():
    body = helper.make_graph([node("Add", ["v", "x"], ["w"]), node("Identity", ["keep"], ["go"])], "body", [value("k", [], I64), value("keep", [], BOOL), value("v", [2])],
                             [value("go", [], BOOL), value("w", [2])])
    return model([node("Loop", ["n", "c", "x"], ["y"], body=body)], [value("x", [2]), value("n", [], I64), value("c", [], BOOL)], [value("y", [2])]), [ramp(2), np.array(3), np.array(True)]


def function():
    f = helper.make_function("com.example", "Twice", ["a"], ["b"], [node("Add", ["a", "a"], ["b"])], [helper.make_opsetid("", 18)])
    return model([node("Twice", ["x"], ["y"], domain="com.example")], [value("x", [2])], [value("y", [2])], functions=[f], domains=[("com.example", 1)]), [ramp(2)]


def casts():
    kinds = [TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.FLOAT8E4M3FN, TensorProto.INT8, TensorProto.UINT64, BOOL, TensorProto.DOUBLE]
    nodes, last = [], "x"
    for k, kind in enumerate(kinds):
        nodes.append(node("Cast", [last], [f"c{k}"], to=kind))
        last = f"c{k}"
    return model(nodes, [value("x", [2, 3])], [value(last, [2, 3], kinds[-1])], opset=19), [ramp(2, 3)]


def text():
    nodes = [node("Identity", ["x"], ["y"])]
    return model(nodes, [value("x", [2], STRING)], [value("y", [2], STRING)]), [np.array(["a", "β"])]


def small():
    """(name, model, inputs) of each."""
    makers = [chain, shapes, convolution, attention, recurrent, indices, expand, quantised, resized, scattered, einsum, branches, loop, function, casts, text]
    for make in makers:
        yield make.__name__, *make()
    for op, attributes in (("Elu", {"alpha": 0.5}), ("LRN", {"size": 3}), ("LpNormalization", {"axis": -1, "p": 2}), ("ReduceMax", {"keepdims": 0}), ("ArgMax", {"axis": 1}), ("Unsqueeze", {}),
                           ("RandomNormalLike", {"seed": 1.0}), ("DepthToSpace", {"blocksize": 2}), ("EyeLike", {"k": 1}), ("Det", {}), ("Hardmax", {"axis": -1})):
        yield op, *unary(op, **attributes)
