"""The lemmas. Each is a function of its constants that yields claims about bit vectors (or integers), true for every
value of their variables; where a claim leaves a product out it says so by a free variable, which proves more. The
controls are the same lemma with one constant changed: they must be refuted, or the lemma says nothing."""

from z3 import (And, BitVec, BitVecVal, Concat, Extract, If, Implies, Int, LShR, Or, SignExt, UDiv, ULE,
                ULT, URem, ZeroExt)

Q = 8380417
QINV = 58728449
HALF_Q = (Q - 1) // 2
G88, G32 = (Q - 1) // 88, (Q - 1) // 32
LEMMAS = []


def lemma(what, where, controls, text, **constants):
    """Registers a lemma: what it says, which code it is about (files of crates/mldsa/src, then names), a text that stands
    in each of these files while the code is as the lemma has it, its constants, and the changes that must refute it."""

    def register(claims):
        LEMMAS.append((claims.__name__, what, where, text, claims, constants, controls))
        return claims

    return register


def word(name):
    return BitVec(name, 32)


def wide(name):
    return BitVec(name, 64)


def low(x):
    return Extract(31, 0, x)


def high(x):
    return Extract(63, 32, x)


def signed(x):
    return SignExt(32, x)


def unsigned(x):
    return ZeroExt(32, x)


def mask(x):
    """The sign of a word in all its bits."""
    return x >> 31


def canonical(x, q):
    return x + (mask(x) & q)


def between(a, x, b):
    return And(a <= x, x < b)


@lemma("m·q has the low half of x, for m = x·q^-1 mod 2^32", "kernels/mod.rs: QINV", [{"qinv": QINV + 2}],
       "assert!(QINV.wrapping_mul(Q) == 1)", qinv=QINV)
def q_inverse(c):
    x = word("x")
    yield x * c.qinv * Q == x


@lemma("Montgomery reduction by high halves: 0 <= x < 2^31·q gives r·2^32 = x - m·q and |r| < q",
       "backend/portable.rs: mont_reduce", [{"qinv": QINV + 2}, {"bits": 34}],
       "(x >> 32) as i32 - ((u64::from(m) * Q as u64) >> 32) as i32", qinv=QINV, bits=31)
def mont_reduce_of_one_lane(c):
    x, p = wide("x"), wide("p")
    m = low(x) * c.qinv
    yield low(unsigned(m) * Q) == low(x)
    # p is m·q: all that matters is its low half, and that it is below 2^32·q.
    r = high(x) - high(p)
    known = And(ULT(x, BitVecVal(Q << c.bits, 64)), ULT(p, Q << 32), low(p) == low(x))
    yield Implies(known, And(signed(r) << 32 == x - p, -Q < r, r < Q))


@lemma("Montgomery reduction by one 64-bit difference, m signed: 0 <= x < 2^31·q gives r·2^32 = x - m·q and |r| < q",
       "backend/avx2.rs, backend/avx512.rs: mont_reduce", [{"qinv": QINV + 2}, {"bits": 33}],
       "_epi64(x, mul_even(m, q))", qinv=QINV, bits=31)
def mont_reduce_of_vectors(c):
    x, t = wide("x"), wide("t")
    yield low(signed(low(x) * c.qinv) * Q) == low(x)
    yield multiple_of_q()
    # t is m·q.
    known = And(ULT(x, BitVecVal(Q << c.bits, 64)), between(-Q << 31, t, Q << 31), low(t) == low(x))
    yield Implies(known, fits(x - t))


def multiple_of_q():
    """The range of m·q for a signed word m."""
    m = word("m")
    return between(-Q << 31, signed(m) * Q, Q << 31)


def fits(difference):
    """A difference whose low half is nothing, and whose high half r has |r| < q."""
    r = high(difference)
    return And(low(difference) == 0, signed(r) << 32 == difference, -Q < r, r < Q)


