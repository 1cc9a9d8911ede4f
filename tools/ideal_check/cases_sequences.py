"""Recurrent layers, attention, rotary positions."""
from fractions import Fraction

import numpy as np

from case import Case, family, sizes
from cases_elements import sigmoid
from cases_sums import exponentials, total
from numbers_of_types import each, f32, fractions, mp, real, reals


def tanh(a):
    return each(mp.tanh, a)


def gate(a):
    return each(sigmoid, a)


@family(kinds=("normal", "cancel"))
def recurrent(d):
    steps, batch, n, h = 3, 2, sizes(d, 4, 3), sizes(d, 3, 2)
    x = d.x(steps, batch, n)
    first = d.plain(1, batch, h)
    def weights(gates):
        return d.plain(1, gates * h, n, scale=0.5), d.plain(1, gates * h, h, scale=0.5), d.plain(1, 2 * gates * h, scale=0.5)
    def run(w, r, b, gates, step, state):
        """step(input parts, recurrent parts, h, c) to (h, c), over all steps; parts are by gate, with their biases."""
        W, R, B, X = reals(w)[0], reals(r)[0], reals(b)[0], reals(x)
        hidden, cell, out = reals(first)[0], state, []
        for t in range(steps):
            i = np.split(X[t].dot(W.T) + B[:gates * h], gates, axis=1)
            j = lambda v: np.split(v.dot(R.T) + B[gates * h:], gates, axis=1)
            hidden, cell = step(i, j, hidden, cell)
            out.append(hidden)
        return np.stack(out)[:, None], hidden[None], cell
    w, r, b = weights(1)
    yield Case("RNN", [x, w, r, b, None, first], lambda: list(run(w, r, b, 1, lambda i, j, v, c: (tanh(i[0] + j(v)[0]), None), None)[:2]), {"hidden_size": h}, outputs=2)
    gw, gr, gb = weights(3)
    for before in (0, 1):
        def gru(i, j, v, c, before=before):
            p = j(v)
            z, reset = gate(i[0] + p[0]), gate(i[1] + p[1])
            if before:
                new = tanh(i[2] + reset * p[2])
            else:
                R, B = reals(gr)[0][2 * h:], reals(gb)[0][5 * h:]
                new = tanh(i[2] + (reset * v).dot(R.T) + B)
            return (1 - z) * new + z * v, None
        yield Case("GRU", [x, gw, gr, gb, None, first], lambda g=gru: list(run(gw, gr, gb, 3, g, None)[:2]), {"hidden_size": h, "linear_before_reset": before}, outputs=2)
    lw, lr, lb = weights(4)
    cell, peep = d.plain(1, batch, h), d.plain(1, 3 * h)
    def lstm(i, j, v, c):
        p, q = j(v), np.split(reals(peep)[0], 3)  # gates: input, output, forget, cell; peepholes: input, output, forget
        take, forget = gate(i[0] + p[0] + q[0] * c), gate(i[2] + p[2] + q[2] * c)
        c = forget * c + take * tanh(i[3] + p[3])
        return gate(i[1] + p[1] + q[1] * c) * tanh(c), c
    def all_of_it():
        y, last, c = run(lw, lr, lb, 4, lstm, reals(cell)[0])
        return [y, last, c[None]]
    yield Case("LSTM", [x, lw, lr, lb, None, first, cell, peep], all_of_it, {"hidden_size": h}, outputs=3)


@family(kinds=("normal", "wide", "cancel", "ties"))
def attention(d):
    heads, q, k, e, f = 2, 3, 5, 4, 3
    Q, K, V = d.x(1, heads, q, e), d.x(1, heads, k, e), d.x(1, heads, k, f)
    if d.kind in ("wide", "ties"):
        K = d.plain(1, heads, k, e, scale=2.0 ** -3)
    if d.kind == "wide":
        Q = d.plain(1, heads, q, e)
    mask = d.plain(q, k)
    def attend(scale, causal=False, masked=False, cap=None):
        y = np.empty((1, heads, q, f), object)
        for h in range(heads):
            s = fractions(Q[0, h]).dot(fractions(K[0, h]).T)
            s = each(real, s) * scale()
            if cap:
                s = cap * tanh(s / cap)
            if masked:
                s = s + reals(mask)
            for r in range(q):
                seen = r + 1 if causal else k
                p, _ = exponentials(s[r, :seen], 0)
                y[0, h, r] = (p / total(p, 0)).dot(reals(V[0, h, :seen]))
        return y
    half = lambda: mp.mpf(1) / 2  # 1 / sqrt(4)
    yield Case("Attention", [Q, K, V], lambda: attend(half), version=24)
    yield Case("Attention", [Q, K, V], lambda: attend(half, causal=True), {"is_causal": 1}, version=24, label="causal")
    yield Case("Attention", [Q, K, V, mask], lambda: attend(lambda: real(f32(0.3)), masked=True), {"scale": 0.3}, version=24, label="masked")
    yield Case("Attention", [Q, K, V], lambda: attend(half, cap=mp.mpf(3)), {"softcap": 3.0}, version=24, label="softcap")


@family("f32 f16 bf16")
def rotary(d):
    x, c, s = d.x(1, 2, 3, 6), d.unit(1, 3, 3), d.unit(1, 3, 3)
    def turned(interleaved):
        a, cos, sin = fractions(x), fractions(c)[:, None], fractions(s)[:, None]
        u, v = (a[..., 0::2], a[..., 1::2]) if interleaved else (a[..., :3], a[..., 3:])
        re, im = cos * u - sin * v, sin * u + cos * v
        return np.stack([re, im], axis=-1).reshape(x.shape) if interleaved else np.concatenate([re, im], axis=-1)
    for interleaved in (0, 1):
        yield Case("RotaryEmbedding", [x, c, s], lambda i=interleaved: turned(i), {"interleaved": interleaved})
    w, state, b = d.x(2, 1, 3), d.x(1, 2, 2), d.plain(2)
    y = d.x(1, 2, 6)
    def causal(silu):
        a = np.concatenate([fractions(state), fractions(y)], axis=2)
        out = sum(a[:, :, j:j + 6] * fractions(w)[None, :, 0, j:j + 1] for j in range(3)) + fractions(b).reshape(1, 2, 1)
        return [each(lambda v: real(v) * sigmoid(real(v)), out) if silu else out, a[:, :, -2:] + Fraction(0)]
    for silu in (False, True):
        yield Case("CausalConvWithState", [y, w, b, state], lambda z=silu: causal(z), {"activation": "silu" if silu else "none"}, outputs=2)
