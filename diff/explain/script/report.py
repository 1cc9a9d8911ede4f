# --- what is shown -----------------------------------------------------------------------------------------------------------------------

def show(x, digits=17):
    if isinstance(x, Range):
        if x.lo is None:
            return "NaN"
        if x.lo == x.hi:
            return show(x.lo, digits) if x.lo != 0 or x.zero != 2 else "-0"
        mid = show((x.lo + x.hi) / 2, digits) if abs(x.lo) != INF and abs(x.hi) != INF else None
        near = mid is not None and (x.hi - x.lo) * 10 ** 20 <= abs(x.lo + x.hi)
        return mid if near else "in [%s, %s]" % (show(x.lo, 9), show(x.hi, 9))
    if isinstance(x, Some):
        return "one of " + ", ".join(str(v) for v in sorted(x.values)[:8]) + (", ..." if len(x.values) > 8 else "")
    if isinstance(x, Fraction):
        if x.denominator == 1 and abs(x) < 10 ** digits:
            return str(x.numerator)
        with mpmath.workprec(200):
            return mpmath.nstr(mpmath.mpf(x.numerator) / x.denominator, digits, min_fixed=-5, max_fixed=12)
    return str(x)


def show_bits(type, bits):
    if isinstance(bits, str):
        return repr(bits)
    if isinstance(type, Float):
        return "%s (0x%0*x)" % (show(type.decoded(int(bits)), 9), (type.width + 3) // 4, int(bits))
    return str(type.decoded(bits))


def distance(x, y, type):
    """In ULP of y."""
    a, b = (Fraction(v) if abs(v) != INF else type.beyond() * (1 if v > 0 else -1) for v in (x, y))
    return abs(a - b) / type.ulp(y)


def belongs(got, pieces, nan, exact_zero=True):
    if isinstance(got, Range):
        if got.lo is None:
            return nan
        return any(lo <= got.lo <= hi and (got.lo != 0 or zero & got.zero) for lo, hi, zero in pieces)
    return any(lo <= got <= hi for lo, hi, _ in pieces)


def over_the_reals(element):
    """The element with nothing rounded, or why there is none."""
    State.exact = True
    while True:
        State.epoch += 1
        try:
            return element(), None
        except Undecided:
            if State.bits >= 4000:
                return None, "%d bits do not decide a comparison" % State.bits
            State.bits *= 4
        except Cannot as e:
            return None, str(e)
        except Outside as e:
            return None, "an index lies outside of " + str(e)
        except (ArithmeticError, RecursionError, MemoryError) as e:
            return None, "Python ends with " + type(e).__name__


MOST_WORLDS, MOST_SECONDS = 128, 30


def values_in_worlds(element):
    """What the element is under each combination of decisions; None where there are too many."""
    State.world, State.choices, out = [], [], []
    end = time.monotonic() + MOST_SECONDS
    for _ in range(MOST_WORLDS):
        State.decided = 0
        State.epoch += 1
        try:
            out.append(element())
        except Outside:  # decisions that do not go together
            pass
        while State.world and State.world[-1] + 1 == State.choices[-1]:
            State.world.pop()
            State.choices.pop()
        if not State.world:
            return out
        State.world[-1] += 1
        if time.monotonic() > end:
            break
    return None


def all_that_is_admitted(element, type):
    """Intervals that hold each value that an implementation may give, and whether NaN is one; or why they were not found."""
    if NOT_BOUNDED:
        return None, NOT_BOUNDED
    State.exact, State.bits = False, 160
    try:
        values = values_in_worlds(element)
        State.world = None
        State.epoch += 1
        values = values or [element()]
    except Cannot as e:
        return None, str(e)
    except Outside as e:
        return None, "an index lies outside of " + str(e)
    except (ArithmeticError, RecursionError, MemoryError) as e:
        return None, "Python ends with " + e.__class__.__name__
    finally:
        State.world = None
    pieces, nan = [], False
    for value in values:
        if isinstance(value, Range):
            found, more = type.members(value)
            pieces, nan = pieces + found, nan or more
        else:
            pieces += [(v, v, 3) for v in sorted(values_of(value))]
    return (joined(pieces), nan), None


def joined(pieces):
    """Disjoint and in order."""
    out = []
    for lo, hi, zero in sorted(pieces, key=lambda p: (p[0], p[1])):
        if out and lo <= out[-1][1]:
            out[-1] = (out[-1][0], max(hi, out[-1][1]), zero | out[-1][2])
        else:
            out.append((lo, hi, zero))
    return out


def stated(type):
    """The set that Ulpian states."""
    pieces = []
    for low, high in SET or []:
        a, b = type.decoded(low), type.decoded(high)
        if isinstance(type, Float):
            zero = (2 if a.lo < 0 or a.zero == 2 else 0) | (1 if b.hi > 0 or b.zero == 1 else 0)
            pieces.append((a.lo, b.hi, 3 if SET_ZEROS else zero))
        else:
            pieces.append((a, b, 3))
    return pieces


def in_words(type, pieces, nan):
    def one(lo, hi, zero):
        text = lambda v: show(v, 9) if v != 0 or zero != 2 else "-0"
        return text(lo) if lo == hi else "[%s, %s]" % (text(lo), text(hi))
    words = [one(*p) for p in pieces[:8]] + (["..."] if len(pieces) > 8 else []) + (["NaN"] if nan else [])
    return " or ".join(words) if words else "nothing"


def explain():
    """0: the violation is shown; 1: it is not."""
    type = globals()[TYPE]
    got_bits = int(sys.argv[1], 0) if len(sys.argv) > 1 else GOT
    got = type.decoded(got_bits)
    print(TITLE)
    print("got          " + show_bits(type, got_bits))
    shown = True
    for number_of_reading, reading in enumerate(READINGS()):
        if len(READINGS()) > 1:
            print("reading %d of %d that the definition leaves open:" % (number_of_reading + 1, len(READINGS())))
        try:
            output = reading()
        except Cannot as e:
            print("not translated: " + str(e))
            shown = False
            continue
        elements = [lambda index=index: output[index] for index in positions(output)]
        State.reads.clear()
        real, why = over_the_reals(elements[0])
        if number_of_reading == 0:
            print_reads()
        print_real(type, real, why, got)
        result = shows(type, got, real, elements)
        shown = shown and result
    if SET is not None:
        inside = belongs(got, stated(type), SET_NAN)
        print("Ulpian's set %s: got lies %s" % (in_words(type, stated(type), SET_NAN), "in it" if inside else "outside"))
        shown = shown and not inside
    if shown:
        print("shown: no value that is admitted is this one")
    elif SET is not None and not inside:
        print("not shown: Ulpian's set leaves it out, but what this script finds itself, which is coarser, does not tell it from what is admitted")
    else:
        print("nothing is shown: the answer is admitted")
    return 0 if shown else 1


def positions(output):
    """The element; where an order is not asked for along some axes, all that stand along them."""
    if not UNORDERED:
        return [INDEX]
    axes = [[INDEX[k]] + [i for i in range(n) if i != INDEX[k]] if k in UNORDERED else [INDEX[k]] for k, n in enumerate(output.extents)]
    return list(itertools.product(*axes))


def print_reads():
    if not State.reads:
        return
    print("depends on   %d element%s of its inputs:" % (len(State.reads), "s" if len(State.reads) > 1 else ""))
    for k, ((name, *index), (type, bits)) in enumerate(State.reads.items()):
        if k == 24:
            print("  ...")
            break
        print("  %s%s = %s" % (name, list(index) if index else "", show_bits(type, bits)))


def print_real(type, real, why, got):
    if real is None:
        print("real value   not found: " + why)
        return
    print("real value   " + show(real))
    if not isinstance(real, Range) or real.lo is None or got.lo is None:
        return
    d = distance(got.lo, (real.lo + real.hi) / 2 if real.lo != real.hi else real.lo, type)
    print("distance     %s ULP" % show(d, 4))
    s = real.sum
    if not s or not s.magnitude or may_be_infinite(got):
        return
    print("it ends in a sum of %d terms: S = %s, the sum of their magnitudes" % (s.n, show(s.magnitude, 9)))
    away = abs(got.lo - (real.lo + real.hi) / 2) / (s.kind.unit * s.magnitude)
    print("  got is %s u S from the real value (u = 2^-%d of %s); no order of adding the terms errs by more than n u S, %d of these" % (show(away, 4), s.kind.p, s.kind.name, s.n))


def shows(type, got, real, elements):
    """Whether this reading tells the answer from all that is admitted."""
    outside = True
    for k, element in enumerate(elements):
        found, why = all_that_is_admitted(element, type)
        if found is None:
            break
        inside = belongs(got, *found)
        outside = outside and not inside
        if k == 0 or inside:
            print("admitted     %s: got lies %s (found here: every rounding, order of sums and error of functions that the profile admits)" % (in_words(type, *found), "in it" if inside else "outside"))
    if found is not None:
        beyond = [x for lo, hi, _ in stated(type) for x in (lo, hi) if not any(a <= x <= b for a, b, _ in found[0])]
        if SET is not None and beyond and not UNORDERED:
            print("             Ulpian's set reaches beyond that: " + show(beyond[0], 9))
        return outside
    print("admitted     not found here: " + why)
    if SET is None or real is None or UNORDERED:
        return False
    # Then what is stated must do: that it holds the real value is seen here.
    if isinstance(real, Range):
        holds = belongs(Range(type.near(real.lo), type.near(real.hi), real.nan, real.zero) if real.lo is not None else real, stated(type), SET_NAN) if real.lo is None or type.near(real.lo) == type.near(real.hi) else False
    else:
        holds = belongs(real, stated(type), SET_NAN)
    print("             Ulpian's set " + ("holds the real value, rounded" if holds else "does not hold the real value, rounded"))
    return holds


def run():
    sys.setrecursionlimit(1000000)
    threading.stack_size(512 << 20)
    status = []
    thread = threading.Thread(target=lambda: status.append(explain()))
    thread.start()
    thread.join()
    sys.stdout.flush()
    sys.exit(status[0] if status else 2)
