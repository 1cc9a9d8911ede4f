# --- terms and tensors of a definition ---------------------------------------------------------------------------------------------------

SKIP = object()  # a term that a filter leaves out


class Perhaps:
    """A term that may or may not be left out."""

    def __init__(self, value):
        self.value = value


def no(a):
    return lift(lambda x: not x, a)


def both(a, b):
    return lift(lambda x, y: x and y, a, b)


def either(a, b):
    return lift(lambda x, y: x or y, a, b)


def pick(condition, a, b):
    if not isinstance(condition, Some):
        return a() if condition else b()
    try:
        x = a()
    except Outside:
        return b()
    try:
        return union(x, b())
    except Outside:
        return x


def kept(condition, term):
    if isinstance(condition, Some):
        return Perhaps(term())
    return term() if condition else SKIP


def one_of(*alternatives):
    """The first is what the definition means, and each of them is admitted."""
    out = alternatives[0]()
    if not State.exact:
        for a in alternatives[1:]:
            out = union(out, a())
    return out


def within_body(function_itself, *bodies):
    return one_of(function_itself, *bodies) if BODIES else function_itself()


def unspecified(type):
    if not State.exact:
        if isinstance(type, Float):
            return anything()
        raise Cannot("an integer that may be anything")
    return number(Fraction(0)) if isinstance(type, Float) else 0


def span(n):
    if isinstance(n, Some):
        raise Cannot("an extent that is not certain")
    return range(n)


def count(conditions):
    out = 0
    for c in conditions:
        out = Z.add(out, lift(int, c))
    return out


def any_of(conditions):
    return BOOL._fold(conditions, None, False, either)


def all_of(conditions):
    return BOOL._fold(conditions, None, True, both)


def _first(type, terms, sign):
    best, where = None, None
    candidates = set()
    for position, t in enumerate(terms):
        if t is SKIP:
            continue
        if isinstance(t, Perhaps):
            raise Cannot("the place of a maximum over what is not certain")
        better = True if best is None else type.precedes(t, best, sign)
        if isinstance(better, Some):
            candidates |= {where, position}
            best = extreme([best, t], sign) if isinstance(t, Range) else best
            where = position
        elif better:
            best, where, candidates = t, position, set()
        elif candidates and isinstance(t, Range) and (sign > 0 and t.hi >= best.lo or sign < 0 and t.lo <= best.hi):
            candidates.add(position)
    if where is None:
        raise Cannot("the place of the greatest of nothing")
    return some(candidates | {where})


def argmax(type, terms):
    return _first(type, terms, 1)


def argmin(type, terms):
    return _first(type, terms, -1)


def accumulate(indices, start, body):
    out = start
    for index in indices:
        out = body(out, *index)
    return out


def nth(place, n, types, keys, descending):
    """The index at a place of the order by the keys; equals keep their order."""
    order = list(span(n))
    all_keys = [keys(i) for i in order]
    for k in reversed(range(len(types))):
        order.sort(key=lambda i: types[k].key(all_keys[i][k]), reverse=descending)
    return lift(lambda p: order[p], place)


def cannot(why):
    raise Cannot(why)


class Remembered:
    def __init__(self):
        self.known, self.epoch = {}, None

    def get(self, key, make):
        if self.epoch != State.epoch:
            self.known, self.epoch = {}, State.epoch
        try:
            return self.known[key]
        except KeyError:
            out = make()
            self.known[key] = out
            return out


def term(f):
    """A term that is used more than once."""
    memory = Remembered()
    return lambda *index: memory.get(index, lambda: f(*index))


