"""Softmax, norms, attention, recurrent layers, resizing."""
import math

import numpy as np

from cases import DOT_FAULTS, SUM_FAULTS, Case, family
from families_sums import length

NORM_FAULTS = ("drop", "double", "tail", "neighbour", "variance n-1", "epsilon outside", "one pass", "no epsilon", "f16 sums", "bf16 sums")


def exponentials(w, a, finite=False):
    """exp(x - m) along the last axis, and m: the greatest, or 0 where that is infinite and `finite` asks for a number."""
    m = a.max(axis=-1, keepdims=True)
    if finite:
        m = np.where(np.isinf(m), np.zeros_like(m), m)
    x = w.sub(a, np.broadcast_to(m, a.shape))
    return w.function("exp", x), m[..., 0]


def softmax(w, a, last=False):
    e, _ = exponentials(w, a)
    if w.style["off"] in ("up", "down") and not w.exact:  # the adversary: one element off one way, the others the other way
        other = dict(w.style, off={"up": "down", "down": "up"}[w.style["off"]])
        k = int(w.random.integers(a.shape[-1])) if a.shape[-1] else 0
        mine, w.style = w.style, other
        e2, _ = exponentials(w, a)
        w.style = mine
        e = np.where(np.arange(a.shape[-1]) == k, e, e2)
    s = w.sum(e)
    return w.div(e, np.broadcast_to(s[..., None], e.shape), last=last)


def along(f, axis):
    return lambda w, a: np.moveaxis(f(w, np.moveaxis(a, axis, -1), True), -1, axis)


@family(kinds=("normal", "wide", "tiny", "cancel", "ties", "huge", "special", "offset", "equal"))
def softmaxes(d):
    for n in {length(d, 1), d.rng(1, 2, 5, 33)}:
        if d.kind == "special":
            x = d.x(d.rows(3), n)
            x[np.isposinf(x.astype(np.float64))] = 3
        else:
            x = d.x(d.rows(1, 3), n)
        faults = ("drop", "double", "tail", "neighbour", "f16 sums", "bf16 sums")
        yield Case("Softmax", [x], lambda w, a: [w.out(softmax(w, a, True))], label=f"{n} terms", faults=faults)
        def logarithm(w, a):
            e, m = exponentials(w, a)
            l = w.function("log", w.sum(e))
            y = w.sub(a, np.broadcast_to(m[..., None], a.shape))
            return [w.out(w.sub(y, np.broadcast_to(l[..., None], a.shape)))]
        yield Case("LogSoftmax", [x], logarithm, label=f"{n} terms", faults=faults)
        def total(w, a, _):
            e, m = exponentials(w, a, finite=True)
            return [w.out(w.add(w.function("log", w.sum(e)), m))]
        yield Case("ReduceLogSumExp", [x, np.array([1])], total, {"keepdims": 0}, label=f"{n} terms", faults=("drop", "double", "tail", "f16 sums"),
                   by_body=d.kind in ("normal", "cancel", "equal", "tiny"))  # the function does not shift, so that it overflows early
    t = d.along(1, 2, d.rng(2, 5), d.rows(3))
    if d.kind != "special":
        yield Case("Softmax", [t], lambda w, a: [w.out(along(softmax, 1)(w, a))], {"axis": 1}, label="axis 1", faults=("drop", "tail", "neighbour", "wrong axis"))
    if d.kind in ("normal", "offset", "equal"):
        scores, weights, labels = d.x(6, 4), d.plain(4, least=0.1), d.integers(0, 4, 6)
        def cross(w, s, _, v):
            e, m = exponentials(w, s)
            l = w.function("log", w.sum(e))
            logs = w.sub(w.sub(s, np.broadcast_to(m[:, None], s.shape)), np.broadcast_to(l[:, None], s.shape))
            return [w.out(w.mul(-logs[np.arange(6), labels], v[labels]))]
        yield Case("SoftmaxCrossEntropyLoss", [scores, labels, weights], cross, {"reduction": "none"}, faults=("drop", "tail"))
        def mean(w, s, _, v):
            picked, u = s[np.arange(6), labels], v[labels]
            return [w.out(w.div(w.dot(-picked, u), w.sum(u), last=True))]
        yield Case("NegativeLogLikelihoodLoss", [scores, labels, weights], mean, {"reduction": "mean"}, faults=("drop", "double"))


