"""Shared helpers for the build.py scripts: build a model with onnx.helper,
write model.onnx, input_<k>.npy, expected_<k>.npy (expected_<k>_alt<j>.npy for a set of allowed values)."""
import json, os
import numpy as np
import onnx
from onnx import helper, numpy_helper, TensorProto as T

DT = {'f32': T.FLOAT, 'f16': T.FLOAT16, 'f64': T.DOUBLE, 'i64': T.INT64, 'i32': T.INT32, 'i16': T.INT16,
      'i8': T.INT8, 'u8': T.UINT8, 'u16': T.UINT16, 'u32': T.UINT32, 'u64': T.UINT64, 'bool': T.BOOL,
      'bf16': T.BFLOAT16, 'f8e4m3': T.FLOAT8E4M3FN, 'f8e5m2': T.FLOAT8E5M2, 'i4': T.INT4, 'u4': T.UINT4}

def N(op, ins, outs, **kw):
    return helper.make_node(op, ins, outs, **kw)

def C(name, arr):
    return numpy_helper.from_array(np.ascontiguousarray(arr) if np.ndim(arr) else np.array(arr), name)

def model(nodes, inputs, outputs, inits=None, opset=18, functions=None, ir=9, value_info=None):
    """inputs: {name: array} (static shapes) or {name: (array, shape_with_dims_or_None)}; outputs: [(name, dt, shape|None)]"""
    vis, arrs = [], []
    for k, v in inputs.items():
        shp = None
        if isinstance(v, tuple):
            v, shp = v
        else:
            shp = list(v.shape)
        vis.append(helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), shp))
        arrs.append(v)
    vos = [helper.make_tensor_value_info(n, DT[d], s) for n, d, s in outputs]
    inits = [C(k, v) for k, v in (inits or {}).items()]
    g = helper.make_graph(nodes, 'case', vis, vos, initializer=inits, value_info=value_info or [])
    m = helper.make_model(g, opset_imports=[helper.make_opsetid('', opset)], producer_name='ulpian-cases')
    m.ir_version = ir if opset < 21 else 10
    return m, arrs

def write(here, m, arrs, expected, meta):
    """expected: list over outputs; each entry an array or a list of allowed arrays (first = preferred) or None (any)."""
    onnx.save(m, os.path.join(here, 'model.onnx'))
    for i, a in enumerate(arrs):
        np.save(os.path.join(here, f'input_{i}.npy'), a)
    for i, e in enumerate(expected or []):
        if e is None:
            continue
        alts = e if isinstance(e, list) else [e]
        for j, a in enumerate(alts):
            np.save(os.path.join(here, f'expected_{i}.npy' if j == 0 else f'expected_{i}_alt{j}.npy'), np.asarray(a))
    p = os.path.join(here, 'case.json')
    if not os.path.exists(p):   # the verdicts in an existing case.json are kept
        with open(p, 'w') as f:
            json.dump(meta, f, indent=1, ensure_ascii=False)
            f.write("\n")
