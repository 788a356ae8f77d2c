//! Figures that others published, or that their published code gave in the same emulator.

/// A figure, and whose it is.
pub(crate) type Published = (&'static str, f64);

/// pqm4's fast assembly (`m4f`) in QEMU: instructions of key generation, of one attempt at signing, of verification.
/// Compiled by gcc 12.2 with -O3, counted as ours is.
const M4F_INSTRUCTIONS: [[f64; 3]; 3] = [
    [1_277_000.0, 1_591_000.0, 1_263_000.0],
    [2_258_000.0, 2_574_000.0, 2_154_000.0],
    [3_846_000.0, 4_328_000.0, 3_751_000.0],
];

/// The same on silicon: cycles of key generation, signing (mean of 1000), verification. pqm4, benchmarks.csv of 2025-05-22:
/// NUCLEO-L4R5ZI at 24 MHz, without wait states.
const M4F_CYCLES: [[f64; 3]; 3] = [
    [1_426_025.0, 3_943_121.0, 1_421_623.0],
    [2_516_006.0, 6_193_171.0, 2_415_944.0],
    [4_275_859.0, 7_947_380.0, 4_193_104.0],
];

/// pqm4's stack in bytes: key generation, signing, verification, of `m4f` and of `m4fstack`.
const M4F_STACK: [[f64; 3]; 3] =
    [[38_296.0, 44_816.0, 8_912.0], [60_824.0, 68_872.0, 9_888.0], [97_688.0, 107_892.0, 12_060.0]];
const M4FSTACK_STACK: [[f64; 3]; 3] =
    [[4_408.0, 5_080.0, 2_712.0], [4_408.0, 6_616.0, 2_712.0], [4_408.0, 8_144.0, 2_720.0]];

/// pqm4's low-memory code (`m4fstack`) in QEMU, counted in the same way, and its cycles on silicon.
const M4FSTACK_INSTRUCTIONS: [[f64; 3]; 3] = [
    [1_609_000.0, 3_057_000.0, 2_502_000.0],
    [3_054_000.0, 5_208_000.0, 4_429_000.0],
    [5_217_000.0, 8_649_000.0, 7_675_000.0],
];
const M4FSTACK_CYCLES: [[f64; 3]; 3] = [
    [1_799_062.0, 12_134_284.0, 3_242_333.0],
    [3_412_622.0, 24_421_526.0, 5_732_397.0],
    [5_820_537.0, 33_357_899.0, 9_911_514.0],
];

/// pqm4's `.text` of one level, `m4f` and `m4fstack`, without the board's.
const M4F_FLASH: [f64; 3] = [19_592.0, 19_328.0, 19_500.0];
const M4FSTACK_FLASH: [f64; 3] = [24_844.0, 24_120.0, 24_516.0];

/// micro-ecc (newest version, P-256, gcc -O3) in the same emulator: instructions of key generation, signing, verification.
/// And what the paper has for it: cycles.
const MICRO_ECC: [f64; 3] = [3.67e6, 4.20e6, 4.6e6];
const PAPER_ECDSA: [f64; 3] = [0.252e6, 1.54e6, 2.69e6];

/// Xiang and Li, "ML-DSA Digital Signatures in Resource-Constrained MQTT Environments", STM32F407 at 168 MHz. Tables 4, 5 (50
/// bytes) and 6: cycles. Table 8: stack of signing, and RAM in all. Table 7: flash.
const PAPER_CYCLES: [[f64; 3]; 3] =
    [[25.368e6, 111.384e6, 70.56e6], [41.832e6, 143.304e6, 89.544e6], [59.976e6, 190.848e6, 119.28e6]];
const PAPER_STACK: [f64; 3] = [6_400.0, 8_700.0, 11_200.0];
const PAPER_RAM: [f64; 3] = [22_700.0, 32_800.0, 43_100.0];
const PAPER_FLASH: [f64; 4] = [37_200.0, 54_800.0, 73_900.0, 112_700.0];

/// What was published for a row, by the parts of its name.
pub(crate) fn of(parts: &[&str]) -> Vec<Published> {
    let place = |level: &str| ["44", "65", "87", "all"].iter().position(|known| *known == level);
    let Some(level) = parts.last().and_then(|level| place(level)) else { return Vec::new() };
    let [group, operation, _] = parts[..] else {
        let mut flash = vec![("paper", PAPER_FLASH[level])];
        for (name, bytes) in [("m4f", M4F_FLASH), ("m4fstack", M4FSTACK_FLASH)] {
            flash.extend(bytes.get(level).map(|bytes| (name, *bytes)));
        }
        return flash;
    };
    if ["expanded", "expand", "decode"]
        .iter()
        .any(|own| operation.ends_with(own) || operation.starts_with(own))
    {
        return Vec::new();
    }
    let kind = ["keygen", "sign", "verify"].iter().position(|kind| operation.starts_with(kind));
    let small = operation.ends_with("small");
    let (name, cycles_name, instructions, cycles) = if small {
        ("m4fstack", "m4fstack-cycles", M4FSTACK_INSTRUCTIONS, M4FSTACK_CYCLES)
    } else {
        ("m4f", "m4f-cycles", M4F_INSTRUCTIONS, M4F_CYCLES)
    };
    match (group, kind) {
        ("m4", Some(1)) if operation.starts_with("sign-one") => vec![(name, instructions[level][1])],
        ("m4", Some(kind)) => {
            // Theirs is a mean of other messages: its cycles alone.
            let counted = (kind != 1).then_some((name, instructions[level][kind]));
            let published = [
                (cycles_name, cycles[level][kind]),
                ("paper-cycles", PAPER_CYCLES[level][kind]),
                ("micro-ecc", MICRO_ECC[kind]),
                ("paper-ecdsa-cycles", PAPER_ECDSA[kind]),
            ];
            counted.into_iter().chain(published).collect()
        }
        ("m4-stack", Some(kind)) => {
            let mut stack = vec![("m4f", M4F_STACK[level][kind]), ("m4fstack", M4FSTACK_STACK[level][kind])];
            if kind == 1 {
                stack.push(("paper", PAPER_STACK[level]));
            }
            stack
        }
        ("m4-ram", _) => vec![("paper", PAPER_RAM[level])],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn a_row_meets_its_own_figures() {
        assert_eq!(of(&["m4", "sign-one-fast", "65"]), [("m4f", 2_574_000.0)]);
        assert_eq!(of(&["m4", "verify-fast", "87"])[0], ("m4f", 3_751_000.0));
        assert_eq!(of(&["m4-flash", "all"]), [("paper", 112_700.0)]);
        assert_eq!(of(&["m4-stack", "sign-small", "44"])[1], ("m4fstack", 5_080.0));
        assert_eq!(of(&["m4", "sign-one-small", "44"]), [("m4fstack", 3_057_000.0)]);
        assert_eq!(of(&["m4", "sign-small", "87"])[0], ("m4fstack-cycles", 33_357_899.0));
        for own in ["sign-expanded", "sign-one-expanded", "decode-small", "expand"] {
            assert!(of(&["m4", own, "44"]).is_empty(), "{own}");
        }
        assert!(of(&["m4", "tag"]).is_empty() && of(&["m4-flash", "engine"]).is_empty());
    }
}