def standardised(w, t, epsilon):
    """(t - mean, deviation) over the last axis."""
    mean = w.mean(t)
    centred = w.sub(t, np.broadcast_to(mean[..., None], t.shape))
    return centred, w.deviation(w.variance(t, mean), epsilon), mean


ONE_PASS = False  # the standard's functions of norms find the variance in one pass, which is none of the ways (docs/numerics.md, section 4)
READ_TWICE = "in x * f + (b - mean * f) the two f are not kept together"


def scaled(w, t, mean, deviation, scale, bias, reciprocal):
    """(t - mean) / deviation * scale + bias, in the orders that are the same formula. `reciprocal`: the definition multiplies by one, which has an error of its own."""
    full = lambda v: np.broadcast_to(v, t.shape)
    mean, deviation, scale, bias = full(mean[..., None]), full(deviation[..., None]), full(scale), full(bias)
    way = 0 if w.exact else int(w.random.integers(4))
    if reciprocal:
        y = w.sub(t, mean)
        y = w.div(y, deviation) if way % 2 == 0 else w.mul(y, w.div(np.ones_like(t), deviation))
        return w.mul_add(y, scale, bias)
    if way == 0:
        return w.mul_add(w.div(w.sub(t, mean), deviation), scale, bias) if w.exact else w.add(w.div(w.mul(scale, w.sub(t, mean)), deviation), bias)
    factor = w.div(scale, deviation)
    if way == 1:
        return w.mul_add(w.sub(t, mean), factor, bias)
    return w.mul_add(t, factor, w.sub(bias, w.mul(mean, factor)))


