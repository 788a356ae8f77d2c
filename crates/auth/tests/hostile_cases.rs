//! What is wrong with a token: the cases of hostile_tokens.rs.

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sealstone_jose::{Algorithm, PrivateKey};
use serde_json::{Value, json};

use crate::dpop::but;
use crate::hostile_tokens::{Good, Street};

/// Any JSON in place of a member.
const RAW: &str = "@@";

/// Where a token is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    AccessToken,
    Assertion,
    Grant,
    Hint,
    Introspection,
    Proof,
    Request,
}

impl Door {
    pub const ALL: [Door; 7] = [
        Door::AccessToken,
        Door::Assertion,
        Door::Grant,
        Door::Hint,
        Door::Introspection,
        Door::Proof,
        Door::Request,
    ];

    /// What everything is answered with that is not good.
    pub fn refusal(self) -> (u16, &'static str) {
        match self {
            Door::AccessToken => (401, "invalid_token"),
            Door::Assertion => (401, "invalid_client"),
            Door::Grant => (400, "invalid_grant"),
            Door::Hint => (303, "invalid_request"),
            Door::Introspection => (200, "inactive"),
            Door::Proof => (400, "invalid_dpop_proof"),
            Door::Request => (400, "invalid_request_object"),
        }
    }

    /// Claims, and values with which the token must not pass. `null` takes a claim away.
    fn wrong_claims(self) -> Vec<(&'static str, Vec<&'static str>)> {
        const NOT_TEXT: [&str; 6] = ["null", "1", "true", "[]", "{}", "\"\""];
        const NOT_TIME: [&str; 8] =
            ["null", "\"1800000050\"", "true", "[]", "{}", "-1", "1e400", "1e999999999"];
        let text = |more: &[&'static str]| NOT_TEXT.iter().chain(more).copied().collect::<Vec<_>>();
        let time = |more: &[&'static str]| NOT_TIME.iter().chain(more).copied().collect::<Vec<_>>();
        let aud = text(&[
            "\"https://elsewhere.example\"",
            "[\"https://elsewhere.example\"]",
            "[1]",
            "[null]",
            "[[]]",
        ]);
        let soon = ["1800003600", "9007199254740993", "1.8e300"];
        match self {
            Door::AccessToken => vec![
                ("iss", text(&["\"https://elsewhere.example\"", "[\"https://elsewhere.example\"]"])),
                ("aud", aud),
                ("exp", time(&["0", "1799999000"])),
                ("client_id", text(&["\"nobody\"", "\"two\\u0000\""])),
            ],
            // Its own client may ask for any audience.
            Door::Introspection => vec![
                ("iss", text(&["\"https://elsewhere.example\"", "[\"https://elsewhere.example\"]"])),
                ("aud", vec!["1", "true", "{}", "[1]", "[null]", "[[]]"]),
                ("exp", time(&["0", "1799999000"])),
                ("client_id", text(&["\"nobody\"", "\"two\\u0000\""])),
            ],
            Door::Assertion => vec![
                ("iss", text(&["\"nobody\"", "[\"signer\"]", "\"Signer\"", "\"signer \""])),
                ("sub", text(&["\"nobody\"", "[\"signer\"]", "\"one\""])),
                ("aud", aud),
                ("exp", time(&["0", "1799999000", "1800090000", "1.8e300"])),
                ("nbf", soon.to_vec()),
                ("jti", text(&[])),
            ],
            Door::Grant => vec![
                (
                    "iss",
                    text(&[
                        "\"https://other.example\"",
                        "[\"https://ci.example\"]",
                        "\"https://ci.example/\"",
                    ]),
                ),
                ("sub", text(&["[\"x\"]"])),
                ("aud", aud),
                ("exp", time(&["0", "1799999000", "1800090000", "1.8e300"])),
                ("nbf", soon.to_vec()),
                ("jti", text(&[])),
            ],
            Door::Hint => vec![
                ("iss", text(&["\"https://elsewhere.example\""])),
                ("aud", text(&["\"two\"", "\"nobody\"", "[\"one\",\"two\"]", "[1]"])),
                ("sub", vec!["null", "1", "[]", "{}"]),
                ("sid", vec!["null", "1", "[]", "{}"]),
                ("iat", time(&["0", "1"])),
            ],
            Door::Proof => vec![
                ("htm", text(&["\"GET\"", "\"post\"", "\"POST \""])),
                (
                    "htu",
                    text(&["\"https://elsewhere.example/token\"", "\"/token\"", "\"token\"", "\"https://\""]),
                ),
                ("iat", time(&["0", "1800003600", "1799996400", "1.8e300"])),
                ("jti", text(&[])),
                ("exp", vec!["\"x\"", "0", "1799999000"]),
                ("nbf", vec!["\"x\"", "1800003600"]),
            ],
            Door::Request => vec![
                ("iss", vec!["1", "\"\"", "\"nobody\"", "[\"signer\"]"]),
                ("client_id", text(&["\"nobody\"", "[\"signer\"]", "\"one\""])),
                ("aud", aud),
                ("exp", time(&["0", "1799999000", "1800090000", "1.8e300"])),
                ("nbf", vec!["null", "\"x\"", "[]", "{}", "1800003600", "1799990000", "1e400"]),
                ("request", vec!["\"x\""]),
                ("request_uri", vec!["\"urn:ietf:params:oauth:request_uri:x\""]),
            ],
        }
    }
}

fn part(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

pub fn sign(key: &PrivateKey, header: &Value, claims: &Value) -> String {
    raw(key, header.to_string(), claims.to_string())
}

/// Any bytes, well signed.
fn raw(key: &PrivateKey, header: impl AsRef<[u8]>, claims: impl AsRef<[u8]>) -> String {
    let input = format!("{}.{}", part(header), part(claims));
    let signature = key.sign(input.as_bytes()).unwrap();
    format!("{input}.{}", part(signature))
}

/// JSON in which a member is what no [`Value`] can be.
fn spliced(object: &Value, name: &str, text: &str) -> String {
    match text {
        "null" => but(object, name, Value::Null).to_string(),
        text => but(object, name, RAW).to_string().replace(&format!("\"{RAW}\""), text),
    }
}

pub type Cases = Vec<(String, String)>;

/// What is wrong with a header, under a good signature.
pub fn headers(street: &Street, door: Door) -> Cases {
    let mut cases = Cases::new();
    let mut add = |name: &str, member: &str, text: &str| {
        let good = street.good(door);
        cases.push((
            name.to_owned(),
            raw(&good.key, spliced(&good.header, member, text), good.claims.to_string()),
        ));
    };
    let own = street.good(door).key.algorithm().name();
    for alg in [
        "null",
        "1",
        "true",
        "[]",
        "{}",
        "\"\"",
        "\"none\"",
        "\"None\"",
        "\"NONE\"",
        "\"nOnE\"",
        "\"HS256\"",
        "\"HS512\"",
        "\"RS384\"",
        "\"ES256K\"",
        "\"ES384\"",
        "\"PS384\"",
        "\"ML-DSA-44\"",
        "\"ML-DSA-65-ES256\"",
        "\"dir\"",
        "\"A256GCM\"",
    ] {
        add(&format!("alg {alg}"), "alg", alg);
    }
    add("alg in lower case", "alg", &format!("\"{}\"", own.to_lowercase()));
    add("alg in a list", "alg", &format!("[\"{own}\"]"));
    add("alg twice", "alg", &format!("\"{own}\",\"alg\":\"{own}\""));
    add("alg twice, escaped", "alg", &format!("\"{own}\",\"\\u0061lg\":\"none\""));
    for crit in ["[]", "[\"exp\"]", "[\"b64\"]", "[\"x\"]", "\"x\"", "{}", "[\"alg\"]"] {
        add(&format!("crit {crit}"), "crit", crit);
    }
    add("b64 false", "b64", "false,\"crit\":[\"b64\"]");
    add("zip", "zip", "\"DEF\"");
    for typ in
        ["1", "[]", "\"dpop+jwt+\"", "\"secevent+jwt\"", "\"logout+jwt\"", "\"token-introspection+jwt\""]
    {
        add(&format!("typ {typ}"), "typ", typ);
    }
    for (other, typ) in [
        (Door::AccessToken, "\"at+jwt\""),
        (Door::Proof, "\"dpop+jwt\""),
        (Door::Request, "\"oauth-authz-req+jwt\""),
        (Door::Assertion, "\"client-authentication+jwt\""),
    ] {
        let same = other == door || (other == Door::AccessToken && door == Door::Introspection);
        if !same {
            add(&format!("typ of another kind, {typ}"), "typ", typ);
        }
    }
    if door == Door::Proof {
        for jwk in [
            "null",
            "1",
            "[]",
            "{}",
            "\"x\"",
            "{\"kty\":\"oct\",\"k\":\"AA\"}",
            "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AA\",\"y\":\"AA\"}",
        ] {
            add(&format!("jwk {jwk}"), "jwk", jwk);
        }
    } else {
        let long = format!("\"{}\"", "k".repeat(4_000));
        for kid in [
            "1",
            "[]",
            "\"../../etc/passwd\"",
            "\"' or 1=1 --\"",
            "\"\\u0000\"",
            "\"a\\nb\"",
            "\"unknown\"",
            &long,
        ] {
            add(&format!("kid {}", &kid[..kid.len().min(20)]), "kid", kid);
        }
    }
    cases
}

/// What is wrong with the claims, under a good signature.
pub fn claims(street: &Street, door: Door) -> Cases {
    let mut cases = Cases::new();
    for (name, values) in door.wrong_claims() {
        for wrong in values {
            let good = street.good(door);
            let text = spliced(&good.claims, name, wrong);
            cases.push((format!("{name} {wrong}"), raw(&good.key, good.header.to_string(), text)));
        }
        let good = street.good(door);
        let twice = format!(
            "{},\"{name}\":{}",
            &good.claims.to_string()[..good.claims.to_string().len() - 1],
            good.claims.get(name).unwrap_or(&json!(1))
        );
        // A claim that is not there cannot be there twice.
        if good.claims.get(name).is_some() {
            cases.push((format!("{name} twice"), raw(&good.key, good.header.to_string(), twice + "}")));
        }
    }
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(2_000), "]".repeat(2_000));
    for (name, text) in [
        ("an empty payload", String::new()),
        ("an empty object", "{}".to_owned()),
        ("null", "null".to_owned()),
        ("a list", "[{}]".to_owned()),
        ("a number", "1".to_owned()),
        ("text", "\"x\"".to_owned()),
        ("half an object", "{\"iss\":".to_owned()),
        ("2000 levels", deep),
    ] {
        let good = street.good(door);
        cases.push((format!("payload: {name}"), raw(&good.key, good.header.to_string(), text)));
    }
    let whole = |change: &dyn Fn(Vec<u8>) -> Vec<u8>| {
        let good = street.good(door);
        raw(&good.key, good.header.to_string(), change(good.claims.to_string().into_bytes()))
    };
    cases.push((
        "payload: a byte order mark".into(),
        whole(&|bytes| [b"\xef\xbb\xbf".to_vec(), bytes].concat()),
    ));
    cases.push((
        "payload: not UTF-8".into(),
        whole(&|bytes| [b"{\"x\":\"\xff\xfe\",".to_vec(), bytes[1..].to_vec()].concat()),
    ));
    cases.push(("payload: something after it".into(), whole(&|bytes| [bytes, b" x".to_vec()].concat())));
    cases.push((
        "payload: NaN".into(),
        whole(&|bytes| [b"{\"x\":NaN,".to_vec(), bytes[1..].to_vec()].concat()),
    ));
    cases
}

/// What is wrong with the signature, or with how it is all written.
pub fn spellings(street: &Street, door: Door) -> Cases {
    let mut cases = Cases::new();
    let mut add = |name: &str, change: &dyn Fn(&Good, [&str; 3]) -> String| {
        let good = street.good(door);
        let token = sign(&good.key, &good.header, &good.claims);
        let mut parts = token.split('.');
        let parts = [(); 3].map(|()| parts.next().unwrap());
        cases.push((name.to_owned(), change(&good, parts)));
    };
    let flipped = |text: &str, at: usize| {
        let mut bytes = URL_SAFE_NO_PAD.decode(text).unwrap();
        bytes[at] ^= 1;
        part(bytes)
    };
    add("no signature", &|_, [h, p, _]| format!("{h}.{p}."));
    add("two parts", &|_, [h, p, _]| format!("{h}.{p}"));
    add("one part", &|_, [h, ..]| h.to_owned());
    add("a dot", &|_, _| ".".into());
    add("two dots", &|_, _| "..".into());
    add("four parts", &|_, [h, p, s]| format!("{h}.{p}.{s}.{s}"));
    add("five parts, as a JWE", &|_, [h, p, s]| format!("{h}.{p}.{s}.{s}.{s}"));
    add("no header", &|_, [_, p, s]| format!(".{p}.{s}"));
    add("a dot before", &|_, [h, p, s]| format!(".{h}.{p}.{s}"));
    add("a dot after", &|_, [h, p, s]| format!("{h}.{p}.{s}."));
    add("a bit of the signature", &|_, [h, p, s]| format!("{h}.{p}.{}", flipped(s, 7)));
    add("the last bit of the signature", &|_, [h, p, s]| {
        format!("{h}.{p}.{}", flipped(s, URL_SAFE_NO_PAD.decode(s).unwrap().len() - 1))
    });
    add("a byte short", &|_, [h, p, s]| {
        let bytes = URL_SAFE_NO_PAD.decode(s).unwrap();
        format!("{h}.{p}.{}", part(&bytes[1..]))
    });
    add("a byte long", &|_, [h, p, s]| {
        format!("{h}.{p}.{}", part([URL_SAFE_NO_PAD.decode(s).unwrap(), vec![0]].concat()))
    });
    add("zeros", &|_, [h, p, s]| {
        format!("{h}.{p}.{}", part(vec![0; URL_SAFE_NO_PAD.decode(s).unwrap().len()]))
    });
    add("ones", &|_, [h, p, s]| {
        format!("{h}.{p}.{}", part(vec![255; URL_SAFE_NO_PAD.decode(s).unwrap().len()]))
    });
    add("another key of its name", &|good, _| {
        let other = PrivateKey::generate(good.key.algorithm()).unwrap().with_kid(good.key.kid());
        sign(&other, &good.header, &good.claims)
    });
    add("another key, brought along", &|good, _| {
        let other = PrivateKey::generate(Algorithm::Es256).unwrap();
        let jwk: Value = serde_json::from_str(&other.public().to_jwk().to_json()).unwrap();
        let mut header = but(&but(&good.header, "alg", "ES256"), "kid", other.kid());
        let of_proof = header.get("jwk").is_some();
        header =
            if of_proof { but(&header, "x5u", "https://evil.example/") } else { but(&header, "jwk", jwk) };
        sign(&other, &header, &good.claims)
    });
    add("another key, said to be elsewhere", &|good, _| {
        let other = PrivateKey::generate(Algorithm::Es256).unwrap();
        let header = but(&but(&good.header, "alg", "ES256"), "jku", "https://evil.example/jwks");
        sign(&other, &but(&header, "kid", "elsewhere"), &good.claims)
    });
    for alg in ["HS256", "HS384", "HS512"] {
        add(&format!("{alg} with the public key"), &|good, _| {
            let input = format!(
                "{}.{}",
                part(but(&good.header, "alg", alg).to_string()),
                part(good.claims.to_string())
            );
            let tag = hmac::sign(
                &hmac::Key::new(hmac::HMAC_SHA256, good.key.public().as_bytes()),
                input.as_bytes(),
            );
            format!("{input}.{}", part(tag))
        });
        add(&format!("{alg} with nothing"), &|good, _| {
            let input = format!(
                "{}.{}",
                part(but(&good.header, "alg", alg).to_string()),
                part(good.claims.to_string())
            );
            format!("{input}.{}", part(hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, b""), input.as_bytes())))
        });
    }
    add("other claims under the signature", &|good, [h, _, s]| {
        format!("{h}.{}.{s}", part(but(&good.claims, "scope", "admin").to_string()))
    });
    add("another header over the signature", &|good, [_, p, s]| {
        format!("{}.{p}.{s}", part(but(&good.header, "extra", 1).to_string()))
    });
    add("twice", &|_, [h, p, s]| format!("{h}.{p}.{s}{h}.{p}.{s}"));
    add("flattened JSON", &|_, [h, p, s]| json!({"protected": h, "payload": p, "signature": s}).to_string());
    add("general JSON", &|_, [h, p, s]| {
        json!({"payload": p, "signatures": [{"protected": h, "signature": s}]}).to_string()
    });
    add("a token in a token", &|good, [h, p, s]| {
        raw(&good.key, but(&good.header, "cty", "JWT").to_string(), format!("{h}.{p}.{s}"))
    });
    add("a header that is no JSON", &|good, _| raw(&good.key, "alg", good.claims.to_string()));
    add("a header that is a list", &|good, _| {
        raw(&good.key, format!("[{}]", good.header), good.claims.to_string())
    });
    add("an empty header", &|good, _| raw(&good.key, "{}", good.claims.to_string()));
    add("Bearer before it", &|_, [h, p, s]| format!("Bearer {h}.{p}.{s}"));
    for (name, index) in [("header", 0), ("payload", 1), ("signature", 2)] {
        for (what, end) in [
            ("padding", "="),
            ("a space", " "),
            ("a line end", "\n"),
            ("NUL", "\0"),
            ("a letter of no alphabet", "é"),
        ] {
            add(&format!("{what} after the {name}"), &|_, parts| {
                let mut parts = parts.map(str::to_owned);
                parts[index].push_str(end);
                parts.join(".")
            });
        }
        add(&format!("the other alphabet in the {name}"), &|_, parts| {
            let mut parts = parts.map(str::to_owned);
            parts[index].replace_range(4..5, "+");
            parts.join(".")
        });
    }
    add("5000 bytes of nothing", &|_, _| "A".repeat(5_000));
    add("5000 dots", &|_, _| ".".repeat(5_000));
    add("a form", &|_, _| "a=b&c=d".into());
    add("no text of this world", &|_, _| "\u{202e}\u{0}\u{1f512}".into());
    cases
}

/// The good tokens of the other doors, which are well signed by keys that the server knows.
pub fn of_other_doors(street: &Street, door: Door) -> Cases {
    // Two doors take access tokens.
    let others = Door::ALL.into_iter().filter(|other| {
        let same = door == Door::Introspection && *other == Door::AccessToken;
        *other != door && *other != Door::Introspection && !same
    });
    others
        .map(|other| {
            let good = street.good(other);
            (format!("the good token of {other:?}"), sign(&good.key, &good.header, &good.claims))
        })
        .collect()
}
