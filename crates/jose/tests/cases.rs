//! The tokens that must be refused, each with a name and the kind of its error.

use aws_lc_rs::hmac;
use sealstone_jose::{Algorithm, PrivateKey};

use crate::{b64, signed, unb64};

/// What every good token says.
pub(crate) const PAYLOAD: &str = r#"{"iss":"https://id.example","aud":"orders","exp":1800000300}"#;

/// A table of cases: name, token, kind of the error.
pub(crate) type Cases = Vec<(String, String, &'static str)>;

/// `more` is put into a header that is otherwise good.
pub(crate) fn header(key: &PrivateKey, more: &str) -> String {
    format!(r#"{{"alg":"{}","typ":"at+jwt"{more}}}"#, key.algorithm())
}

fn case(name: impl Into<String>, token: String, kind: &'static str) -> (String, String, &'static str) {
    (name.into(), token, kind)
}

pub(crate) fn algorithms(key: &PrivateKey) -> Cases {
    let with = |alg: &str| signed(key, format!(r#"{{"alg":{alg},"typ":"at+jwt"}}"#), PAYLOAD);
    let own = key.algorithm().name();
    let mut cases = vec![
        case("alg absent", signed(key, r#"{"typ":"at+jwt"}"#, PAYLOAD), "header malformed"),
        case("empty header", signed(key, "{}", PAYLOAD), "header malformed"),
        case("alg null", with("null"), "header malformed"),
        case("alg a number", with("1"), "header malformed"),
        case("alg true", with("true"), "header malformed"),
        case("alg an array", with(&format!("[\"{own}\"]")), "header malformed"),
        case("alg an object", with(&format!("{{\"alg\":\"{own}\"}}")), "header malformed"),
        case("alg twice", signed(key, header(key, r#","alg":"none""#), PAYLOAD), "json"),
        case("alg twice, escaped", signed(key, header(key, r#","\u0061lg":"none""#), PAYLOAD), "json"),
        case(
            "alg twice, the same",
            signed(key, header(key, &format!(",\"alg\":\"{own}\"")), PAYLOAD),
            "json",
        ),
        case("Alg", signed(key, format!(r#"{{"Alg":"{own}"}}"#), PAYLOAD), "header malformed"),
        case(
            "none without a signature",
            format!("{}.{}.", b64(r#"{"alg":"none"}"#), b64(PAYLOAD)),
            "algorithm unknown",
        ),
    ];
    let lower = own.to_lowercase();
    let spellings = [
        "none",
        "None",
        "NONE",
        "nOnE",
        "",
        " ",
        "HS256",
        "RS384",
        "RS512",
        "PS384",
        "PS512",
        "RSA1_5",
        "ES256K",
        "Ed448",
        "ML-DSA",
        "ML-DSA-65-Ed25519",
        "EdDSA+ML-DSA-65",
        "HashML-DSA-65",
        "ML-DSA-65\\u0000",
        "ES256 ",
        " ES256",
        "dir",
        "A256GCM",
        "SLH-DSA-SHA2-128s",
        "-49",
        "Dilithium3",
        lower.as_str(),
    ];
    for alg in spellings {
        cases.push(case(format!("alg {alg:?}"), with(&format!("\"{alg}\"")), "algorithm unknown"));
    }
    for other in Algorithm::ALL {
        if key.algorithm().accepts(other) {
            continue;
        }
        // As it is, the length gives it away; made to fit, the key does.
        let header = format!(r#"{{"alg":"{other}","typ":"at+jwt"}}"#);
        let fitting = format!(
            "{}.{}.{}",
            b64(&header),
            b64(PAYLOAD),
            b64(vec![0; other.signature_len().unwrap_or(256)])
        );
        cases.push(case(format!("alg {other}, length to fit"), fitting, "algorithm mismatch"));
        if other.signature_len() != key.algorithm().signature_len() {
            cases.push(case(format!("alg {other}"), signed(key, header, PAYLOAD), "signature length"));
        }
    }
    // The public key as the secret of a MAC: CVE-2015-9235.
    for (form, secret) in [
        ("raw", key.public().as_bytes().to_vec()),
        ("JWK", key.public().to_jwk().to_json().into_bytes()),
        ("base64url", b64(key.public().as_bytes()).into_bytes()),
        ("PEM", spki_pem(key).into_bytes()),
    ] {
        let input = format!("{}.{}", b64(r#"{"alg":"HS256","typ":"at+jwt"}"#), b64(PAYLOAD));
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &secret), input.as_bytes());
        cases.push(case(
            format!("HS256 with the public key ({form}) as secret"),
            format!("{input}.{}", b64(tag)),
            "algorithm unknown",
        ));
    }
    cases
}

/// The public key as who attacks finds it in a file. For RSA the bytes are as good as any: no secret is looked at.
fn spki_pem(key: &PrivateKey) -> String {
    use base64::Engine as _;
    let header: &[u8] = match key.algorithm() {
        Algorithm::MlDsa44 => b"\x30\x82\x05\x32\x30\x0b\x06\x09\x60\x86\x48\x01\x65\x03\x04\x03\x11\x03\x82\x05\x21\x00",
        Algorithm::Es256 => b"\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07\x03\x42\x00",
        Algorithm::Ed25519 => b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00",
        _ => b"",
    };
    let text = base64::engine::general_purpose::STANDARD.encode([header, key.public().as_bytes()].concat());
    let lines: Vec<&str> = (0..text.len()).step_by(64).map(|at| &text[at..text.len().min(at + 64)]).collect();
    format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", lines.join("\n"))
}

pub(crate) fn headers(key: &PrivateKey) -> Cases {
    let more = |more: &str| signed(key, header(key, more), PAYLOAD);
    let raw = |raw: &[u8]| signed(key, raw, PAYLOAD);
    let good = header(key, "");
    let deep = |levels: usize| more(&format!(",\"x\":{}{}", "[".repeat(levels), "]".repeat(levels)));
    let mut cases = vec![
        case("crit unknown", more(r#","crit":["exp"],"exp":1"#), "header refused"),
        case("crit empty", more(r#","crit":[]"#), "header refused"),
        case("crit names alg", more(r#","crit":["alg"]"#), "header refused"),
        case("crit a string", more(r#","crit":"b64""#), "header refused"),
        case("crit null", more(r#","crit":null"#), "header refused"),
        case("crit names b64", more(r#","crit":["b64"],"b64":false"#), "header refused"),
        case("b64 false without crit", more(r#","b64":false"#), "header refused"),
        case("b64 true", more(r#","b64":true"#), "header refused"),
        case("zip", more(r#","zip":"DEF""#), "header refused"),
        case("enc", more(r#","enc":"A256GCM""#), "header refused"),
        case("kid a number", more(r#","kid":1"#), "header malformed"),
        case("kid null", more(r#","kid":null"#), "header malformed"),
        case("kid an array", more(r#","kid":["a"]"#), "header malformed"),
        case("kid empty", more(r#","kid":"""#), "header malformed"),
        case("kid with NUL", more(r#","kid":"a\u0000b""#), "header malformed"),
        case("kid with a line end", more(r#","kid":"a\nb""#), "header malformed"),
        case("kid with an escape sequence", more(r#","kid":"\u001b[2J""#), "header malformed"),
        case("kid with C1 control", more(r#","kid":"a\u009bb""#), "header malformed"),
        case("kid of 513 bytes", more(&format!(",\"kid\":\"{}\"", "a".repeat(513))), "header malformed"),
        case("kid of 40 kB", more(&format!(",\"kid\":\"{}\"", "a".repeat(40_000))), "too large"),
        case("kid of 64 kB", more(&format!(",\"kid\":\"{}\"", "a".repeat(65_536))), "too large"),
        case("kid twice", more(r#","kid":"a","kid":"b""#), "json"),
        case("typ a number", raw(good.replace(r#""at+jwt""#, "1").as_bytes()), "header malformed"),
        case(
            "typ an array",
            raw(good.replace(r#""at+jwt""#, r#"["at+jwt"]"#).as_bytes()),
            "header malformed",
        ),
        case("cty a number", more(r#","cty":1"#), "header malformed"),
        case("cty JWT", more(r#","cty":"JWT""#), "nested"),
        case("cty jwt", more(r#","cty":"jwt""#), "nested"),
        case("cty application/jwt", more(r#","cty":"application/JWT""#), "nested"),
        case("cty at+jwt", more(r#","cty":"at+jwt""#), "nested"),
        case("cty application/secevent+jwt", more(r#","cty":"application/secevent+jwt""#), "nested"),
        case("cty JOSE", more(r#","cty":"JOSE""#), "nested"),
        case("cty jose+json", more(r#","cty":"jose+json""#), "nested"),
        case("header an array", raw(b"[]"), "json"),
        case("header a string", raw(b"\"alg\""), "json"),
        case("header null", raw(b"null"), "json"),
        case("header not JSON", raw(b"alg=ES256"), "json"),
        case("header of spaces", raw(b"   "), "json"),
        case("header with a trailing comma", raw(good.replace('}', ",}").as_bytes()), "json"),
        case("header with a comment", raw(good.replace('}', "/**/}").as_bytes()), "json"),
        case("header with single quotes", raw(good.replace('"', "'").as_bytes()), "json"),
        case("header followed by another", raw(good.repeat(2).as_bytes()), "json"),
        case("header followed by NUL", raw(format!("{good}\0").as_bytes()), "json"),
        case("header with a byte order mark", raw(format!("\u{feff}{good}").as_bytes()), "json"),
        case(
            "header in UTF-16",
            raw(&good.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>()),
            "json",
        ),
        case(
            "header not UTF-8",
            raw(&[&good.as_bytes()[..good.len() - 1], b",\"x\":\"\xff\"}"].concat()),
            "json",
        ),
        case(
            "header overlong UTF-8",
            raw(&[&good.as_bytes()[..good.len() - 1], b",\"x\":\"\xc0\xaf\"}"].concat()),
            "json",
        ),
        case("header with half a surrogate", more(r#","x":"\ud800""#), "json"),
        case("header with a control character", more(",\"x\":\"a\u{1}b\""), "json"),
        case("header cut short", raw(&good.as_bytes()[..good.len() - 1]), "json"),
        case("a member twice deep inside", more(r#","x":{"y":[{"z":1,"z":2}]}"#), "json"),
        case("33 levels", deep(32), "json"),
        case("3000 levels", deep(2_900), "json"),
        case("header of 8193 characters", more(&format!(",\"x\":\"{}\"", "a".repeat(6_110))), "too large"),
        case("300 values", more(&format!(",\"x\":[{}1]", "1,".repeat(299))), "json"),
        case("300 members", more(&(0..300).map(|n| format!(",\"{n}\":0")).collect::<String>()), "json"),
        case("1e400", more(r#","x":1e400"#), "json"),
        case("NaN", more(r#","x":NaN"#), "json"),
        case("Infinity", more(r#","x":-Infinity"#), "json"),
        case("a leading zero", more(r#","x":01"#), "json"),
        case("a hexadecimal number", more(r#","x":0x1"#), "json"),
    ];
    let types = [
        "JWT",
        "jwt",
        "at-jwt",
        "at+jwt ",
        "dpop+jwt",
        "logout+jwt",
        "secevent+jwt",
        "client-authentication+jwt",
        "text/at+jwt",
        "application/x/at+jwt",
        "application/application/at+jwt",
        "AT+JWT2",
        "",
    ];
    for typ in types {
        cases.push(case(format!("typ {typ:?}"), raw(good.replace("at+jwt", typ).as_bytes()), "typ"));
    }
    cases.push(case("typ absent", raw(good.replace(r#","typ":"at+jwt""#, "").as_bytes()), "typ"));
    cases
}

pub(crate) fn encodings(key: &PrivateKey) -> Cases {
    // With spaces at the end, so that the last character of each part has bits to spare.
    let spare = |text: String| (0..3).map(|n| text.clone() + &" ".repeat(n)).find(|t| t.len() % 3 == 1);
    let good = signed(key, spare(header(key, "")).unwrap(), spare(PAYLOAD.to_owned()).unwrap());
    let parts: Vec<&str> = good.split('.').collect();
    let mut cases = vec![
        case("nothing", String::new(), "not compact"),
        case("a word", "token".into(), "not compact"),
        case("two parts", format!("{}.{}", parts[0], parts[1]), "not compact"),
        case("four parts", format!("{good}.AAAA"), "not compact"),
        case("six parts", format!("{good}.AAAA.AAAA.AAAA"), "not compact"),
        case("a dot at the end", format!("{good}."), "not compact"),
        case("a dot in front", format!(".{good}"), "not compact"),
        case("two dots together", good.replacen('.', "..", 1), "not compact"),
        case("only dots", "..".into(), "not compact"),
        case("100 dots", ".".repeat(100), "not compact"),
        case("60 000 dots", ".".repeat(60_000), "not compact"),
        case(
            "five parts: JWE",
            format!("{}.AAAA.AAAA.AAAA.AAAA", b64(r#"{"alg":"dir","enc":"A256GCM"}"#)),
            "jwe",
        ),
        // pac4j, CVE-2026-29000: an unsigned token inside an encrypted one.
        case(
            "JWE around a token",
            format!("{}..{}.{}.AAAA", b64(r#"{"alg":"dir"}"#), b64("iv"), b64(&good)),
            "jwe",
        ),
        case("five empty parts", "....".into(), "jwe"),
        case("no header", format!(".{}.{}", parts[1], parts[2]), "not compact"),
        case("no payload", format!("{}..{}", parts[0], parts[2]), "not compact"),
        case("no payload, signed so", signed(key, header(key, ""), ""), "not compact"),
        case("no signature", format!("{}.{}.", parts[0], parts[1]), "not compact"),
        case("Bearer in front", format!("Bearer {good}"), "base64"),
        case("quotes around", format!("\"{good}\""), "base64"),
        case("a byte order mark in front", format!("\u{feff}{good}"), "base64"),
        case("a space in front", format!(" {good}"), "base64"),
        case("a line end after", format!("{good}\n"), "signature length"),
        case("percent signs", good.replace('.', "%2E"), "not compact"),
        case("full-width dots", good.replace('.', "\u{ff0e}"), "not compact"),
        case("a megabyte", format!("{good}{}", "A".repeat(1 << 20)), "too large"),
        case("65 537 bytes", "A".repeat(65_537), "too large"),
        case("itself twice", good.repeat(2), "jwe"),
        case(
            "flattened JSON",
            format!(r#"{{"protected":"{}","payload":"{}","signature":"{}"}}"#, parts[0], parts[1], parts[2]),
            "json serialization",
        ),
        case(
            "general JSON with two signatures",
            format!(
                r#" {{"payload":"{p}","signatures":[{{"protected":"{h}","signature":"{s}"}},{{"protected":"{h}","signature":"{s}"}}]}}"#,
                h = parts[0],
                p = parts[1],
                s = parts[2]
            ),
            "json serialization",
        ),
        case(
            "alg in the unprotected header only",
            format!(r#"{{"header":{{"alg":"none"}},"payload":"{}","signature":"{}"}}"#, parts[1], parts[2]),
            "json serialization",
        ),
    ];
    for (index, part) in ["header", "payload", "signature"].into_iter().enumerate() {
        // A change that keeps the length, signed anew where that is possible.
        let with = |text: String| {
            let mut parts: Vec<String> = parts.iter().map(|part| (*part).to_owned()).collect();
            parts[index] = text;
            if index < 2 {
                let input = format!("{}.{}", parts[0], parts[1]);
                parts[2] = b64(key.sign(input.as_bytes()).unwrap());
            }
            parts.join(".")
        };
        let longer = if index == 2 { "signature length" } else { "base64" };
        let text = parts[index];
        let middle = text.len() / 2;
        for (name, character) in [
            ("+", "+"),
            ("/", "/"),
            ("a space", " "),
            ("a tab", "\t"),
            ("a line end", "\n"),
            ("NUL", "\0"),
            ("=", "="),
            ("*", "*"),
        ] {
            let inside = format!("{}{character}{}", &text[..middle], &text[middle + 1..]);
            cases.push(case(format!("{name} in the {part}"), with(inside), "base64"));
        }
        for (name, end) in [("=", "="), ("==", "=="), ("a space", " "), ("CRLF", "\r\n"), ("an A", "AA=")] {
            cases.push(case(format!("{name} after the {part}"), with(format!("{text}{end}")), longer));
        }
        cases.push(case(format!("é in the {part}"), with(format!("é{}", &text[2..])), "base64"));
        let impossible = text[..text.len() / 4 * 4 - 3].to_owned();
        cases.push(case(format!("impossible length of the {part}"), with(impossible), longer));
        // Another spelling of the same bytes: the last character carries bits that no byte takes.
        assert!(!text.len().is_multiple_of(4));
        let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        let last = alphabet.iter().position(|symbol| *symbol == text.as_bytes()[text.len() - 1]).unwrap();
        let spelled = format!("{}{}", &text[..text.len() - 1], char::from(alphabet[last | 1]));
        cases.push(case(format!("trailing bits in the {part}"), with(spelled), "base64"));
    }
    cases
}

pub(crate) fn payloads(key: &PrivateKey) -> Cases {
    let of = |payload: &[u8]| signed(key, header(key, ""), payload);
    let with = |more: &str| of(PAYLOAD.replace('}', &format!(",{more}}}")).as_bytes());
    let exp = |value: &str| of(PAYLOAD.replace("1800000300", value).as_bytes());
    let aud = |value: &str| of(PAYLOAD.replace("\"orders\"", value).as_bytes());
    let iss = |value: &str| of(PAYLOAD.replace("\"https://id.example\"", value).as_bytes());
    let deep = |levels: usize| with(&format!("\"x\":{}{}", "[".repeat(levels), "]".repeat(levels)));
    let mut cases = vec![
        case("payload not JSON", of(b"hello"), "json"),
        case("payload a token, with no cty to say so", of(b"eyJhbGciOiJub25lIn0.e30."), "json"),
        case("payload an array", of(format!("[{PAYLOAD}]").as_bytes()), "json"),
        case("payload a string", of(b"\"{}\""), "json"),
        case("payload two objects", of(PAYLOAD.repeat(2).as_bytes()), "json"),
        case("payload with a byte order mark", of(format!("\u{feff}{PAYLOAD}").as_bytes()), "json"),
        case("payload not UTF-8", of(b"{\"sub\":\"\xed\xa0\x80\"}"), "json"),
        case(
            "payload in UTF-16",
            of(&PAYLOAD.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<_>>()),
            "json",
        ),
        case("payload with a trailing comma", of(PAYLOAD.replace('}', ",}").as_bytes()), "json"),
        case("payload cut short", of(&PAYLOAD.as_bytes()[..30]), "json"),
        case("payload with half a surrogate", with(r#""x":"\udc00""#), "json"),
        case("exp twice", with(r#""exp":9999999999"#), "json"),
        case("iss twice", with(r#""iss":"https://evil.example""#), "json"),
        case("a claim twice, escaped", with(r#""\u0065xp":9999999999"#), "json"),
        case("a member twice inside a claim", with(r#""cnf":{"jkt":"a","jkt":"b"}"#), "json"),
        case("a member twice in an array", with(r#""x":[{"a":{"b":1,"b":1}}]"#), "json"),
        case("33 levels", deep(32), "json"),
        case("10 000 levels", deep(10_000), "json"),
        case(
            "10 000 objects",
            with(&format!("\"x\":{}1{}", "{\"a\":".repeat(5_000), "}".repeat(5_000))),
            "json",
        ),
        case("a number of 40 000 digits", with(&format!("\"x\":{}", "9".repeat(40_000))), "json"),
        case("no claims", of(b"{}"), "claim missing"),
        case("exp absent", of(br#"{"iss":"https://id.example","aud":"orders"}"#), "claim missing"),
        case("Exp", of(PAYLOAD.replace("exp", "Exp").as_bytes()), "claim missing"),
        case("aud absent", of(br#"{"iss":"https://id.example","exp":1800000300}"#), "audience"),
        case("iss absent", of(br#"{"aud":"orders","exp":1800000300}"#), "issuer"),
        case("sub a number", with(r#""sub":1"#), "claim malformed"),
        case("sub null", with(r#""sub":null"#), "claim malformed"),
        case("jti an object", with(r#""jti":{}"#), "claim malformed"),
        case("nbf a string", with(r#""nbf":"1799999999""#), "claim malformed"),
        case("nbf negative", with(r#""nbf":-1"#), "claim malformed"),
        case("nbf in a second", with(r#""nbf":1800000001"#), "not yet valid"),
        case("nbf in a fraction of a second", with(r#""nbf":1800000000.001"#), "not yet valid"),
        case("nbf after the year 9999", with(r#""nbf":253402300800"#), "claim malformed"),
        case("iat a string", with(r#""iat":"now""#), "claim malformed"),
        case("iat null", with(r#""iat":null"#), "claim malformed"),
        case("iat in a second", with(r#""iat":1800000001"#), "issued in future"),
    ];
    for (value, kind) in [
        ("1e400", "json"),
        ("-1e400", "json"),
        ("NaN", "json"),
        ("Infinity", "json"),
        ("1_800_000_300", "json"),
        ("+1800000300", "json"),
        ("0x6b49d300", "json"),
        ("1800000300.", "json"),
        (".5", "json"),
        ("\"1800000300\"", "claim malformed"),
        ("\"\"", "claim malformed"),
        ("null", "claim malformed"),
        ("true", "claim malformed"),
        ("[1800000300]", "claim malformed"),
        ("{}", "claim malformed"),
        ("-1", "claim malformed"),
        ("-1.5", "claim malformed"),
        ("-1e300", "claim malformed"),
        ("1800000300000", "claim malformed"),
        ("253402300800", "claim malformed"),
        ("253402300799.5", "claim malformed"),
        ("9223372036854775808", "claim malformed"),
        ("18446744073709551615", "claim malformed"),
        ("18446744073709551616", "claim malformed"),
        ("1e300", "claim malformed"),
        ("1800000000", "expired"),
        ("1800000000.9", "expired"),
        ("1799999999", "expired"),
        ("0", "expired"),
        ("-0", "expired"),
        ("0.5", "expired"),
        ("1e-300", "expired"),
        ("1.8e9", "expired"),
    ] {
        cases.push(case(format!("exp {value}"), exp(value), kind));
    }
    for (value, kind) in [
        ("1", "claim malformed"),
        ("null", "claim malformed"),
        ("{}", "claim malformed"),
        ("true", "claim malformed"),
        ("[1]", "claim malformed"),
        ("[\"orders\",null]", "claim malformed"),
        ("[[\"orders\"]]", "claim malformed"),
        ("[]", "audience"),
        ("\"\"", "audience"),
        ("[\"\"]", "audience"),
        ("\"Orders\"", "audience"),
        ("\"order\"", "audience"),
        ("\"orders2\"", "audience"),
        ("\"orders \"", "audience"),
        ("\"orders billing\"", "audience"),
        ("\"*\"", "audience"),
        ("[\"billing\",\"stock\"]", "audience"),
        ("\"billing\"", "audience"),
    ] {
        cases.push(case(format!("aud {value}"), aud(value), kind));
    }
    for (value, kind) in [
        ("1", "claim malformed"),
        ("null", "claim malformed"),
        ("[\"https://id.example\"]", "claim malformed"),
        ("\"\"", "issuer"),
        ("\"https://id.example/\"", "issuer"),
        ("\"HTTPS://id.example\"", "issuer"),
        ("\"https://id.example.evil\"", "issuer"),
        ("\"https://id.example#a\"", "issuer"),
        ("\"http://id.example\"", "issuer"),
        ("\"https://evil.example\"", "issuer"),
    ] {
        cases.push(case(format!("iss {value}"), iss(value), kind));
    }
    cases
}

pub(crate) fn signatures(key: &PrivateKey) -> Cases {
    let good = signed(key, header(key, ""), PAYLOAD);
    let (input, signature) = good.rsplit_once('.').unwrap();
    let bytes = unb64(signature);
    let with = |bytes: &[u8]| format!("{input}.{}", b64(bytes));
    let flipped = |at: usize, bit: u8| {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1 << bit;
        with(&bytes)
    };
    let other_payload = signed(key, header(key, ""), PAYLOAD.replace("orders", "billing"));
    let other_header = signed(key, header(key, r#","kid":"a""#), PAYLOAD);
    let signature_of = |token: &str| token.rsplit_once('.').unwrap().1.to_owned();
    let stranger = PrivateKey::generate(key.algorithm()).unwrap();
    let embedded = |member: &str| signed(&stranger, header(key, member), PAYLOAD);
    let jwk = stranger.public().to_jwk().to_json();
    let last = bytes.len() - 1;
    vec![
        case("first bit", flipped(0, 7), "signature"),
        case("a bit in the middle", flipped(last / 2, 0), "signature"),
        case("last bit", flipped(last, 0), "signature"),
        case("zeros", with(&vec![0; bytes.len()]), "signature"),
        case("ones", with(&vec![0xff; bytes.len()]), "signature"),
        case("one byte short", with(&bytes[..last]), "signature length"),
        case("one byte long", with(&[&bytes[..], &[0]].concat()), "signature length"),
        case("twice", with(&bytes.repeat(2)), "signature length"),
        case("one byte", with(&[0]), "signature length"),
        case("of another payload", format!("{input}.{}", signature_of(&other_payload)), "signature"),
        case("of another header", format!("{input}.{}", signature_of(&other_header)), "signature"),
        case("of another key", signed(&stranger, header(key, ""), PAYLOAD), "signature"),
        case(
            "over the decoded parts",
            {
                let message = format!("{}.{PAYLOAD}", header(key, ""));
                with(&key.sign(message.as_bytes()).unwrap())
            },
            "signature",
        ),
        case("over the payload alone", with(&key.sign(PAYLOAD.as_bytes()).unwrap()), "signature"),
        case("of a key in the header (jwk)", embedded(&format!(",\"jwk\":{jwk}")), "signature"),
        case("of a key behind jku", embedded(r#","jku":"https://evil.example/keys""#), "signature"),
        case("of a key behind x5u", embedded(r#","x5u":"https://evil.example/cert""#), "signature"),
        case("of a key in x5c", embedded(r#","x5c":["MIIB"]"#), "signature"),
        case(
            "hexadecimal",
            format!("{input}.{}", bytes.iter().map(|b| format!("{b:02x}")).collect::<String>()),
            "signature length",
        ),
    ]
}
