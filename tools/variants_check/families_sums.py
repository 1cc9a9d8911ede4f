"""Reductions, products, convolutions, pools."""
import math

import numpy as np

from cases import DOT_FAULTS, SUM_FAULTS, Case, family


def last(a, axes):
    """The axes moved to the end, as one."""
    axes = [x % a.ndim for x in axes]
    kept = [i for i in range(a.ndim) if i not in axes]
    return a.transpose(kept + sorted(axes)).reshape([a.shape[i] for i in kept] + [math.prod(a.shape[i] for i in axes)])


LENGTHS = (0, 1, 2, 3, 5, 7, 8, 11, 16, 17, 31, 33, 64, 100, 129, 255, 256)


def length(d, least=0, most=256):
    return int(d.random.choice([n for n in LENGTHS if least <= n <= most]))


def lengths(d, least):
    """Of sums that are tried: of the quick sample few long ones."""
    if d.scale == 1:
        return {length(d, least, d.rng(8, 33, 33, 256)), d.rng(3, 7)}
    return {length(d, least), d.rng(3, 7, 33), 256 if d.type != "f64" else 129}


@family()
def reductions(d):
    for n in lengths(d, 1):
        x = d.x(d.rows(1, 3, 40), n)
        axes = np.array([1])
        add = lambda op, f, faults, **k: Case(op, [x, axes], lambda w, a, _: [w.out(f(w, a))], {"keepdims": 0}, faults=faults, label=f"{n} terms", **k)
        yield add("ReduceSum", lambda w, a: w.sum(a), SUM_FAULTS, terms=n)
        yield add("ReduceMean", lambda w, a: w.mean(a, last=True), SUM_FAULTS + ("n-1",), terms=n)
        yield add("ReduceSumSquare", lambda w, a: w.square_sum(a), SUM_FAULTS, terms=n)
        yield add("ReduceL1", lambda w, a: w.sum(np.abs(a)), SUM_FAULTS, terms=n)
        yield add("ReduceL2", lambda w, a: w.sqrt(w.square_sum(a), last=True), SUM_FAULTS)
        if d.kind not in ("special", "huge"):
            yield Case("ReduceLogSum", [np.abs(x), axes], lambda w, a, _: [w.out(w.function("log", w.sum(a), last=True))], {"keepdims": 0}, faults=SUM_FAULTS)
    x = d.along(1, d.rng(1, 3), d.rng(1, 6), d.rows(1, 4))
    for axes in ([0, 2], [1], [0, 1, 2], [-1, 0]):
        keep = d.rng(0, 1)
        def shaped(f, axes=axes, keep=keep):
            def compute(w, a, _):
                y = f(w, last(a, axes))
                return [w.out(np.reshape(y, [1 if i in [z % 3 for z in axes] else a.shape[i] for i in range(3)]) if keep else y)]
            return compute
        yield Case("ReduceSum", [x, np.array(axes)], shaped(lambda w, a: w.sum(a)), {"keepdims": keep}, label=f"axes {axes}", faults=SUM_FAULTS, terms=last(x, axes).shape[-1])
        yield Case("ReduceMean", [x, np.array(axes)], shaped(lambda w, a: w.mean(a, last=True)), {"keepdims": keep}, label=f"axes {axes}", faults=SUM_FAULTS, terms=last(x, axes).shape[-1])
    none = np.zeros((3, 0), x.dtype)
    yield Case("ReduceSum", [none, np.array([1])], lambda w, a, _: [w.out(w.sum(a))], {"keepdims": 0}, label="of nothing")
    few = d.x(d.rows(4), d.rng(1, 3, 5))
    if d.kind not in ("wide", "tiny", "huge", "special"):
        def product(w, a, _):
            order = w.order_of(np.zeros(a.shape)) if not w.exact else None
            a = a if order is None else np.take_along_axis(a, order, -1)
            y, wider = a[..., 0], w.kept_wider()
            for k in range(1, a.shape[-1]):
                y = w.mul(y, a[..., k], wider=wider)
            return [w.out(y)]
        yield Case("ReduceProd", [few, np.array([1])], product, {"keepdims": 0}, faults=("tail", "neighbour"))


