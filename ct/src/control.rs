//! Code that does what the engine must not do. The tools must see it, or they see nothing.

use std::hint::black_box;

/// A division by a secret: for the scan of the machine code, which must find it here and nowhere else.
#[inline(never)]
pub fn secret_division(secret: u32) -> u32 {
    black_box(8_380_417_u32) / black_box(secret | 1)
}

/// Keeps `secret_division` in every build.
pub fn keep() {
    black_box(secret_division(black_box(3)));
}

#[cfg(feature = "ctgrind")]
pub use under_valgrind::run;

#[cfg(feature = "ctgrind")]
mod under_valgrind {
    use super::black_box;
    use sealstone_mldsa::hazmat::{classify, sign_mu_with_rnd, taint_reports};
    use sealstone_mldsa::{MlDsa44, Mu, SigningKey};

    /// Each leak by name: it must be reported. Fails if one is not.
    pub fn run() -> Result<(), String> {
        taint_reports().ok_or("not under Valgrind: ./dev ct starts it")?;
        let mut seed = black_box([7; 32]);
        classify(&mut seed);
        let key = SigningKey::<MlDsa44>::from_seed(&seed).expand();
        let mut sk = vec![0; 2560];
        key.encode(&mut sk).map_err(|error| error.to_string())?;

        let mut mu = black_box([1; 64]);
        classify(&mut mu);
        let mu_is_secret = Mu::from_bytes(mu);
        let table: Vec<u8> = (0..=255).rev().collect();
        let leaks: [(&str, &dyn Fn()); 6] = [
            ("a branch on the seed", &|| branch(seed[5])),
            ("an index that depends on the seed", &|| index(&table, seed[5])),
            ("a branch on K of the expanded key", &|| branch(sk[40])),
            ("a branch on s1 of the expanded key", &|| branch(sk[200])),
            ("a branch on t0 of the expanded key", &|| branch(sk[2559])),
            ("a comparison of two secrets that stops early", &|| compare(&sk[200..232], &sk[300..332])),
        ];
        let mut unseen = Vec::new();
        for (name, leak) in leaks {
            let before = taint_reports();
            leak();
            let seen = taint_reports() > before;
            println!("control: {name}: {}", if seen { "reported" } else { "NOT REPORTED" });
            if !seen {
                unseen.push(name);
            }
        }
        // What is declassified is public, whatever it was made from.
        let before = taint_reports();
        let signature = sign_mu_with_rnd(&key, &mu_is_secret, &[0; 32]).map_err(|error| error.to_string())?;
        branch(signature.encode()[0]);
        if taint_reports() != before {
            unseen.push("a signature is public");
        }
        if unseen.is_empty() { Ok(()) } else { Err(format!("Valgrind does not see: {}", unseen.join(", "))) }
    }

    #[inline(never)]
    fn index(table: &[u8], secret: u8) {
        black_box(table[usize::from(black_box(secret))]);
    }

    #[inline(never)]
    fn compare(a: &[u8], b: &[u8]) {
        black_box(a.iter().zip(b).position(|(a, b)| black_box(a) != black_box(b)));
    }

    /// Prints nothing, but a compiler cannot know.
    #[inline(never)]
    fn branch(secret: u8) {
        if black_box(secret) & 1 == 1 {
            black_box(());
            eprint!("");
        }
    }
}
