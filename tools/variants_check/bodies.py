"""The standard's own functions, run by the onnx package's ReferenceEvaluator: one more way for the operators that have one."""
import numpy as np
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator

from numbers_of_types import CODES, NAMES


def body_of(case):
    """The FunctionProto of a node, or None."""
    schema = onnx.defs.get_schema(case.op, case.version, "")
    names = ["" if a is None else f"i{k}" for k, a in enumerate(case.inputs)]
    node = helper.make_node(case.op, names, [f"o{k}" for k in range(case.outputs)], **case.attrs)
    if schema.has_function:
        function = schema.function_body
    elif schema.has_context_dependent_function:
        types = [helper.make_tensor_type_proto(CODES[NAMES[a.dtype]], a.shape).SerializeToString() if a is not None else b"" for a in case.inputs]
        text = schema.get_context_dependent_function(node.SerializeToString(), types)
        function = onnx.FunctionProto()
        function.ParseFromString(text)
    else:
        return None, node
    return function, node


def by_body(case):
    """The outputs of the standard's function, or None where it has none that can be run."""
    try:
        function, node = body_of(case)
        if function is None:
            return None
        defaults = {a.name: a for a in function.attribute_proto}
        attrs = {**{k: v for k, v in ((a, helper.get_attribute_value(p)) for a, p in defaults.items())}, **case.attrs}
        for a in onnx.defs.get_schema(case.op, case.version, "").attributes.values():
            if a.name not in attrs and a.default_value.type:
                attrs[a.name] = helper.get_attribute_value(a.default_value)
        feeds = {name: a for name, a in zip(function.input, case.inputs) if a is not None}
        with np.errstate(all="ignore"):
            got = ReferenceEvaluator(function).run(None, feeds, attributes=attrs)
        return got[:case.outputs]
    except Exception:  # an operator that the evaluator lacks, or a function that it cannot read: no way
        return None