@family(kinds=("normal", "wide", "tiny", "cancel", "ties", "absorb", "offset", "equal", "special"))
def norms(d):
    for n in {length(d, 1), d.rng(1, 2, 9, 33)}:
        x, s, b = d.x(d.rows(1, 3), n), d.plain(n), d.plain(n)
        if d.kind == "equal":  # a variance of about epsilon
            x = d.cast(x.astype(np.float64)[..., :1] + 2.0 ** -9 * d.random.standard_normal(x.shape))
        if d.type != "f64":
            def layer(w, a, s, b):
                _, deviation, mean = standardised(w, a, 1e-5)
                y = scaled(w, a, mean, deviation, s, b, True)
                inverse = w.div(np.ones_like(deviation), deviation, last=True)
                return [w.out(y), w.out(mean[..., None], "f32"), w.out(inverse[..., None], "f32")]
            yield Case("LayerNormalization", [x, s, b], layer, {"epsilon": 1e-5}, outputs=3, label=f"{n} terms", faults=NORM_FAULTS, by_body=ONE_PASS)
            def root(w, a, s):
                deviation = w.deviation(w.over_count(w.square_sum(a), a.shape[-1]), 1e-5)
                y = w.div(a, np.broadcast_to(deviation[..., None], a.shape))
                return [w.out(w.mul(y, np.broadcast_to(s, a.shape)))]
            yield Case("RMSNormalization", [x, s], root, {"epsilon": 1e-5}, label=f"{n} terms", faults=("drop", "double", "tail", "epsilon outside", "no epsilon", "f16 sums"))
        for p in (1, 2):
            def by_norm(w, a, p=p):
                t = w.sum(np.abs(a)) if p == 1 else w.sqrt(w.square_sum(a))
                with np.errstate(all="ignore"):
                    y = w.div(a, np.broadcast_to(t[..., None], a.shape), last=True)
                return [w.out(np.where(t[..., None] == 0, 0, y))]
            if d.kind != "special":
                yield Case("LpNormalization", [x], by_norm, {"p": p}, label=f"p {p}, {n} terms", faults=("drop", "double", "tail", "f16 sums"))
    c = d.rng(2, 4)
    y, s, b = d.x(d.rows(2), c, d.rng(1, 3, 6, 17)), d.plain(c), d.plain(c)
    column = lambda v: v.reshape(1, -1, 1)
    def instance(w, a, s, b):
        _, deviation, mean = standardised(w, a, 1e-5)
        return [w.out(scaled(w, a, mean, deviation, column(s), column(b), False))]
    yield Case("InstanceNormalization", [y, s, b], instance, {"epsilon": 1e-5}, faults=NORM_FAULTS, blunt=READ_TWICE if d.kind not in ("normal", "ties") else "")
    if d.type != "f64":
        def group(w, a, s, b):
            t = a.reshape(a.shape[0], 2, -1)
            centred, deviation, _ = standardised(w, t, 1e-5)
            y = w.div(centred, np.broadcast_to(deviation[..., None], t.shape)).reshape(a.shape)
            return [w.out(w.mul_add(y, np.broadcast_to(column(s), a.shape), np.broadcast_to(column(b), a.shape)))]
        yield Case("GroupNormalization", [y, s, b], group, {"num_groups": 2, "epsilon": 1e-5}, faults=NORM_FAULTS, by_body=ONE_PASS)
    mean, var = d.plain(c), d.plain(c, least=0.01)
    def batch(w, a, s, b, m, v):
        deviation = w.deviation(v, 1e-5)
        full = lambda z: np.broadcast_to(column(z), a.shape)
        way = 0 if w.exact else int(w.random.integers(3))
        if way == 0:
            return [w.out(w.mul_add(w.div(w.sub(a, full(m)), full(deviation)), full(s), full(b)))]
        factor = w.div(s, deviation)
        if way == 1:
            return [w.out(w.mul_add(w.sub(a, full(m)), full(factor), full(b)))]
        return [w.out(w.mul_add(a, full(factor), full(w.sub(b, w.mul(m, factor)))))]
    yield Case("BatchNormalization", [y, s, b, mean, var], batch, {"epsilon": 1e-5}, faults=("tail", "neighbour", "epsilon outside"),
               blunt=READ_TWICE if d.kind not in ("normal", "ties") else "")
    z = d.x(2, d.rng(2, 3, 5), 3, 2)
    if d.kind not in ("ties", "tiny", "wide", "special"):
        def mean_variance(w, a):
            t = np.moveaxis(a, 1, 0).reshape(a.shape[1], -1)
            centred, deviation, _ = standardised(w, t, 0)
            y = w.div(centred, np.broadcast_to(deviation[..., None], t.shape), last=True)
            return [w.out(np.moveaxis(y.reshape((a.shape[1], 2, 3, 2)), 0, 1))]
        # its function takes the mean square less the square of the mean, in one pass, which the text does not
        yield Case("MeanVarianceNormalization", [z], mean_variance, by_body=False, faults=("drop", "variance n-1", "tail", "one pass"))
    if d.kind not in ("special", "absorb"):
        def lrn(w, a):
            out = []
            for ch in range(a.shape[1]):
                near = np.moveaxis(a[:, max(0, ch - 1):ch + 2], 1, -1)
                squares = w.square_sum(near)
                # the text does not say whether alpha is divided first
                f = w.carrier(np.float32(0.01171875)) / w.carrier(3) if w.exact else w.div(np.asarray(w.carrier(np.float32(0.01171875))), np.asarray(w.carrier(3)))
                base = w.add(np.ones_like(squares), w.mul(np.full_like(squares, f), squares))
                with np.errstate(all="ignore"):
                    real = np.power(np.asarray(base, np.longdouble), np.longdouble(0.75))
                wider = w.kept_wider()
                out.append(w.div(a[:, ch], w.near(real, w.error("pow", w.wide), w.wide, wider), last=True))
            return [w.out(np.stack(out, axis=1))]
        yield Case("LRN", [z], lrn, {"size": 3, "alpha": 0.01171875, "beta": 0.75, "bias": 1.0}, faults=("drop", "tail", "neighbour"))


