"""What is tried: a case is one node with its inputs, and its definition as a program over a Way; a family makes cases of one type and one kind of data."""
import dataclasses
import zlib

import numpy as np

from case import Draw as Numbers
from numbers_of_types import CODES, FORMATS, NUMPY

VERSION = 28
KINDS = ("normal", "wide", "tiny", "cancel", "ties", "absorb", "huge", "special", "offset", "equal")
FAMILIES = []
SUM_FAULTS = ("drop", "double", "f16 sums", "bf16 sums", "tail", "neighbour")
DOT_FAULTS = SUM_FAULTS + ("bf16 inputs", "one weight")


@dataclasses.dataclass
class Case:
    op: str
    inputs: list               # arrays; None where an optional one is left out
    compute: object            # (Way, inputs as the way carries them) -> list of outputs, one for each (None: not compared)
    attrs: dict = dataclasses.field(default_factory=dict)
    version: int = VERSION
    label: str = ""
    outputs: int = 1
    faults: tuple = ()
    weight: int | None = None  # the input in which "one weight" is wrong
    terms: int = 0             # of a sum, mean or dot, how many: how far off its errors may line up
    fixed: bool = False        # one value is right, whatever the way
    by_body: bool = True       # the standard's function is one of the ways
    elementwise: bool = False
    blunt: str = ""            # why faults may go unnoticed, where that is known: they are counted apart


def family(types="f64 f32 f16 bf16", kinds=KINDS):
    def register(make):
        FAMILIES.append((make.__name__, make, types.split(), kinds))
        return make
    return register


class Draw(Numbers):
    """As for tools/ideal-check, and besides
    absorb   along the last axis 1, then numbers of one sign that are lost beside it, one by one
    huge     within a few powers of two of the largest: sums overflow in some orders
    special  infinities, NaN and zeros of both signs among ordinary numbers
    offset   a mean that is large beside the deviations
    equal    along the last axis nearly the same"""

    def x(self, *shape):
        r, f = self.random, self.format
        if self.kind == "wide":  # products stay finite
            top = f.spacing(f.largest) + f.p - 1
            return self.cast(np.ldexp(self.signs(shape) * r.uniform(1, 2, shape), r.integers(max(-top // 3, -40), min(top // 3, 40), shape)))
        if self.kind == "absorb":
            a = r.choice([1.0, 0.75, 0.5], shape) * 2.0 ** -(53 if f.name == "f64" else 24)
            a = np.asarray(a * (self.signs(shape[:-1] + (1,)) if shape else 1))
            if shape and shape[-1]:
                a[..., 0] = self.signs(shape[:-1])
            return self.cast(a)
        if self.kind == "huge":
            top = f.spacing(f.largest) + f.p - 1
            a = np.ldexp(self.signs(shape) * r.uniform(1, 2, shape), top - r.integers(0, 4, shape))
            return self.cast(a)
        if self.kind == "special":
            a = self.cast(r.standard_normal(shape))
            rows = r.random(shape[:-1] + (1,)) < 0.7 if shape else True
            hit = (r.random(shape) < 0.15) & rows
            return np.where(hit, r.choice(np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, np.inf]), shape), a.astype(np.float64)).astype(a.dtype)
        if self.kind == "offset":
            return self.cast(2.0 ** min(f.p // 2, 9) + r.standard_normal(shape))
        if self.kind == "equal":
            a = r.standard_normal(shape[:-1] + (1,) if shape else shape) * (1 + r.choice([0, 0, 1, -1], shape) * 2.0 ** (1 - f.p))
            return self.cast(a)
        return super().x(*shape)

    def along(self, axis, *shape):
        """The kind's design along another axis than the last."""
        moved = list(shape)
        moved.append(moved.pop(axis))
        return np.ascontiguousarray(np.moveaxis(self.x(*moved), -1, axis))

    def ones(self, *shape):
        """Factors that leave a design as it is, exactly: powers of two and signs where the kind has a design; otherwise of the kind."""
        if self.kind in ("absorb",):
            return self.cast(np.ones(shape))
        if self.kind in ("huge", "offset", "equal", "special", "wide", "tiny"):
            return self.cast(self.random.standard_normal(shape))
        return self.x(*shape)

    scale = 1

    def rows(self, *choices):
        """An extent that only says how many elements there are."""
        return self.rng(*choices) * self.scale

    def rng(self, *choices):
        return choices[self.random.integers(len(choices))]


def new_draw(type_name, kind, seed, what, scale):
    d = Draw(type_name, kind, zlib.crc32(f"variants {seed}".encode()), what)
    d.scale = scale
    return d


__all__ = ["Case", "family", "Draw", "new_draw", "CODES", "NUMPY", "FAMILIES", "KINDS"]