@lemma("product with a zeta, |a| <= 256q made positive by 256q: r·2^32 = (a + 256q)·zeta - m·q and |r| < q",
       "backend/portable.rs: mont_mul", [{"offset": 255}, {"qinv": QINV + 2}, {"factor": 513}],
       "((u64::from(a) * u64::from(zeta as u32)) >> 32) as i32 - ((u64::from(m) * Q as u64) >> 32) as i32",
       offset=256, factor=512, qinv=QINV)
def mont_mul_of_one_lane(c):
    a, zeta = word("a"), word("zeta")
    positive = a + c.offset * Q
    yield Implies(And(-256 * Q <= a, a <= 256 * Q), And(ULE(positive, 512 * Q), unsigned(positive) == signed(a) + 256 * Q))
    yield positive * (zeta * c.qinv) * Q == positive * zeta
    # The product of integers up to factor·q and q - 1 is below 2^32·q.
    x, y = Int("x"), Int("y")
    yield Implies(And(0 <= x, x <= c.factor * Q, 0 <= y, y < Q, x * y <= c.factor * Q * y), x * y < Q << 32)
    p, t = wide("p"), wide("t")  # the product, and m·q
    r = high(p) - high(t)
    known = And(ULT(p, Q << 32), ULT(t, Q << 32), low(p) == low(t))
    yield Implies(known, And(signed(r) << 32 == p - t, -Q < r, r < Q))


@lemma("product with a zeta, signed, |a| <= 256q: r·2^32 = a·zeta - m·q and |r| < q",
       "backend/avx2.rs, backend/avx512.rs: mont_mul", [{"qinv": QINV + 2}, {"factor": 258}],
       "_mul_epi32(a, zeta), mul_even(m, q)))", factor=256, qinv=QINV)
def mont_mul_of_vectors(c):
    a, zeta, p, t = word("a"), word("zeta"), wide("p"), wide("t")
    yield a * (zeta * c.qinv) * Q == a * zeta
    x, y = Int("x"), Int("y")
    bound = c.factor * Q * (Q - 1)
    scaled = And(-c.factor * Q * y <= x * y, x * y <= c.factor * Q * y)
    yield Implies(And(0 <= y, y < Q, scaled), And(-bound <= x * y, x * y <= bound))
    yield multiple_of_q()
    # p is the product, t is m·q.
    known = And(-bound <= p, p <= bound, between(-Q << 31, t, Q << 31), low(t) == low(p))
    yield Implies(known, fits(p - t))


@lemma("even and odd lanes apart, products of the low dwords, and the high halves put together: each lane is the scalar",
       "backend/avx2.rs, backend/avx512.rs: mont_mul, mul_even, odd, high", [{"shift": 31}, {"pairs": True}],
       "odd: mul(odd(self.0), of_odd(zeta.0), of_odd(quotient.0))",
       shift=32, pairs=False)
def even_and_odd_lanes(c):
    def product(a, b):  # vpmuldq on one 64-bit lane
        return signed(low(a)) * signed(low(b))

    def scalar(a, zeta, quotient):
        m = low(product(unsigned(a), unsigned(quotient)))
        return high(product(unsigned(a), unsigned(zeta)) - product(unsigned(m), wide_of(Q)))

    def one(a, zeta, quotient):
        return product(a, zeta) - product(product(a, quotient), wide_of(Q))

    for in_pairs in (False, True):
        (a0, a1), (z0, z1), (q0, q1) = [(word(f"{name}0"), word(f"{name}1")) for name in ("a", "zeta", "quotient")]
        if in_pairs:
            z1, q1 = z0, q0
        a, zeta, quotient = Concat(a1, a0), Concat(z1, z0), Concat(q1, q0)
        odd = (lambda x: x) if in_pairs or c.pairs else (lambda x: LShR(x, c.shift))
        yield high(one(a, zeta, quotient)) == scalar(a0, z0, q0)
        yield high(one(LShR(a, c.shift), odd(zeta), odd(quotient))) == scalar(a1, z1, q1)