class Tensor:
    def __init__(self, name, type, extents, body):
        self.name, self.type, self._extents, self.body = name, type, extents, body
        self.memory = Remembered()

    @property
    def extents(self):
        return self._extents() if callable(self._extents) else self._extents

    def __getitem__(self, index):
        index = index if isinstance(index, tuple) else (index,)
        return lift(self._one, *index) if index else self._one()

    def _one(self, *index):
        for i, n in zip(index, self.extents):
            if i < 0 or i >= n:
                raise Outside(self.name)
        return self.memory.get(index, lambda: self.body(*index))

    def at(self, index, otherwise, optional=False):
        """An element, or something else where there is none; it may then be left out of a sum."""
        def one(*i):
            if all(0 <= k < n for k, n in zip(i, self.extents)):
                return self._one(*i)
            out = otherwise()
            if optional and isinstance(out, Range):
                out = Range(out.lo, out.hi, out.nan, out.zero)
                out.skip = True
            return out
        return lift(one, *index)


def tensor(name, type, extents):
    return lambda body: Tensor(name, type, extents, body)


class Recurrence(Tensor):
    """Elements that are made from earlier ones: those are asked for first, step by step."""

    def _one(self, step, *rest):
        for earlier in range(step) if step > 32 and (step - 1,) + rest not in self.memory.known else ():
            try:
                super()._one(earlier, *rest)
            except Outside:
                pass
        return super()._one(step, *rest)


def recurrence(name, type, extents):
    return lambda body: Recurrence(name, type, extents, body)


class Given(Tensor):
    """An input: its elements as bits."""

    def __init__(self, name, type, extents, data):
        super().__init__(name, type, extents, None)
        if isinstance(data, str):
            data = numpy.load(os.path.join(os.path.dirname(os.path.abspath(__file__)), data), allow_pickle=False)
            data = data.reshape(-1)
            if data.dtype.kind == "f":
                data = data.view("u%d" % data.dtype.itemsize)
        self.data = data
        if isinstance(type, Float) and State.finite:
            State.finite = type.all_finite(numpy.array(data, dtype=numpy.uint64))

    def _one(self, *index):
        position = 0
        for i, n in zip(index, self.extents):
            if i < 0 or i >= n:
                raise Outside(self.name)
            position = position * n + i
        bits = self.data[position]
        State.reads.setdefault((self.name,) + index, (self.type, bits))
        return self.type.decoded(bits if isinstance(bits, str) else int(bits))


class Where(Tensor):
    """The coordinates at which a condition holds, in order."""

    def __init__(self, name, found):
        super().__init__(name, Z, None, None)
        self.found = found

    @property
    def rows(self):
        def make():
            rows = []
            for condition, index in self.found():
                if isinstance(condition, Some):
                    raise Cannot("which elements there are is not certain")
                if condition:
                    rows.append(index)
            return rows
        return self.memory.get((), make)

    def size(self):
        return len(self.rows)

    @property
    def extents(self):
        return (len(self.rows), len(self.rows[0]) if self.rows else 0)

    def _one(self, k, axis):
        if not 0 <= k < len(self.rows):
            raise Outside(self.name)
        return self.rows[k][axis]


class Scatter(Tensor):
    """A tensor with updates: (where, what) in order."""

    def __init__(self, name, type, extents, base, mode, updates):
        super().__init__(name, type, extents, None)
        self.base, self.mode, self.updates = base, mode, updates

    def _written(self):
        def make():
            out = {}
            for condition, index, value in self.updates():
                if isinstance(condition, Some) or any(isinstance(i, Some) for i in index):
                    raise Cannot("where an update goes is not certain")
                if condition:
                    out.setdefault(index, []).append(value)
            return out
        return self.memory.get((), make)

    def _one(self, *index):
        for i, n in zip(index, self.extents):
            if i < 0 or i >= n:
                raise Outside(self.name)
        return self.memory.get(index, lambda: self._combined(index))

    def _combined(self, index):
        updates = [u() for u in self._written().get(index, [])]
        base = self.base[index]
        if not updates:
            return base
        if self.mode == "last":
            return updates[-1]
        if self.mode == "any":
            return one_of(*[lambda u=u: u for u in reversed(updates)])
        combine = {"add": self.type.sum, "multiply": self.type.prod, "max": self.type.greatest, "min": self.type.smallest}[self.mode]
        return combine(iter([base] + updates))
