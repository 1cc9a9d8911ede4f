"""Reductions, products, convolutions, pools, norms, softmax and what is made of them."""
import itertools
import math
from fractions import Fraction

import numpy as np

from case import Case, family, sizes
from numbers_of_types import each, f32, fractions, mp, real, reals

EPSILON = f32(1e-5)
EXTRA = lambda: mp.mpf(1) / 10 ** 9


def total(a, axes):
    """Sums, as objects, of any axes, which stay with extent 1."""
    return np.add.reduce(a, axis=axes, keepdims=True) if not isinstance(axes, tuple) else total_all(a, axes)


def total_all(a, axes):
    for axis in axes:
        a = np.add.reduce(a, axis=axis, keepdims=True)
    return a


def root(x):
    return mp.sqrt(real(x))


def logarithm(x):
    return -math.inf if x == 0 else math.nan if x < 0 else mp.log(real(x))


def exponentials(x, axis):
    """exp(x - m) of reals with the maximum m of the axis, and m."""
    m = np.maximum.reduce(x, axis=axis, keepdims=True)
    return each(mp.exp, x - m), m


def log_total(p, axis):
    """The logarithm of the sum of exponentials, one of which is 1: that one is left out of the sum, as the others may be tiny."""
    others = p.copy()
    first = np.expand_dims(np.argmax(p, axis=axis), axis)
    np.put_along_axis(others, first, mp.mpf(0), axis)
    return each(mp.log1p, total(others, axis))


@family()
def reductions(d):
    n = 24
    x = d.x(n, 11)
    axes = np.array([1])
    e = lambda: fractions(x)
    magnitudes = lambda: each(abs, e())
    yield Case("ReduceSum", [x, axes], lambda: total(e(), 1))
    yield Case("ReduceMean", [x, axes], lambda: total(e(), 1) / 11)
    yield Case("ReduceSumSquare", [x, axes], lambda: total(e() * e(), 1))
    yield Case("ReduceL1", [x, axes], lambda: total(magnitudes(), 1))
    yield Case("ReduceL2", [x, axes], lambda: each(root, total(e() * e(), 1)))
    yield Case("ReduceMax", [x, axes], lambda: np.maximum.reduce(e(), axis=1, keepdims=True))
    yield Case("ReduceMin", [x, axes], lambda: np.minimum.reduce(e(), axis=1, keepdims=True))
    few = d.x(n, 5)
    yield Case("ReduceProd", [few, axes], lambda: np.multiply.reduce(fractions(few), axis=1, keepdims=True))
    yield Case("ReduceLogSum", [x, axes], lambda: each(logarithm, total(e(), 1)))
    def log_sum_exp():
        p, m = exponentials(reals(x), 1)
        return m + log_total(p, 1)
    yield Case("ReduceLogSumExp", [x, axes], log_sum_exp)
    long = d.x(3, 700)
    yield Case("ReduceSum", [long, axes], lambda: total(fractions(long), 1), label="long")
    cube = d.x(5, 4, 6)
    yield Case("ReduceSum", [cube, np.array([0, 2])], lambda: total_all(fractions(cube), (0, 2)), label="two axes")
    yield Case("ReduceMean", [cube, np.array([0, 1])], lambda: total_all(fractions(cube), (0, 1)) / 20, label="two axes")
    # positions: the first of the greatest
    t = d.x(20, 9)
    yield Case("ArgMax", [t], lambda: np.argmax(t.astype(np.float64), axis=1).reshape(20, 1), {"axis": 1})
    yield Case("ArgMin", [t], lambda: np.argmin(t.astype(np.float64), axis=1).reshape(20, 1), {"axis": 1})
    order = np.argsort(-t.astype(np.float64), axis=1, kind="stable")[:, :4]
    yield Case("TopK", [t, np.array([4])], lambda: [fractions(np.take_along_axis(t, order, 1)), order], outputs=2)


@family()
def running(d):
    x = d.x(4, 9)
    few = d.x(6, 6)
    def sums(a, reverse=False, exclusive=False, f=np.add, unit=0):
        a = fractions(a)
        if reverse:
            a = a[:, ::-1]
        y = f.accumulate(a, axis=1)
        if exclusive:
            y = np.concatenate([np.full((a.shape[0], 1), Fraction(unit), object), y[:, :-1]], axis=1)
        return y[:, ::-1] if reverse else y
    axis = np.array(1)
    for reverse, exclusive in itertools.product((0, 1), (0, 1)):
        attrs = {"reverse": reverse, "exclusive": exclusive}
        yield Case("CumSum", [x, axis], lambda r=reverse, e=exclusive: sums(x, r, e), attrs)
        yield Case("CumProd", [few, axis], lambda r=reverse, e=exclusive: sums(few, r, e, np.multiply, 1), attrs)