def wide_of(x):
    return BitVecVal(x, 64)


@lemma("the lower of x and x + q as unsigned numbers is the canonical one, for -q <= x < q",
       "backend/avx2.rs, backend/avx512.rs: add_q_if_negative", [{"q": Q - 1}, {"least": -Q - 1}],
       "_min_epu32(self.0, _mm", q=Q, least=-Q)
def canonical_by_unsigned_minimum(c):
    x = word("x")
    y = If(ULT(x, x + c.q), x, x + c.q)
    yield Implies(between(c.least, x, Q), And(between(0, y, Q), Or(y == x, y == x + Q)))


@lemma("x plus q under the mask of its sign is the canonical one, for -q <= x < q",
       "backend/mod.rs: add_q_if_negative", [{"q": Q - 1}, {"least": -Q - 1}],
       "self + (self.sar::<31>() & q)", q=Q, least=-Q)
def canonical_by_sign(c):
    x = word("x")
    y = canonical(x, c.q)
    yield Implies(between(c.least, x, Q), And(between(0, y, Q), Or(y == x, y == x + Q)))


@lemma("x - ⌊x / 2^23⌉·q is in [-q, q) for |x| < 9q, and congruent to x: what is added is canonical",
       "kernels/ntt.rs: last_layers", [{"half": 1 << 24}, {"q": Q + 1}, {"shift": 22}],
       "(x - (x + half).sar::<23>().mul_low(q)).add_q_if_negative(q)", half=1 << 22, shift=23, q=Q)
def end_of_the_transform(c):
    x = word("x")
    y = x - ((x + c.half) >> c.shift) * c.q
    answer = canonical(y, Q)
    known = And(-9 * Q < x, x < 9 * Q)
    yield Implies(known, And(between(-Q, y, Q), between(0, answer, Q)))
    yield Implies(known, Or(*[answer == x - k * Q for k in range(-9, 10)]))


@lemma("r = r1·2^13 + r0 with -2^12 < r0 <= 2^12 and r1 < 2^10", "kernels/round.rs: power2round",
       [{"round": 4096}, {"round": 4094}],
       "(a + round).sar::<D>()", round=4095)
def power2round(c):
    r = word("r")
    r1 = (r + c.round) >> 13
    r0 = r - (r1 << 13)
    stored = canonical(r0, Q)
    known = between(0, r, Q)
    yield Implies(known, And(-4096 < r0, r0 <= 4096, between(0, r1, 1 << 10)))
    yield Implies(known, And(between(0, stored, Q), Or(stored == r0, stored == r0 + Q)))


def standard_decompose(gamma2, r):
    """Algorithm 36 as it stands: r mod± 2γ2, and the case of q - 1."""
    rest = URem(r, 2 * gamma2)
    r0 = If(rest > gamma2, rest - 2 * gamma2, rest)
    wraps = r - r0 == Q - 1
    return If(wraps, 0, UDiv(r - r0, BitVecVal(2 * gamma2, 32))), If(wraps, r0 - 1, r0)


def split(gamma2, c, r):
    """`split`, step by step."""
    up = (r + c.up) >> 7
    r1 = (up * c.times + (1 << (c.shift - 1))) >> c.shift
    r1 = r1 & 15 if gamma2 == G32 else r1 & (((r1 + c.twenty) >> 6) - 1)
    r0 = r - r1 * (2 * gamma2)
    return r1, r0 - (mask(HALF_Q - r0) & Q)


def decomposes(gamma2, c):
    r = word("r")
    r1, r0 = split(gamma2, c, r)
    high_bits, low_bits = standard_decompose(gamma2, r)
    yield Implies(between(0, r, Q), And(r1 == high_bits, r0 == low_bits))


