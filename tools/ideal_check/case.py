"""What is tried: a case is one node, its inputs and a way to the numbers that it has to yield; a family makes cases of one type and one kind of data."""
import dataclasses
import zlib

import numpy as np

from numbers_of_types import CODES, FORMATS, NUMPY

VERSION = 28
KINDS = ("normal", "wide", "tiny", "cancel", "ties")
FAMILIES = []


@dataclasses.dataclass
class Case:
    op: str
    inputs: list               # arrays; None where an optional one is left out
    want: object               # () -> array of values, or a list of them, one for each output; None: not compared
    attrs: dict = dataclasses.field(default_factory=dict)
    version: int = VERSION
    outputs: int = 1
    label: str = ""


def family(types="f64 f32 f16 bf16", kinds=KINDS):
    def register(make):
        FAMILIES.append((make.__name__, make, types.split(), kinds))
        return make
    return register


class Draw:
    """Inputs of one type and one kind:
    normal  about 1
    wide    exponents over the whole range of the type
    tiny    subnormal, and a little above
    cancel  along the last axis the second half is the first, negated, off by a few units in the last place here and there
    ties    powers of two at the precision's edge beside small numbers: sums lie half way between two numbers, or just off"""

    def __init__(self, type_name, kind, seed, what):
        self.type, self.kind, self.format = type_name, kind, FORMATS.get(type_name)
        self.random = np.random.default_rng([seed, zlib.crc32(f"{what} {type_name} {kind}".encode())])
        self.slow = type_name == "f64"

    def cast(self, a, type_name=None):
        with np.errstate(over="ignore"):
            a = np.asarray(a, np.float64).astype(NUMPY[type_name or self.type])
        if not np.isfinite(a.astype(np.float64)).all():  # the range of the narrow formats
            a = np.nan_to_num(a.astype(np.float64), nan=1.0, posinf=1.0, neginf=-1.0).astype(NUMPY[type_name or self.type])
        return a

    def signs(self, shape):
        return self.random.choice([-1.0, 1.0], shape)

    def x(self, *shape):
        r, f = self.random, self.format
        top = f.spacing(f.largest) + f.p - 1
        if self.kind == "wide":
            e = r.integers(f.least - f.p + 1, top, shape, endpoint=True)
            return self.cast(np.ldexp(self.signs(shape) * r.uniform(1, 2, shape), e))
        if self.kind == "tiny":
            return self.cast(np.ldexp(self.signs(shape) * r.uniform(1, 2, shape), r.integers(f.least - f.p, f.least + 3, shape)))
        if self.kind == "ties":
            e = r.integers(-2, 4, shape)
            choices = np.array([2.0 ** f.p, 2.0 ** f.p + 2, 2.0 ** (f.p - 1), 1, 1, 1, 0.5, 2.0 ** -f.p, 0, 3])
            if not self.slow and f.p < 12 and top < 20:
                e = e * 0
            return self.cast(np.ldexp(self.signs(shape) * r.choice(choices, shape), e if r.random() < 0.5 else e * 0))
        a = r.standard_normal(shape) * 2
        if self.kind == "cancel" and shape and shape[-1] > 1:
            a = self.cast(a).astype(np.float64)
            half = shape[-1] // 2
            off = 1 + r.choice([0, 0, 1, -1, 2], a[..., :half].shape) * 2.0 ** (1 - f.p)
            a[..., -half:] = -a[..., :half] * off
        return self.cast(a)

    def plain(self, *shape, scale=1.0, least=None, type_name=None):
        """Of moderate size whatever the kind: weights, scales, what a function needs to stay within."""
        a = self.random.standard_normal(shape) * scale
        return self.cast(a if least is None else np.abs(a) + least, type_name)

    def unit(self, *shape):
        a = self.random.uniform(-1, 1, shape)
        if self.kind == "tiny":
            return self.x(*shape)
        if self.kind == "cancel":
            a = np.sign(a) * (1 - 2.0 ** -self.random.uniform(1, self.format.p, shape))
        return np.clip(self.cast(a), -1, 1).astype(NUMPY[self.type])

    def integers(self, low, high, *shape, type_name="i64"):
        return self.random.integers(low, high, shape).astype(NUMPY[type_name])


def sizes(d, fast, slow):
    """Where Ulpian computes one element at a time, fewer."""
    return slow if d.slow else fast


assert set(NUMPY) == set(CODES)
