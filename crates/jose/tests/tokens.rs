//! Tokens that must be refused (RFC 8725, and what has gone wrong elsewhere), each by name and with its error.
//!
//! Unless the case is about the signature, the signature is good: nothing else may be the reason.

use std::net::TcpListener;
use std::time::Duration;

use aws_lc_rs::hmac;
use sealstone_jose::jws::{self, Header, Unverified};
use sealstone_jose::jwt::{Rules, Token};
use sealstone_jose::{Algorithm, Error, JwkSet, PrivateKey, UnixSeconds};

use crate::{assert_refused, b64, kind, signed, unb64};

const NOW: UnixSeconds = UnixSeconds(1_800_000_000);
const PAYLOAD: &str = r#"{"iss":"https://id.example","aud":"orders","exp":1800000300}"#;

/// A table of cases: name, token, kind of the error.
type Cases = Vec<(String, String, &'static str)>;

fn accept(key: &PrivateKey, token: &str) -> Result<Token, Error> {
    let rules = Rules::new().issuer("https://id.example").audience("orders").typ("at+jwt");
    rules.check(Unverified::parse(token)?.verify(key.public())?, NOW)
}

#[test]
fn refusals() {
    let mut total = 0;
    for algorithm in [Algorithm::Es256, Algorithm::Ed25519, Algorithm::MlDsa44] {
        let key = PrivateKey::generate(algorithm).unwrap();
        let good = signed(&key, header(&key, ""), PAYLOAD);
        let cases: Cases =
            [algorithms(&key), headers(&key), encodings(&key), payloads(&key), signatures(&key)].concat();
        for (name, token, expected) in &cases {
            let outcome = accept(&key, token);
            assert_refused(&format!("{algorithm}, {name}"), outcome, expected);
            // A refusal leaves nothing behind.
            assert!(accept(&key, &good).is_ok(), "after {name}");
        }
        total += cases.len();
    }
    println!("tokens: {total} refused");
    assert!(total >= 3 * 150, "{total}");
}

/// `more` is put into a header that is otherwise good.
fn header(key: &PrivateKey, more: &str) -> String {
    format!(r#"{{"alg":"{}","typ":"at+jwt"{more}}}"#, key.algorithm())
}

fn case(name: impl Into<String>, token: String, kind: &'static str) -> (String, String, &'static str) {
    (name.into(), token, kind)
}

fn algorithms(key: &PrivateKey) -> Cases {
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
        "RS256",
        "PS256",
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
        let fitting = format!("{}.{}.{}", b64(&header), b64(PAYLOAD), b64(vec![0; other.signature_len()]));
        cases.push(case(format!("alg {other}, length to fit"), fitting, "algorithm mismatch"));
        if other.signature_len() != key.algorithm().signature_len() {
            cases.push(case(format!("alg {other}"), signed(key, header, PAYLOAD), "signature length"));
        }
    }
    // The public key as the secret of a MAC: CVE-2015-9235.
    for secret in [key.public().as_bytes().to_vec(), key.public().to_jwk().to_json().into_bytes()] {
        let input = format!("{}.{}", b64(r#"{"alg":"HS256","typ":"at+jwt"}"#), b64(PAYLOAD));
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &secret), input.as_bytes());
        cases.push(case(
            "HS256 with the public key as secret",
            format!("{input}.{}", b64(tag)),
            "algorithm unknown",
        ));
    }
    cases
}

fn headers(key: &PrivateKey) -> Cases {
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

fn encodings(key: &PrivateKey) -> Cases {
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

fn payloads(key: &PrivateKey) -> Cases {
    let of = |payload: &[u8]| signed(key, header(key, ""), payload);
    let with = |more: &str| of(PAYLOAD.replace('}', &format!(",{more}}}")).as_bytes());
    let exp = |value: &str| of(PAYLOAD.replace("1800000300", value).as_bytes());
    let aud = |value: &str| of(PAYLOAD.replace("\"orders\"", value).as_bytes());
    let iss = |value: &str| of(PAYLOAD.replace("\"https://id.example\"", value).as_bytes());
    let deep = |levels: usize| with(&format!("\"x\":{}{}", "[".repeat(levels), "]".repeat(levels)));
    let mut cases = vec![
        case("payload not JSON", of(b"hello"), "json"),
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

fn signatures(key: &PrivateKey) -> Cases {
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

/// Nothing a header says opens a connection: a listener that every link in it points to sees none.
#[test]
fn links_in_a_header_are_never_followed() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}/keys", listener.local_addr().unwrap());
    let (key, stranger) =
        (PrivateKey::generate(Algorithm::Es256).unwrap(), PrivateKey::generate(Algorithm::Es256).unwrap());
    let set = JwkSet::new([key.public().clone()]).unwrap();
    for signer in [&key, &stranger] {
        let links = format!(r#","jku":"{url}","x5u":"{url}","kid":"{}""#, key.kid());
        let token = signed(signer, header(&key, &links), PAYLOAD);
        let outcome = Unverified::parse(&token).unwrap().verify_with_set(&set);
        assert_eq!(outcome.is_ok(), core::ptr::eq(signer, &raw const key));
        let _ = accept(&key, &token);
    }
    std::thread::sleep(Duration::from_millis(50));
    let refused = listener.accept().unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::WouldBlock, "a connection was made");
}

/// A key id chooses among the keys of the set, and does nothing else.
#[test]
fn key_ids_that_are_not_in_the_set() {
    let key = PrivateKey::generate(Algorithm::Es256).unwrap();
    let set = JwkSet::new([key.public().clone()]).unwrap();
    for kid in [
        "../../../../etc/passwd",
        "/dev/null",
        "file:///etc/passwd",
        "' OR 1=1 --",
        "x' UNION SELECT 'a",
        "$(id)",
        "|id",
        "http://169.254.169.254/",
        "%00",
        "${jndi:ldap://a}",
        "0",
        "null",
        "__proto__",
        "é",
        "\u{202e}",
    ] {
        let token = signed(&key, header(&key, &format!(",\"kid\":\"{kid}\"")), PAYLOAD);
        assert_refused(kid, Unverified::parse(&token).unwrap().verify_with_set(&set), "unknown kid");
    }
}

/// What we write we can read; what we would refuse we do not write.
#[test]
fn encode_keeps_the_limits_of_parse() {
    let key = PrivateKey::generate(Algorithm::MlDsa44).unwrap();
    let fits = |len: usize| jws::encode(&key, &Header::new(), &vec![b'a'; len]);
    let overhead = fits(3).unwrap().len() - 4;
    let most = (jws::MAX_TOKEN - overhead) / 4 * 3;
    assert!(Unverified::parse(&fits(most).unwrap()).unwrap().verify(key.public()).is_ok());
    assert_refused("payload", fits(most + 3), "too large");
    assert_refused("nothing", jws::encode(&key, &Header::new(), b""), "not compact");
    assert_refused("typ", jws::encode(&key, &Header::new().typ(&"a".repeat(9_000)), b"x"), "too large");
    for kid in ["", "a\nb", &"a".repeat(513)] {
        assert_refused(
            kid,
            jws::encode(&key.clone().with_kid(kid), &Header::new(), b"x"),
            "header malformed",
        );
    }
    let odd = key.clone().with_kid("\"\\é");
    let token = jws::encode(&odd, &Header::new().typ("\"").cty("\\"), b"x").unwrap();
    let parsed = Unverified::parse(&token).unwrap();
    assert_eq!(
        (parsed.header().kid(), parsed.header().typ(), parsed.header().cty()),
        (Some("\"\\é"), Some("\""), Some("\\"))
    );
}

/// The signature's length is looked at before anything else of the token is decoded, and it is never computed with.
#[test]
fn a_wrong_length_is_seen_before_the_payload() {
    for algorithm in Algorithm::ALL {
        let token = format!("{}.***.AAAA", b64(format!(r#"{{"alg":"{algorithm}"}}"#)));
        assert_refused(algorithm.name(), Unverified::parse(&token), "signature length");
    }
}

/// Debug output of a token does not show what is not verified, nor that of a key its secret.
#[test]
fn debug_is_discreet() {
    let key = PrivateKey::from_secret(Algorithm::MlDsa44, &[0xc3; 32]).unwrap();
    let token = jws::encode(&key, &Header::new(), b"a private matter").unwrap();
    assert!(!format!("{:?}", Unverified::parse(&token).unwrap()).contains("private matter"));
    for shown in [format!("{key:?}"), format!("{:?}", key.to_jwk())] {
        assert!(!shown.contains(&b64([0xc3; 32])) && !shown.contains("195"), "{shown}");
    }
}

/// Refusing the worst token we can think of takes no longer than reading it once.
#[test]
fn hostile_tokens_are_refused_quickly() {
    let header = b64(r#"{"alg":"ML-DSA-44"}"#);
    let signature = b64(vec![0; 2420]);
    let fill = 65_536 - header.len() - signature.len() - 2;
    let deep = b64(format!("{{\"alg\":\"ES256\",\"x\":{}", "[".repeat(6_000)));
    let tokens = [
        ".".repeat(65_536),
        "A".repeat(65_536),
        format!("{header}.{}.{signature}", "*".repeat(fill)),
        format!("{header}.{}.", "A".repeat(65_000)),
        format!("{deep}.AAAA.{}", b64([0; 64])),
        "A".repeat(1 << 24),
    ];
    for token in tokens {
        let start = std::time::Instant::now();
        let rounds = 100;
        for _ in 0..rounds {
            assert!(Unverified::parse(&token).is_err());
        }
        let each = start.elapsed() / rounds;
        println!(
            "refused {} bytes in {each:?}: {}",
            token.len(),
            kind(&Unverified::parse(&token).unwrap_err())
        );
        // The goal is 50 µs in a release build; a debug build on a busy machine gets far more,
        // but not so much that time quadratic in the size would pass.
        assert!(each < Duration::from_millis(20), "{each:?}");
    }
}