@lemma("multiplication and shift are the division, for all r; γ2 = (q-1)/32", "kernels/round.rs: split",
       [{"times": 1024}, {"up": 128}, {"shift": 21}],
       "(up.mul_low(V::splat(room, 1025)) + V::splat(room, 1 << 21)).sar::<22>()", up=127, times=1025, shift=22)
def decompose_32(c):
    return decomposes(G32, c)


@lemma("multiplication and shift are the division, for all r; γ2 = (q-1)/88", "kernels/round.rs: split",
       [{"times": 11274}, {"times": 11276}, {"up": 128}, {"twenty": 21}],
       "(up.mul_low(V::splat(room, 11275)) + V::splat(room, 1 << 23)).sar::<24>()", up=127, times=11275, shift=24,
       twenty=20)
def decompose_88(c):
    return decomposes(G88, c)


@lemma("44 stands for 0, by a mask without a comparison", "kernels/round.rs: split", [{"twenty": 19}, {"shift": 5}],
       "r1 & ((r1 + V::splat(room, 20)).sar::<6>() - V::splat(room, 1))", twenty=20, shift=6)
def mask_of_44(c):
    r1 = word("r1")
    masked = r1 & (((r1 + c.twenty) >> c.shift) - 1)
    yield Implies(between(0, r1, 45), masked == If(r1 == 44, BitVecVal(0, 32), r1))


@lemma("the comparison of a number mod± q with a bound from both ends", "kernels/norm.rs: Norm", [{"less": 1}, {"more": 1}],
       "self.so_far = self.so_far & ((a - self.bound) | (self.upper - a));", less=0, more=0)
