//! Each method of a room's door, on the same inputs in each room: for machines that cannot run the suite, and for counting
//! what a method costs there.

use crate::backend::{PLACES, Room, rooms, wipe};
use crate::fips204::params::{GAMMA2_32, GAMMA2_88, HALF_Q, Q};
use crate::fips204::ring::{Ball, NttPoly, Poly, Small};
use crate::hazmat::UnknownRoom;
use crate::keccak::{States, Width};

/// A method: its name, and what calls it.
pub type Method = (&'static str, fn(&mut Exam));

/// A room, inputs and outputs. Two of them are equal if what their rooms computed is.
#[allow(missing_debug_implementations, reason = "for comparing alone")]
pub struct Exam {
    room: Room,
    a: [NttPoly; 8],
    b: [NttPoly; 8],
    out: Poly,
    more: Poly,
    places: [i32; PLACES],
    bytes: [u8; 1008],
    small: Small,
    ball: Ball,
    lone: States<1>,
    four: States<4>,
    /// A board has no memory for it.
    #[cfg(target_pointer_width = "64")]
    eight: States<8>,
    answer: usize,
}

/// Kinds of input: edges, then random ones.
pub const EDGES: u32 = 6;

impl Exam {
    /// Inputs of a kind, for a room: below [`EDGES`] one value everywhere, or two in turn; random ones from there on.
    /// Errors: `UnknownRoom` if this build has none of that name.
    pub fn new(room: &str, kind: u32) -> Result<Self, UnknownRoom> {
        let room = rooms().find(|there| there.name() == room).ok_or(UnknownRoom)?;
        let mut exam = Exam {
            room,
            a: [const { NttPoly::ZERO }; 8],
            b: [const { NttPoly::ZERO }; 8],
            out: Poly::ZERO,
            more: Poly::ZERO,
            places: [0; _],
            bytes: [0; _],
            small: Small::ZERO,
            ball: Ball::new(room, &Poly::ZERO),
            lone: States([[0; 1]; 25]),
            four: States([[0; 4]; 25]),
            #[cfg(target_pointer_width = "64")]
            eight: States([[0; 8]; 25]),
            answer: 0,
        };
        exam.fill(kind);
        Ok(exam)
    }

    fn fill(&mut self, kind: u32) {
        // Marsaglia's xorshift: any numbers will do.
        let mut state = 0x9e37_79b9_7f4a_7c15 ^ u64::from(kind);
        let mut number = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state >> 16
        };
        let coeff = |n: u64, i: usize| match kind {
            0 => 0,
            1 => Q - 1,
            2 => HALF_Q,
            3 => HALF_Q + 1,
            4 => (Q - 1) * (i & 1) as i32,
            5 => 1,
            _ => (((n & 0xff_ffff) * Q as u64) >> 24) as i32,
        };
        for poly in self.a.iter_mut().chain(&mut self.b) {
            for (i, x) in poly.0.iter_mut().enumerate() {
                *x = coeff(number(), i);
            }
        }
        for poly in [&mut self.out, &mut self.more] {
            for (i, x) in poly.0.iter_mut().enumerate() {
                *x = coeff(number(), i);
            }
        }
        let byte = |n: u64| match kind {
            0 => 0,
            1 => 0xff,
            _ => n as u8,
        };
        for at in &mut self.bytes {
            *at = byte(number());
        }
        let mut s = Poly::ZERO;
        for x in &mut s.0 {
            let small = match kind {
                0..3 => 2 * kind as i32 - 2,
                _ => (((number() & 0xff) as i32 * 5) >> 8) - 2,
            };
            *x = small + (Q & (small >> 31));
        }
        self.small.take(&s.0, 2);
        let mut c = Poly::ZERO;
        for _ in 0..39 {
            c.0[number() as usize & 255] = if number() & 1 == 0 { 1 } else { Q - 1 };
        }
        self.ball = Ball::new(self.room, &c);
        self.lone.0.iter_mut().flatten().chain(self.four.0.iter_mut().flatten()).for_each(|word| {
            let n = number();
            *word = if kind == 0 { 0 } else { (n << 16) ^ n };
        });
        #[cfg(target_pointer_width = "64")]
        self.eight.0.iter_mut().flatten().for_each(|word| *word = number());
    }
}