@family()
def products(d):
    for k in lengths(d, 0):
        m, n = d.rows(1, 2, 5), d.rng(1, 3, 7)
        a, b = d.x(m, k), np.ascontiguousarray(d.ones(n, k).T)
        if d.kind == "cancel" and k > 1:
            b[k - k // 2:] = b[:k // 2]
        yield Case("MatMul", [a, b], lambda w, a, b: [w.out(w.dot(a[:, None], b.T[None]))], label=f"{k} terms", faults=DOT_FAULTS + ("transposed", "off by one"), weight=1, terms=k)
        c = d.rng(d.ones(m, n), d.ones(n), d.ones(m, 1))
        alpha, beta = d.rng((1.0, 1.0), (0.3, 1.7), (2.0, 0.5), (1.0, 0.3))
        def gemm(w, a, b, c, alpha=alpha, beta=beta, ta=False, tb=False):
            a, b = a.T if ta else a, b if tb else b.T
            scale = lambda s, y: y if s == 1 else w.mul(np.full_like(y, np.float32(s)), y)
            c = np.broadcast_to(scale(beta, c), (a.shape[0], b.shape[0]))
            if alpha == 1 and not w.exact and w.random.random() < 0.5:
                return [w.out(w.dot(a[:, None], b[None], start=c))]
            y = w.dot(a[:, None], b[None])
            if w.fault == "alpha on both":
                return [w.out(scale(alpha, w.add(y, c)))]
            if not w.exact and alpha != 1 and w.random.random() < 0.3:
                return [w.out(w.mul_add(np.full_like(y, np.float32(alpha)), y, c))]
            return [w.out(w.add(scale(alpha, y), c))]
        faults = DOT_FAULTS + (("alpha on both",) if alpha != 1 else ())
        yield Case("Gemm", [a, b, c], gemm, {"alpha": alpha, "beta": beta}, label=f"{k} terms", faults=faults, weight=1)
        yield Case("Gemm", [np.ascontiguousarray(a.T), np.ascontiguousarray(b.T), c], lambda w, *x, g=gemm: g(w, *x, ta=True, tb=True),
                   {"alpha": alpha, "beta": beta, "transA": 1, "transB": 1}, label=f"transposed, {k} terms", faults=faults, weight=1)
    k = length(d, 1, 33)
    s, t = d.x(2, 1, d.rows(3), k), d.ones(2, k, 4)
    yield Case("MatMul", [s, t], lambda w, a, b: [w.out(w.dot(a[:, :, :, None], b.swapaxes(1, 2)[None, :, None]))], label="broadcast", faults=DOT_FAULTS, weight=1, terms=k)
    v, u = d.x(k), d.ones(k)
    yield Case("MatMul", [v, u], lambda w, a, b: [w.out(w.dot(a, b))], label="vectors", faults=DOT_FAULTS, weight=1, terms=k)
    a, b = d.x(d.rows(3), k), d.ones(k, 2)
    yield Case("Einsum", [a, b], lambda w, a, b: [w.out(w.dot(a[None], b.T[:, None]))], {"equation": "ik,kj->ji"}, label="ik,kj->ji", faults=DOT_FAULTS, weight=1, terms=k)
    p, q = d.x(d.rows(2), 3, k), d.ones(k, 3)
    yield Case("Einsum", [p, q], lambda w, a, b: [w.out(w.dot(a, b.T[None]))], {"equation": "bij,ji->bi"}, label="bij,ji->bi", faults=DOT_FAULTS, weight=1, terms=k)
    x, y, z = d.ones(3), d.x(3, 4), d.ones(4)
    if d.kind not in ("huge", "tiny", "wide", "special"):
        def three(w, x, y, z):
            terms = w.mul(np.broadcast_to(x[:, None], y.shape), y)
            return [w.out(w.dot(terms.reshape(-1), np.broadcast_to(z, y.shape).reshape(-1)))]
        yield Case("Einsum", [x, y, z], three, {"equation": "i,ij,j->"}, label="i,ij,j->", faults=("drop", "double", "one weight"), weight=1)


def windows(a, kernel, strides, dilations, pads):
    """[..., out..., taps] and which of the taps are elements, for the last axes; padding is 0."""
    lead = a.ndim - len(kernel)
    inside = np.pad(np.ones(a.shape[lead:], bool), pads)
    a = np.pad(a, [(0, 0)] * lead + list(pads))
    outs = [(n - (k - 1) * g - 1) // s + 1 for n, k, s, g in zip(a.shape[lead:], kernel, strides, dilations)]
    index = []
    for o, k, s, g in zip(outs, kernel, strides, dilations):
        index.append(np.arange(o)[:, None] * s + np.arange(k)[None] * g)
    if len(kernel) == 1:
        return a[..., index[0]], inside[index[0]]
    grid = (index[0][:, None, :, None], index[1][None, :, None, :])
    flat = lambda v: v[(Ellipsis,) + grid].reshape(v.shape[:-2] + (outs[0], outs[1], kernel[0] * kernel[1]))
    return flat(a), flat(inside)


def convolved(w, x, k, bias, strides, dilations, pads, group):
    n, rank = x.shape[0], x.ndim - 2
    taps, _ = windows(x, k.shape[2:], strides, dilations, pads)
    if w.fault == "off by one":
        taps = np.roll(taps, 1, axis=-2)
    filters, channels = k.shape[0] // group, k.shape[1]
    rows = []
    for f in range(k.shape[0]):
        g = f // filters
        part = np.moveaxis(taps[:, g * channels:(g + 1) * channels], 1, -2)
        part = part.reshape(part.shape[:-2] + (-1,))
        start = None if bias is None else np.asarray(bias[f])
        if start is not None and not w.exact and w.random.random() < 0.5:
            rows.append(w.add(w.dot(part, k[f].reshape(-1)), np.full(part.shape[:-1], start)))
        else:
            rows.append(w.dot(part, k[f].reshape(-1), start=start))
    return w.out(np.stack(rows, axis=1))


@family()
def convolutions(d):
    group, c, f = d.rng(1, 2), d.rng(1, 2, 3), d.rng(1, 2)
    faults = DOT_FAULTS + ("off by one",)
    for rank in (1, 2):
        size = [d.rng(3, 6, 9) for _ in range(rank)]
        kernel = [d.rng(1, 2, 3) for _ in range(rank)]
        strides, dilations = [d.rng(1, 2) for _ in range(rank)], [d.rng(1, 1, 2) if k < 3 else 1 for k in kernel]
        pads = [(d.rng(0, 1), d.rng(0, 1, 2)) for _ in range(rank)]
        x = d.x(d.rows(1, 2), c * group, *size)
        k = d.ones(f * group, c, *kernel)
        b = d.ones(f * group)
        attrs = {"strides": strides, "dilations": dilations, "group": group, "pads": [p[0] for p in pads] + [p[1] for p in pads]}
        go = lambda w, x, k, b=None, s=strides, g=dilations, p=pads: [convolved(w, x, k, b, s, g, p, group)]
        if d.kind == "special" and any(sum(p) for p in pads):
            continue  # a padded tap times an infinity
        yield Case("Conv", [x, k, b], go, attrs, label=f"rank {rank}", faults=faults, weight=1)
        yield Case("Conv", [x, k], go, attrs, label=f"rank {rank}, no bias", faults=faults, weight=1, terms=c * math.prod(kernel))
    t, u, e = d.x(1, 2, d.rng(1, 4), 3), d.ones(2, 3, d.rng(1, 3), 2), d.ones(3)
    strides = [d.rng(1, 2), d.rng(1, 2, 3)]
    def transposed(w, a, g, e, s=strides):
        heights, widths = (a.shape[2] - 1) * s[0] + g.shape[2], (a.shape[3] - 1) * s[1] + g.shape[3]
        y = np.empty((1, 3, heights, widths), w.carrier)
        for r, q in np.ndindex(heights, widths):
            left, right = [], []
            for m, n in np.ndindex(g.shape[2], g.shape[3]):
                i, j = divmod(r - m, s[0]), divmod(q - n, s[1])
                if i[1] == 0 and j[1] == 0 and 0 <= i[0] < a.shape[2] and 0 <= j[0] < a.shape[3]:
                    left.append(a[0, :, i[0], j[0]])
                    right.append(g[:, :, m, n])
            if not left:
                y[0, :, r, q] = e
                continue
            y[0, :, r, q] = w.dot(np.concatenate(left)[None], np.concatenate(right, axis=0).T, start=e)
        return [w.out(y)]
    if d.kind != "special" and d.type != "f64":
        yield Case("ConvTranspose", [t, u, e], transposed, {"strides": strides}, faults=("drop", "double", "one weight", "bf16 inputs", "tail"), weight=1)


@family()
def pools(d):
    h, v = d.rng(3, 6), d.rng(4, 7)
    x = d.x(1, d.rows(2), h, v)
    kernel, strides = [d.rng(1, 2, 3), d.rng(1, 2, 3)], [d.rng(1, 2), d.rng(1, 2)]
    pads = [(d.rng(0, 1) if k > 1 else 0, d.rng(0, 1) if k > 1 else 0) for k in kernel]
    size = {"kernel_shape": kernel, "strides": strides, "pads": [p[0] for p in pads] + [p[1] for p in pads]}
    for counted in (0, 1):
        def average(w, a, counted=counted):
            taps, inside = windows(a, kernel, strides, (1, 1), pads)
            if w.fault == "off by one":
                taps = np.roll(taps, 1, axis=-2)
            wrong = w.fault == "padding"
            n = np.full(taps.shape[:-1], taps.shape[-1]) if bool(counted) != wrong else np.broadcast_to(inside.sum(axis=-1), taps.shape[:-1])
            return [w.out(w.div(w.sum(taps), n.astype(w.carrier), last=True))]
        if d.kind == "special" and size["pads"] != [0] * 4:
            continue
        faults = ("drop", "double", "tail", "neighbour", "off by one") + (("padding",) if size["pads"] != [0] * 4 else ())
        yield Case("AveragePool", [x], average, {**size, "count_include_pad": counted}, label="padding counts" if counted else "", faults=faults)
    if d.kind != "special":
        for p in (1, 2, 3):
            def norm(w, a, p=p):
                taps, _ = windows(a, kernel, strides, (1, 1), pads)
                if p == 3:
                    s = w.sum(w.mul(w.mul(np.abs(taps), np.abs(taps)), np.abs(taps)))
                    with np.errstate(all="ignore"):
                        real = np.power(np.asarray(s, np.longdouble), np.longdouble(1) / 3)
                    return [w.out(np.where(s == 1, s, w.near(real, 1, w.wide, False)))]
                return [w.out(w.sum(np.abs(taps)) if p == 1 else w.sqrt(w.square_sum(taps), last=True))]
            if p < 3 or d.kind in ("normal", "cancel", "ties", "equal"):
                yield Case("LpPool", [x], norm, {**size, "p": p}, label=f"p {p}", faults=("drop", "tail", "neighbour"))
    y = d.x(2, d.rows(3), d.rng(1, 8, 33, 256))
    yield Case("GlobalAveragePool", [y], lambda w, a: [w.out(w.mean(a, last=True)[..., None])], faults=SUM_FAULTS + ("n-1",))
    if d.kind != "special":
        yield Case("GlobalLpPool", [y], lambda w, a: [w.out(w.sqrt(w.square_sum(a), last=True)[..., None])], faults=SUM_FAULTS)


@family(kinds=("normal", "cancel", "ties", "absorb", "huge", "wide"))
def running(d):
    n = d.rng(1, 2, 7, 33)
    x = d.x(d.rows(3), n)
    for reverse, exclusive in ((0, 0), (1, 0), (0, 1), (1, 1)):
        def sums(w, a, _, reverse=reverse, exclusive=exclusive):
            a = a[:, ::-1] if reverse else a
            cols = [w.sum(a[:, :k + (0 if exclusive else 1)]) for k in range(a.shape[1])]
            y = np.stack(cols, axis=1)
            return [w.out(y[:, ::-1] if reverse else y)]
        yield Case("CumSum", [x, np.array(1)], sums, {"reverse": reverse, "exclusive": exclusive}, label=f"{n} terms", faults=("tail", "neighbour", "f16 sums"))
    base, updates, places = d.x(5, d.rows(4)), d.x(7, d.rows(4)), d.integers(0, 5, 7, d.rows(4))
    def scattered(w, a, _, u):
        out = np.empty(a.shape, w.carrier)
        for r, c in np.ndindex(*a.shape):
            added = u[places[:, c] == r, c]
            out[r, c] = w.sum(np.concatenate([a[r:r + 1, c], added])) if added.size else a[r, c]
        return [w.out(out)]
    if d.type in ("f64", "f32"):
        yield Case("ScatterElements", [base, places, updates], scattered, {"reduction": "add", "axis": 0}, label="add", faults=("tail", "neighbour", "drop"))
