//! COSE_Sign1 over standard input and output, a JSON object on each line: how the programs of `interop/` meet `sealstone_jose::cose`,
//! which no command shows. Bytes are written in hexadecimal.
//!
//! ```text
//! {"ask":"make-key","level":"ML-DSA-65"}
//! {"ask":"sign1","level":"ML-DSA-65","seed":"00…","content":"61","aad":"","untagged":false,"detached":false}
//! {"ask":"open1","level":"ML-DSA-65","public":"…","message":"d284…","aad":"","content":"61"}
//! ```
#![allow(clippy::print_stdout, reason = "an example speaks")]

use std::io::BufRead as _;

use sealstone_jose::cose::{Sign1, Unverified};
use sealstone_jose::{Algorithm, PrivateKey, PublicKey};
use serde_json::{Value, json};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    for line in std::io::stdin().lock().lines() {
        let ask: Value = serde_json::from_str(&line?)?;
        println!("{}", answer(&ask).unwrap_or_else(|why| json!({ "error": why.to_string() })));
    }
    Ok(())
}

fn answer(ask: &Value) -> Result<Value, Failure> {
    let text = |name: &str| ask[name].as_str().ok_or_else(|| format!("{name}: expected a text"));
    let bytes = |name: &str| text(name).map_err(Failure::from).and_then(unhex);
    if text("ask")? == "hello" {
        let asks = ["make-key", "sign1", "open1"];
        return Ok(json!({ "version": env!("CARGO_PKG_VERSION"), "engine": "its own", "asks": asks }));
    }
    let algorithm: Algorithm = text("level")?.parse()?;
    match text("ask")? {
        "make-key" => {
            let key = PrivateKey::generate(algorithm)?;
            Ok(json!({ "seed": hex(&key.secret()), "public": hex(key.public().as_bytes()) }))
        }
        "sign1" => {
            let key = PrivateKey::from_secret(algorithm, &bytes("seed")?)?;
            let aad = bytes("aad")?;
            let mut form = Sign1::new().external_aad(&aad).content_type("text/plain");
            if ask["untagged"] == true {
                form = form.untagged();
            }
            if ask["detached"] == true {
                form = form.detached();
            }
            Ok(json!({ "message": hex(&form.sign(&key, &bytes("content")?)?) }))
        }
        "open1" => {
            let key = PublicKey::from_public(algorithm, &bytes("public")?)?;
            let (message, aad) = (bytes("message")?, bytes("aad")?);
            let content = if ask["content"].is_null() { None } else { Some(bytes("content")?) };
            let opened = Unverified::parse(&message).and_then(|message| {
                let message = message.external_aad(&aad);
                match &content {
                    Some(content) => message.verify_detached(&key, content),
                    None => message.verify(&key),
                }
            });
            Ok(match opened {
                Ok(verified) => json!({ "content": hex(verified.payload()) }),
                Err(why) => json!({ "refused": why.to_string() }),
            })
        }
        other => Err(format!("no request is named {other}").into()),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Result<Vec<u8>, Failure> {
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| Ok(u8::from_str_radix(std::str::from_utf8(pair)?, 16)?)).collect()
}