@family("f64 f32 f16 bf16", ("normal", "cancel", "absorb", "equal"))
def attention(d):
    heads, q, k, e, f = d.rng(1, 2), d.rows(1, 3), d.rng(1, 2, 5, 17), d.rng(1, 4, 16), d.rng(1, 3)
    if d.type == "f64":
        k, e = min(k, 5), min(e, 4)
    Q, K, V = d.x(1, heads, q, e), d.ones(1, heads, k, e), d.x(1, heads, k, f)
    scale = 1 / math.sqrt(e)
    def attend(w, Q, K, V, mask=None, causal=False):
        s = w.dot(Q[:, :, :, None], K[:, :, None])
        s = w.mul(s, np.full_like(s, np.float32(scale)))
        if mask is not None:
            s = w.add(s, np.broadcast_to(mask, s.shape))
        p = softmax(w, s)
        return [w.out(w.dot(p[:, :, :, None], np.swapaxes(V, 2, 3)[:, :, None]))]
    # with a factor of 2 to a power the standard's two roots of it and the one factor are the same
    if e in (1, 4, 16) and d.type in ("f64", "f32"):
        yield Case("Attention", [Q, K, V], attend, version=24, faults=DOT_FAULTS[:2] + ("tail", "neighbour", "one weight"), weight=1)
        mask = d.plain(q, k)
        yield Case("Attention", [Q, K, V, mask], attend, version=24, label="mask", faults=("tail", "neighbour"))


@family("f64 f32 f16", ("normal", "cancel", "equal"))
def recurrent(d):
    steps, batch, n, h = d.rng(1, 2, 3), d.rows(1, 2), d.rng(1, 4, 9), d.rng(1, 3)
    x, first = d.x(steps, batch, n), d.plain(1, batch, h)
    def weights(gates):
        return d.plain(1, gates * h, n, scale=0.5), d.plain(1, gates * h, h, scale=0.5), d.plain(1, 2 * gates * h, scale=0.5)
    def product(w, a, m, start=None):
        return w.dot(a[:, None], m[None], start=start)
    def state(w, y):
        return y if w.exact else w.to(y, w.format.dtype)
    def parts(w, X, v, W, R, B, gates):
        """The sums before each gate: two products and two biases, in any order."""
        out = []
        for g in range(gates):
            rows = slice(g * h, (g + 1) * h)
            wb, rb = B[rows], B[gates * h:][rows]
            if not w.exact and w.random.random() < 0.5:
                y = w.add(product(w, X, W[rows], start=np.broadcast_to(wb, (batch, h))), product(w, v, R[rows], start=np.broadcast_to(rb, (batch, h))))
            else:
                y = w.add(w.add(product(w, X, W[rows]), product(w, v, R[rows])), np.broadcast_to(w.add(wb, rb), (batch, h)))
            out.append(y)
        return out
    w1, r1, b1 = weights(1)
    def rnn(w, X, W, R, B, H):
        v, out = H[0], []
        for t in range(steps):
            v = state(w, w.function("tanh", parts(w, X[t], v, W[0], R[0], B[0], 1)[0], last=True))
            out.append(v)
        return [w.out(np.stack(out)[:, None]), w.out(v[None])]
    faults = ("drop", "tail", "one weight", "neighbour")
    yield Case("RNN", [x, w1, r1, b1, None, first], lambda w, X, W, R, B, _, H: rnn(w, X, W, R, B, H), {"hidden_size": h}, outputs=2, faults=faults, weight=1)
    lw, lr, lb = weights(4)
    cell = d.plain(1, batch, h)
    def lstm(w, X, W, R, B, _, H, C):
        v, c, out = H[0], C[0], []
        for t in range(steps):
            i, o, f, g = parts(w, X[t], v, W[0], R[0], B[0], 4)
            take, forget, give = (w.function("sigmoid", z) for z in (i, f, o))
            kept = w.mul_add(forget, c, w.mul(take, w.function("tanh", g)))
            v = state(w, w.mul(give, w.function("tanh", kept)))
            c = state(w, kept)
            out.append(v)
        return [w.out(np.stack(out)[:, None]), w.out(v[None]), w.out(c[None])]
    yield Case("LSTM", [x, lw, lr, lb, None, first, cell], lstm, {"hidden_size": h}, outputs=3, faults=faults, weight=1)
    gw, gr, gb = weights(3)
    def gru(w, X, W, R, B, _, H):
        v, out = H[0], []
        for t in range(steps):
            z, r, _ = parts(w, X[t], v, W[0], R[0], B[0], 3)
            z, r = w.function("sigmoid", z), w.function("sigmoid", r)
            rows = slice(2 * h, 3 * h)
            y = w.add(w.add(product(w, X[t], W[0][rows]), product(w, w.mul(r, v), R[0][rows])), np.broadcast_to(w.add(B[0][rows], B[0][3 * h:][rows]), (batch, h)))
            new = w.function("tanh", y)
            v = state(w, w.mul_add(z, v, w.mul(w.sub(np.ones_like(z), z), new)))
            out.append(v)
        return [w.out(np.stack(out)[:, None]), w.out(v[None])]
    yield Case("GRU", [x, gw, gr, gb, None, first], gru, {"hidden_size": h}, outputs=2, faults=faults, weight=1)


