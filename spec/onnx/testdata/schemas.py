"""Prints the schemas of the standard's operators, as schemas.txt holds them: python schemas.py > schemas.txt

One block per operator and version in force at opset 7 or later: inputs, outputs and attributes in their order. `?` is optional, `...`
variadic; a set of element types is named once. Sequences, maps and types that the language lacks are left out of the sets.
"""
import onnx
from onnx import defs

NAMES = {"float": "f32", "double": "f64", "float16": "f16", "bfloat16": "bf16", "bool": "bool", "string": "string",
         "complex64": "c64", "complex128": "c128", "float4e2m1": "f4e2m1", "float6e2m3": "f6e2m3", "float6e3m2": "f6e3m2"}
NAMES |= {f"{long}{bits}": f"{short}{bits}" for long, short in (("int", "i"), ("uint", "u")) for bits in (2, 4, 8, 16, 32, 64)}
NAMES |= {f"float8{kind}": f"f8{kind}" for kind in ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz", "e8m0")}
KINDS = {"INT": "int", "FLOAT": "float", "STRING": "string", "TENSOR": "tensor", "SPARSE_TENSOR": "tensor", "GRAPH": "graph",
         "INTS": "int[]", "FLOATS": "float[]", "STRINGS": "string[]", "TYPE_PROTO": "type"}
OPTION = {defs.OpSchema.FormalParameterOption.Optional: "?", defs.OpSchema.FormalParameterOption.Variadic: "..."}
DOMAINS = ("", "ai.onnx.preview.training")
sets = {}


def set_of(schema, type_string):
    constraint = [c for c in schema.type_constraints if c.type_param_str == type_string]
    strings = constraint[0].allowed_type_strs if constraint else [type_string]
    tensors = {s[len("tensor("):-1] for s in strings if s.startswith("tensor(")}
    members = tuple(sorted(NAMES[t] for t in tensors if t in NAMES))
    return sets.setdefault(members, f"s{len(sets)}")


def parameter(schema, p):
    return f"{p.name}{OPTION.get(p.option, '')} {set_of(schema, p.type_str)}"


def attribute(a):
    text = f"{a.name} {KINDS[a.type.name]}"
    if a.required:
        return text + " required"
    if not a.default_value.type:
        return text
    value = onnx.helper.get_attribute_value(a.default_value)
    return f"{text} = {value.decode() if isinstance(value, bytes) else value}"


def main():
    history = {}
    for s in defs.get_all_schemas_with_history():
        if s.domain in DOMAINS:
            history.setdefault(f"{s.domain}.{s.name}" if s.domain else s.name, {})[s.since_version] = s
    out = []
    for name in sorted(history):
        versions = sorted(history[name])
        oldest = max([v for v in versions if v <= 7], default=0)
        for v in versions:
            if v < oldest:
                continue
            s = history[name][v]
            out.append(f"op {name} {v}{' deprecated' if s.deprecated else ''}")
            out += [f" in {parameter(s, p)}" for p in s.inputs]
            out += [f" out {parameter(s, p)}" for p in s.outputs]
            out += [f" attr {attribute(s.attributes[a])}" for a in sorted(s.attributes)]
    print(f"# onnx {onnx.__version__}, written by schemas.py")
    for members, name in sets.items():
        print("set", name, *members)
    print("\n".join(out))


if __name__ == "__main__":
    main()