impl PartialEq for Exam {
    fn eq(&self, other: &Self) -> bool {
        let polys = |exam: &Self, other: &Self| exam.iter().eq(other.iter());
        polys(self, other)
            && self.places[..self.filled()] == other.places[..other.filled()]
            && self.bytes == other.bytes
            && self.lone.0 == other.lone.0
            && self.four.0 == other.four.0
            && self.eights() == other.eights()
            && self.answer == other.answer
    }
}

impl Exam {
    fn iter(&self) -> impl Iterator<Item = &i32> {
        self.out.0.iter().chain(&self.more.0).chain(self.a.iter().chain(&self.b).flat_map(|poly| &poly.0))
    }

    #[cfg(target_pointer_width = "64")]
    fn eights(&self) -> &[[u64; 8]] {
        &self.eight.0
    }

    #[cfg(not(target_pointer_width = "64"))]
    fn eights(&self) -> &[[u64; 8]] {
        &[]
    }

    /// Places that have a meaning; what lies beyond may differ.
    fn filled(&self) -> usize {
        self.answer.min(256)
    }
}

/// All of them. What has a length or a width stands here once for each that is used.
pub const METHODS: &[Method] = &[
    ("keccak_x1", |e| e.lone.permute(e.room)),
    ("keccak_x4", |e| e.four.permute(e.room)),
    #[cfg(target_pointer_width = "64")]
    ("keccak_x8", |e| e.eight.permute(e.room)),
    ("read 168", |e| e.lone.read(e.room, [&mut e.bytes[..168]])),
    ("ntt", |e| e.room.ntt(&mut e.out.0)),
    ("inv_ntt", |e| e.room.inv_ntt(&mut e.out.0)),
    ("dot 1", |e| e.room.dot(&e.a[..1], &e.b[..1], None, &mut e.out.0)),
    ("dot 4", |e| e.room.dot(&e.a[..4], &e.b[..4], None, &mut e.out.0)),
    ("dot 8", |e| e.room.dot(&e.a, &e.b, None, &mut e.out.0)),
    ("dot 7 and one", |e| e.room.dot(&e.a[..7], &e.b[..7], Some((&e.a[7], &e.b[7])), &mut e.out.0)),
    ("add_times_ball", |e| e.answer = e.room.add_times_ball(&e.ball, &e.small, 1 << 16, &mut e.out.0).into()),
    ("add", |e| e.room.add(&mut e.out.0, &e.more.0)),
    ("sub", |e| e.room.sub(&mut e.out.0, &e.more.0)),
    ("power2round", |e| e.room.power2round(&e.a[0].0, &mut e.out.0, &mut e.more.0)),
    ("decompose 88", |e| e.room.decompose(GAMMA2_88, &e.a[0].0, &mut e.out.0, &mut e.more.0)),
    ("decompose 32", |e| e.room.decompose(GAMMA2_32, &e.a[0].0, &mut e.out.0, &mut e.more.0)),
    ("recompose 32", |e| {
        e.more.0 = e.a[0].0.map(|x| x & 15);
        e.room.recompose(GAMMA2_32, &e.more.0, &mut e.out.0)
    }),
    ("make_hint 88", |e| e.answer = e.room.make_hint(GAMMA2_88, &e.a[0].0, &e.b[0].0, &mut e.out.0) as usize),
    ("make_hint 32", |e| e.answer = e.room.make_hint(GAMMA2_32, &e.a[0].0, &e.b[0].0, &mut e.out.0) as usize),
    ("use_hint 88", |e| {
        e.out.0 = e.a[0].0.map(|x| x | (x & 1) << 31);
        e.room.use_hint(GAMMA2_88, &mut e.out.0)
    }),
    ("use_hint 32", |e| {
        e.out.0 = e.a[0].0.map(|x| x | (x & 1) << 31);
        e.room.use_hint(GAMMA2_32, &mut e.out.0)
    }),
    ("places", |e| e.answer = e.room.places(&e.a[0].0, &mut e.places)),
    ("norm_below", |e| e.answer = e.room.norm_below(&e.a[0].0, 1 << 17).into()),
    ("simple_bit_pack 4", |e| {
        e.out.0 = e.a[0].0.map(|x| x & 15);
        e.room.simple_bit_pack(4, &e.out.0, &mut e.bytes[..128])
    }),
    ("simple_bit_pack 6", |e| {
        e.out.0 = e.a[0].0.map(|x| x & 63);
        e.room.simple_bit_pack(6, &e.out.0, &mut e.bytes[..192])
    }),
    ("simple_bit_pack 10", |e| {
        e.out.0 = e.a[0].0.map(|x| x & 1023);
        e.room.simple_bit_pack(10, &e.out.0, &mut e.bytes[..320])
    }),
    ("bit_pack 3", |e| e.pack(3, 2)),
    ("bit_pack 4", |e| e.pack(4, 4)),
    ("bit_pack 13", |e| e.pack(13, 1 << 12)),
    ("bit_pack 18", |e| e.pack(18, 1 << 17)),
    ("bit_pack 20", |e| e.pack(20, 1 << 19)),
    ("simple_bit_unpack 4", |e| e.room.simple_bit_unpack(4, &e.bytes[..128], &mut e.out.0)),
    ("simple_bit_unpack 6", |e| e.room.simple_bit_unpack(6, &e.bytes[..192], &mut e.out.0)),
    ("simple_bit_unpack 10", |e| e.room.simple_bit_unpack(10, &e.bytes[..320], &mut e.out.0)),
    ("bit_unpack 3", |e| e.room.bit_unpack(3, 2, &e.bytes[..96], &mut e.out.0)),
    ("bit_unpack 4", |e| e.room.bit_unpack(4, 4, &e.bytes[..128], &mut e.out.0)),
    ("bit_unpack 13", |e| e.room.bit_unpack(13, 1 << 12, &e.bytes[..416], &mut e.out.0)),
    ("bit_unpack 18", |e| e.room.bit_unpack(18, 1 << 17, &e.bytes[..576], &mut e.out.0)),
    ("bit_unpack 20", |e| e.room.bit_unpack(20, 1 << 19, &e.bytes[..640], &mut e.out.0)),
    ("reject_uniform", |e| e.reject(|room, bytes, out, at| room.reject_uniform(&bytes[..840], out, at), 0)),
    ("reject_uniform one block", |e| {
        e.reject(|room, bytes, out, at| room.reject_uniform(&bytes[..168], out, at), 249)
    }),
    ("reject_bounded 2", |e| {
        e.reject(|room, bytes, out, at| room.reject_bounded(2, &bytes[..136], out, at), 0)
    }),
    ("reject_bounded 4", |e| {
        e.reject(|room, bytes, out, at| room.reject_bounded(4, &bytes[..136], out, at), 101)
    }),
    ("wipe", |e| wipe(&mut e.out.0)),
];