@family(kinds=("normal", "cancel", "ties", "equal", "offset", "huge"))
def resizing(d):
    n, out = d.rng(2, 3, 5), d.rng(1, 4, 7, 8)
    x = d.x(1, d.rows(2), n)
    def linear(w, a, *_):
        cols = []
        for o in range(out):
            p = (o + 0.5) * n / out - 0.5  # a double tells it: small numbers
            p = min(max(p, 0.0), n - 1.0)
            i = min(int(math.floor(p)), n - 1)
            t = np.full(a.shape[:-1], p - i, w.carrier)
            left, right = a[..., i], a[..., min(i + 1, n - 1)]
            t = w.rounded(t) if not w.exact else t
            cols.append(w.add(w.mul(left, w.sub(np.ones_like(t), t)), w.mul(right, t)) if w.exact or not w.fused() else w.mul_add(right, t, w.mul(left, w.sub(np.ones_like(t), t))))
        return [w.out(np.stack(cols, axis=-1))]
    whole = any(((2 * o + 1) * n - out) % (2 * out) == 0 for o in range(out))
    yield Case("Resize", [x, None, None, np.array([1, x.shape[1], out])], linear, {"mode": "linear"}, label="linear", faults=("tail", "neighbour"),
               blunt="at a whole coordinate the two cells and the two weights that rounding leaves open are combined freely" if whole else "")
    if d.kind != "huge" and d.type != "f64":
        c, s = d.unit(1, 3, 3), d.unit(1, 3, 3)
        t = d.x(1, 2, 3, 6)
        def turned(w, a, c, s):
            u, v, c, s = a[..., :3], a[..., 3:], c[:, None], s[:, None]
            c, s = np.broadcast_to(c, u.shape), np.broadcast_to(s, u.shape)
            pair = lambda p, q: np.stack([p, q], axis=-1)
            return [w.out(np.concatenate([w.dot(pair(u, -v), pair(c, s)), w.dot(pair(u, v), pair(s, c))], axis=-1))]
        yield Case("RotaryEmbedding", [t, c, s], turned, faults=("tail", "neighbour", "drop"))


assert SUM_FAULTS