def norm(c):
    a, bound, so_far = word("a"), word("bound"), word("so_far")
    now = so_far & ((a - (bound - c.less)) | (Q - bound + c.more - a))
    known = And(between(0, a, Q), 0 < bound, bound <= HALF_Q // 4)
    absolute = If(a > HALF_Q, Q - a, a)
    yield Implies(known, (now < 0) == And(so_far < 0, absolute < bound))


def uses_hint(gamma2, c):
    r, h = word("r"), word("h")
    m = (Q - 1) // (2 * gamma2)
    step = (((r + c.up) >> 7) * c.times + ((1 << c.shift) - c.less)) >> c.shift
    aside = step - (step ^ c.one)
    moved = (step + (aside & h)) >> 1
    if gamma2 == G32:
        moved = moved & 15
    else:
        moved = moved + (mask(moved) & m) - m
        moved = moved + (mask(moved) & m)
    high, low_bits = standard_decompose(gamma2, r)
    raised = If(high == m - 1, BitVecVal(0, 32), high + 1)
    lowered = If(high == 0, BitVecVal(m - 1, 32), high - 1)
    expected = If(h == 0, high, If(low_bits > 0, raised, lowered))
    yield Implies(And(between(0, r, Q), Or(h == 0, h == -1)), moved == expected)


MOVED = ("    let step = steps::<V, G>(room, r);\n"
         "    let aside = step - (step ^ V::splat(room, 1)); // 1 where it is odd, -1 where it is even\n"
         "    let moved = (step + (aside & h)).sar::<1>(); // in -1..=m\n"
         "    if G == GAMMA2_32 {\n"
         "        return moved & V::splat(room, 15);\n"
         "    }\n"
         "    let m = V::splat(room, 44);\n"
         "    (moved.add_q_if_negative(m) - m).add_q_if_negative(m)")


@lemma("UseHint of all r, in steps of γ2 rounded up; γ2 = (q-1)/32", "kernels/round.rs: moved, steps",
       [{"less": 0}, {"times": 1024}, {"one": 2}], MOVED, up=127, times=1025, shift=21, less=1, one=1)
def use_hint_32(c):
    return uses_hint(G32, c)


@lemma("UseHint of all r, in steps of γ2 rounded up; γ2 = (q-1)/88", "kernels/round.rs: moved, steps",
       [{"less": 0}, {"times": 11274}, {"one": 2}], MOVED, up=127, times=11275, shift=23, less=1, one=1)
def use_hint_88(c):
    return uses_hint(G88, c)


@lemma("the rounding of the steps", "kernels/round.rs: steps", [{"shift": 20}],
       "    if G == GAMMA2_32 {\n"
       "        (up.mul_low(V::splat(room, 1025)) + V::splat(room, (1 << 21) - 1)).sar::<21>()\n"
       "    } else {\n"
       "        (up.mul_low(V::splat(room, 11275)) + V::splat(room, (1 << 23) - 1)).sar::<23>()\n"
       "    }", shift=21)
def steps(c):
    r = word("r")
    step = (((r + 127) >> 7) * 1025 + ((1 << c.shift) - 1)) >> c.shift
    yield Implies(between(0, r, Q), step == UDiv(r + (G32 - 1), BitVecVal(G32, 32)))


@lemma("the hint is 1 exactly where the high bits differ", "kernels/round.rs: differ", [{"shift": 5}, {"one": 3}],
       "(V::splat(room, 0) - differ).sar::<31>() & V::splat(room, 1)",
       shift=31, one=1)
def make_hint(c):
    a, b = word("a"), word("b")
    hint = ((0 - (a ^ b)) >> c.shift) & c.one
    yield Implies(And(between(0, a, 44), between(0, b, 44)), hint == If(a == b, BitVecVal(0, 32), BitVecVal(1, 32)))


@lemma("b - 5·⌊205·b / 2^10⌋ = b mod 5 for half a byte", "kernels/reject.rs: coeff_from_half_byte",
       [{"times": 203}, {"shift": 9}],
       "b.mul_low(V::splat(room, 205)).sar::<10>()", times=205, shift=10)
def half_byte(c):
    b = word("b")
    fifth = (b * c.times) >> c.shift
    yield Implies(between(0, b, 16), b - (fifth << 2) - fifth == URem(b, BitVecVal(5, 32)))


@lemma("eight numbers in 128-bit words are the string of their bits (all widths), and come back",
       "kernels/pack.rs: pack_eight, unpack_eight", [{"gap": 1}, {"half": 3}],
       "u128::from(x as u32) << (BITS * i as u32)", gap=0, half=4)
def packing(c):
    for bits in (3, 4, 6, 10, 13, 18, 20):
        numbers = [BitVec(f"n{i}", 128) for i in range(8)]
        known = And(*[ULT(n, 1 << bits) for n in numbers])
        words = [0, 0]
        for i, n in enumerate(numbers):
            words[i // 4] = words[i // 4] | n << (bits + c.gap) * (i % 4)
        if bits <= 16:
            packed = Extract(8 * bits - 1, 0, words[0] | words[1] << c.half * bits)
        else:
            packed = Concat(Extract(4 * bits - 1, 0, words[1]), Extract(4 * bits - 1, 0, words[0]))
        string = Concat(*[Extract(bits - 1, 0, n) for n in reversed(numbers)])
        yield Implies(known, packed == string)


@lemma("four bytes from a number's first byte on, shifted and masked, are the number (all widths)",
       "backend/avx2.rs, backend/avx512.rs: unpack", [{"shift": 6}, {"bytes": 1}],
       "_srlv_epi32(fours, _mm", shift=7, bytes=4)
def unpacking(c):
    for bits in (3, 4, 10, 13, 18, 20, 24):
        string = BitVec("string", 8 * bits + 32)  # what lies behind the last byte is masked away
        for j in range(8):
            bit = j * bits
            four = ZeroExt(32 - 8 * c.bytes, Extract(8 * (bit >> 3) + 8 * c.bytes - 1, 8 * (bit >> 3), string))
            number = LShR(four, bit & c.shift) & ((1 << bits) - 1)
            yield number == ZeroExt(32 - bits, Extract(bit + bits - 1, bit, string))