impl Exam {
    /// Coefficients b - x for x in [0, 2^bits), from the bits of `a`.
    fn pack(&mut self, bits: u32, b: i32) {
        for (out, x) in self.out.0.iter_mut().zip(&self.a[0].0) {
            let x = b - (x & ((1 << bits) - 1));
            *out = x + (Q & (x >> 31));
        }
        self.room.bit_pack(bits, b, &self.out.0, &mut self.bytes[..32 * bits as usize]);
    }

    /// Samples from `at` on; what lies behind the last one may differ and is made equal.
    fn reject(&mut self, sample: fn(Room, &[u8], &mut [i32; 256], usize) -> usize, at: usize) {
        self.answer = sample(self.room, &self.bytes, &mut self.out.0, at);
        self.out.0[self.answer..].fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::{EDGES, Exam, METHODS, rooms};

    /// What the board is asked, asked here.
    #[test]
    fn each_method_answers_alike_in_each_room() {
        for (name, method) in METHODS {
            for kind in 0..EDGES + 4 {
                let exams = rooms().map(|room| {
                    let mut exam = Exam::new(room.name(), kind).expect("a room of this build");
                    method(&mut exam);
                    (room.name(), exam)
                });
                let exams: std::vec::Vec<_> = exams.collect();
                assert!(exams.iter().all(|(_, exam)| *exam == exams[0].1), "{name}, kind {kind}");
            }
        }
    }

    #[test]
    fn another_answer_is_noticed() {
        let mut exams = [6, 6].map(|kind| Exam::new("portable", kind).expect("every build has it"));
        assert!(exams[0] == exams[1]);
        exams[0].out.0[255] ^= 1;
        assert!(exams[0] != exams[1]);
    }
}
