//! The numbers of FIPS 204, Tables 1 and 2, written down a second time: the tests must not learn the lengths
//! from the engine they examine.

use sealstone_mldsa::Level;

/// q = 2^23 - 2^13 + 1.
pub const Q: i32 = 8_380_417;

/// One column of Tables 1 and 2.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub name: &'static str,
    pub k: usize,
    pub l: usize,
    pub eta: i32,
    pub tau: usize,
    pub beta: i32,
    pub gamma1: i32,
    pub gamma2: i32,
    pub omega: usize,
    /// λ/4, the length of the commitment hash.
    pub c_tilde: usize,
    pub public_key: usize,
    pub private_key: usize,
    pub signature: usize,
}

pub const ML_DSA_44: Shape = Shape {
    name: "ML-DSA-44",
    k: 4,
    l: 4,
    eta: 2,
    tau: 39,
    beta: 78,
    gamma1: 1 << 17,
    gamma2: (Q - 1) / 88,
    omega: 80,
    c_tilde: 32,
    public_key: 1312,
    private_key: 2560,
    signature: 2420,
};

pub const ML_DSA_65: Shape = Shape {
    name: "ML-DSA-65",
    k: 6,
    l: 5,
    eta: 4,
    tau: 49,
    beta: 196,
    gamma1: 1 << 19,
    gamma2: (Q - 1) / 32,
    omega: 55,
    c_tilde: 48,
    public_key: 1952,
    private_key: 4032,
    signature: 3309,
};

pub const ML_DSA_87: Shape = Shape {
    name: "ML-DSA-87",
    k: 8,
    l: 7,
    eta: 2,
    tau: 60,
    beta: 120,
    gamma1: 1 << 19,
    gamma2: (Q - 1) / 32,
    omega: 75,
    c_tilde: 64,
    public_key: 2592,
    private_key: 4896,
    signature: 4627,
};

/// The three levels, smallest first.
pub const LEVELS: [Level; 3] = [Level::MlDsa44, Level::MlDsa65, Level::MlDsa87];

/// The column of a level.
pub fn shape(level: Level) -> Shape {
    match level {
        Level::MlDsa44 => ML_DSA_44,
        Level::MlDsa65 => ML_DSA_65,
        Level::MlDsa87 => ML_DSA_87,
    }
}

/// The level of a name as the standard writes it.
pub fn level_named(name: &str) -> Result<Level, String> {
    LEVELS
        .into_iter()
        .find(|&level| shape(level).name == name)
        .ok_or_else(|| format!("unknown parameter set {name:?}"))
}

/// The level whose signatures have this length.
pub fn level_signing(signature_len: usize) -> Result<Level, String> {
    LEVELS
        .into_iter()
        .find(|&level| shape(level).signature == signature_len)
        .ok_or_else(|| format!("no parameter set has signatures of {signature_len} bytes"))
}