@family()
def products(d):
    m, k, n = 9, 14, 10
    a, b, c = d.x(m, k), d.x(k, n), d.x(m, n)
    if d.kind == "cancel":  # a b' cancels where a does and b's halves are the same
        b[k - k // 2:] = b[:k // 2]
    dot = lambda: fractions(a).dot(fractions(b))
    yield Case("MatMul", [a, b], dot)
    yield Case("Gemm", [a, b, c], lambda: f32(0.3) * dot() + f32(-1.7) * fractions(c), {"alpha": 0.3, "beta": -1.7})
    yield Case("Gemm", [a.T.copy(), b.T.copy(), c[0]], lambda: dot() + fractions(c[0]), {"transA": 1, "transB": 1}, label="transposed")
    s, t = d.x(2, 1, 3, 7), d.x(2, 7, 4)
    yield Case("MatMul", [s, t], lambda: np.stack([np.stack([fractions(s[i, 0]).dot(fractions(t[j])) for j in range(2)]) for i in range(2)]), label="broadcast")
    v, w = d.x(30), d.x(30)
    yield Case("MatMul", [v, w], lambda: np.asarray(fractions(v).dot(fractions(w)), object), label="vectors")
    deep, down = d.x(2, 1300), d.x(3, 1300).T.copy()
    yield Case("MatMul", [deep, down], lambda: fractions(deep).dot(fractions(down)), label="long")
    yield Case("Einsum", [a, b], lambda: dot().T, {"equation": "ik,kj->ji"})
    p, q = d.x(3, 4, 5), d.x(5, 4)
    yield Case("Einsum", [p, q], lambda: (fractions(p) * fractions(q).T[None]).sum(axis=2), {"equation": "bij,ji->bi"})
    x, y, z = d.x(4), d.x(4, 3), d.x(3)
    yield Case("Einsum", [x, y, z], lambda: np.asarray(fractions(x).dot(fractions(y)).dot(fractions(z)), object), {"equation": "i,ij,j->"})
    sq = d.x(8, 3, 3)
    def det():
        f = fractions(sq)
        g = [[f[:, i, j] for j in range(3)] for i in range(3)]
        return sum(s * g[0][p[0]] * g[1][p[1]] * g[2][p[2]] for p, s in (((0, 1, 2), 1), ((1, 2, 0), 1), ((2, 0, 1), 1), ((0, 2, 1), -1), ((1, 0, 2), -1), ((2, 1, 0), -1)))
    yield Case("Det", [sq], det)


def padded(a, pads, fill=Fraction(0)):
    """pads: (before, after) of each of the last axes."""
    lead = a.ndim - len(pads)
    shape = a.shape[:lead] + tuple(n + b + e for n, (b, e) in zip(a.shape[lead:], pads))
    out = np.full(shape, fill, object)
    out[(slice(None),) * lead + tuple(slice(b, b + n) for n, (b, _) in zip(a.shape[lead:], pads))] = a
    return out


def windows(a, kernel, strides, dilations):
    """[..., out..., kernel...] of an already padded array's last len(kernel) axes."""
    lead = a.ndim - len(kernel)
    outs = [(n - (k - 1) * g - 1) // s + 1 for n, k, s, g in zip(a.shape[lead:], kernel, strides, dilations)]
    out = np.empty(a.shape[:lead] + tuple(outs) + tuple(kernel), object)
    for o in np.ndindex(*outs):
        for k in np.ndindex(*kernel):
            at = tuple(i * s + j * g for i, s, j, g in zip(o, strides, k, dilations))
            out[(slice(None),) * lead + o + k] = a[(slice(None),) * lead + at]
    return out


def convolution(x, w, strides, dilations, pads, group=1):
    n, rank = x.shape[0], x.ndim - 2
    v = windows(padded(x, pads), w.shape[2:], strides, dilations)
    outs = v.shape[2:2 + rank]
    channels, filters = w.shape[1], w.shape[0] // group
    y = np.empty((n, w.shape[0]) + outs, object)
    for f in range(w.shape[0]):
        g = f // filters
        part = v[:, g * channels:(g + 1) * channels].swapaxes(0, 1)  # channel, sample, out..., kernel...
        kernel = w[f].reshape((channels, 1) + (1,) * rank + w.shape[2:])
        y[:, f] = (part * kernel).reshape(channels, n, *outs, -1).sum(axis=-1).sum(axis=0)
    return y


@family()
def convolutions(d):
    x, w, b = d.x(2, 3, 12), d.plain(4, 3, 5) if d.kind in ("wide", "tiny") else d.x(4, 3, 5), d.x(4)
    column = lambda v: fractions(v).reshape(1, -1, 1)
    yield Case("Conv", [x, w, b], lambda: convolution(fractions(x), fractions(w), [1], [1], [(0, 0)]) + column(b))
    yield Case("Conv", [x, w], lambda: convolution(fractions(x), fractions(w), [2], [1], [(2, 3)]), {"strides": [2], "pads": [2, 3]}, label="padded")
    i, k = d.x(1, 4, 6, 7), d.x(4, 2, 3, 2)
    yield Case("Conv", [i, k], lambda: convolution(fractions(i), fractions(k), [1, 2], [2, 1], [(1, 0), (1, 1)], 2),
               {"group": 2, "strides": [1, 2], "dilations": [2, 1], "pads": [1, 1, 0, 1]}, label="grouped")
    t, u, c = d.x(1, 2, 4, 5), d.x(2, 3, 3, 2), d.x(3)
    def transposed():
        a, g = fractions(t), fractions(u)
        y = np.full((1, 3, 3 * 2 + 3, 4 * 2 + 2), Fraction(0), object)
        for r, s in np.ndindex(4, 5):
            for m, q in np.ndindex(3, 2):
                y[:, :, 2 * r + m, 2 * s + q] += a[:, :, r, s].dot(g[:, :, m, q])
        return y[:, :, 1:-1, 1:] + fractions(c).reshape(1, 3, 1, 1)
    yield Case("ConvTranspose", [t, u, c], transposed, {"strides": [2, 2], "pads": [1, 1, 1, 0]})


@family()
def pools(d):
    x = d.x(1, 2, 6, 7)
    e = lambda: fractions(x)
    size = {"kernel_shape": [3, 2], "strides": [2, 1]}
    plain = lambda a: windows(a, (3, 2), (2, 1), (1, 1)).reshape(1, 2, -1, 6 if a.shape[3] == 7 else a.shape[3] - 1, 6)
    pads = [(1, 1), (1, 0)]
    around = {**size, "pads": [1, 1, 1, 0]}
    ones = np.full((1, 2, 6, 7), Fraction(1), object)
    yield Case("AveragePool", [x], lambda: plain(e()).sum(axis=-1) / 6, size)
    yield Case("AveragePool", [x], lambda: plain(padded(e(), pads)).sum(axis=-1) / 6, {**around, "count_include_pad": 1}, label="padding counts")
    yield Case("AveragePool", [x], lambda: plain(padded(e(), pads)).sum(axis=-1) / plain(padded(ones, pads)).sum(axis=-1), around, label="padding does not count")
    yield Case("MaxPool", [x], lambda: np.maximum.reduce(plain(e()), axis=-1), size)
    yield Case("LpPool", [x], lambda: each(root, (plain(padded(e(), pads)) ** 2).sum(axis=-1)), around)
    yield Case("LpPool", [x], lambda: each(abs, plain(e())).sum(axis=-1), {**size, "p": 1}, label="p 1")
    cubes = lambda v: mp.root(real(v), 3)
    yield Case("LpPool", [x], lambda: each(cubes, (each(abs, plain(e())) ** 3).sum(axis=-1)), {**size, "p": 3}, label="p 3")
    y = d.x(2, 5, 20)
    yield Case("GlobalLpPool", [y], lambda: each(cubes, total(each(abs, fractions(y)) ** 3, 2)), {"p": 3}, label="p 3")
    yield Case("GlobalAveragePool", [y], lambda: total(fractions(y), 2) / 20)
    yield Case("GlobalLpPool", [y], lambda: each(root, total(fractions(y) ** 2, 2)))
    yield Case("GlobalMaxPool", [y], lambda: np.maximum.reduce(fractions(y), axis=2, keepdims=True))


def inverse_root(v):
    return 1 / mp.sqrt(real(v))


def standardised(x, axes, epsilon=EPSILON):
    """Fractions to ((x - mean) as a fraction, mean, 1 / sqrt(var + epsilon) as a real)."""
    n = math.prod(x.shape[a] for a in axes)
    mean = total_all(x, axes) / n
    var = total_all((x - mean) ** 2, axes) / n
    return x - mean, mean, each(inverse_root, var + epsilon)


def times(a, b):
    """Fractions times reals."""
    return each(lambda u, v: real(u) * v, a, b)


def plus(a, b):
    """Reals plus fractions."""
    return each(lambda u, v: u + real(v), a, b)


@family()
def norms(d):
    rows = 8
    x, s, b = d.x(rows, 9), d.plain(9), d.plain(9)
    def layer():
        centred, mean, inv = standardised(fractions(x), (1,))
        return [plus(times(centred * fractions(s), inv), fractions(b)), None if d.type == "f64" else each(real, mean), None if d.type == "f64" else inv]
    yield Case("LayerNormalization", [x, s, b], layer, {"axis": -1, "epsilon": 1e-5}, outputs=3)
    yield Case("RMSNormalization", [x, s], lambda: times(fractions(x) * fractions(s), each(inverse_root, total(fractions(x) ** 2, 1) / 9 + EPSILON)), {"axis": -1, "epsilon": 1e-5})
    y, c, e = d.x(2, 4, 6), d.plain(4), d.plain(4)
    column = lambda v: fractions(v).reshape(1, -1, 1)
    def instance():
        centred, _, inv = standardised(fractions(y), (2,))
        return plus(times(centred * column(c), inv), column(e) + 0 * centred)
    yield Case("InstanceNormalization", [y, c, e], instance)
    def group():
        centred, _, inv = standardised(fractions(y).reshape(2, 2, 12), (2,))
        part = each(lambda u, v: real(u) * v, centred, inv).reshape(2, 4, 6)
        return plus(times(column(c) + 0 * fractions(y), part), column(e) + 0 * fractions(y))
    yield Case("GroupNormalization", [y, c, e], group, {"num_groups": 2})
    mean, var = d.plain(4), d.plain(4, least=0.01)
    yield Case("BatchNormalization", [y, c, e, mean, var], lambda: plus(times(column(c) * (fractions(y) - column(mean)), each(inverse_root, column(var) + EPSILON)), column(e) + 0 * fractions(y)))
    def one_norm():
        n = total(each(abs, fractions(x)), 1)
        return each(lambda u, v: Fraction(0) if v == 0 else u / v, fractions(x), n)
    yield Case("LpNormalization", [x], one_norm, {"p": 1})
    yield Case("LpNormalization", [x], lambda: each(lambda u, v: Fraction(0) if v == 0 else real(u) / root(v), fractions(x), total(fractions(x) ** 2, 1)), {"p": 2})
    z = d.x(2, 3, 4, 2)
    if d.kind not in ("ties", "tiny", "wide"):  # no deviation 0
        def mean_variance():  # the operator's function adds 1e-9, its text does not; so the definition's first alternative
            centred, _, inv = standardised(fractions(z), (0, 2, 3), 0)
            return each(lambda u, v: real(u) / (1 / v + EXTRA()), centred, inv)
        yield Case("MeanVarianceNormalization", [z], mean_variance)
    def lrn():
        a, out = fractions(z), np.empty(z.shape, object)
        for ch in range(3):
            squares = (a[:, max(0, ch - 1):ch + 2] ** 2).sum(axis=1)
            out[:, ch] = each(lambda u, v: real(u) / mp.power(real(1 + f32(0.3) / 3 * v), mp.mpf(3) / 4), a[:, ch], squares)
        return out
    yield Case("LRN", [z], lrn, {"size": 3, "alpha": 0.3, "beta": 0.75, "bias": 1.0})


@family()
def softmaxes(d):
    x = d.x(sizes(d, 10, 4), 8)
    def soft(a, axis):
        p, _ = exponentials(a, axis)
        return p / total(p, axis)
    def log_soft(a, axis):
        p, m = exponentials(a, axis)
        return (a - m) - log_total(p, axis)
    yield Case("Softmax", [x], lambda: soft(reals(x), 1))
    yield Case("Softmax", [x], lambda: soft(reals(x), 0), {"axis": 0})
    yield Case("LogSoftmax", [x], lambda: log_soft(reals(x), 1))
    same = d.cast(np.full((2, 5), 0.7))
    yield Case("Softmax", [same], lambda: np.full((2, 5), Fraction(1, 5), object), label="of equals")
    top = np.argmax(x.astype(np.float64), axis=1)
    yield Case("Hardmax", [x], lambda: np.eye(8, dtype=int)[top])
    scores, weights = d.x(5, 4), d.plain(4, least=0.1)
    labels = d.integers(0, 4, 5)
    pick = lambda a: np.array([a[i, labels[i]] for i in range(5)], object)
    w = lambda: fractions(weights)[labels]
    yield Case("NegativeLogLikelihoodLoss", [scores, labels, weights], lambda: -pick(fractions(scores)) * w(), {"reduction": "none"})
    yield Case("NegativeLogLikelihoodLoss", [scores, labels, weights], lambda: np.asarray((-pick(fractions(scores)) * w()).sum() / w().sum(), object), {"reduction": "mean"})
    def cross(reduction):
        logs = log_soft(reals(scores), 1)
        each_one = times(w(), -pick(logs))
        loss = each_one if reduction == "none" else np.asarray(each_one.sum() / (1 if reduction == "sum" else real(w().sum())), object)
        return [loss, logs]
    for reduction in ("none", "sum", "mean"):
        yield Case("SoftmaxCrossEntropyLoss", [scores, labels, weights], lambda r=reduction: cross(r), {"reduction": reduction}, outputs=2, label=reduction)
