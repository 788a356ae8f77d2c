import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Base64;

/** Compact JWS and AKP keys (RFC 7515 §7.1, RFC 9964 §3), put together by hand. */
final class Akp {
    static byte[] decode(String text) {
        return Base64.getUrlDecoder().decode(text);
    }

    static String encode(byte[] bytes) {
        return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
    }

    static String encode(String text) {
        return encode(text.getBytes(StandardCharsets.UTF_8));
    }

    static String privateJwk(String alg, byte[] pub, byte[] priv) {
        return Partner.said("kty", "AKP", "alg", alg, "pub", encode(pub), "priv", encode(priv)).toString();
    }

    static String jwks(String alg, byte[] pub) throws Exception {
        var key = Partner.said("kty", "AKP", "kid", thumbprint(alg, pub), "alg", alg, "pub", encode(pub));
        return "{\"keys\":[" + key + "]}";
    }

    /** RFC 7638 over the members that RFC 9964 §6 names, in this order. */
    static String thumbprint(String alg, byte[] pub) throws Exception {
        String members = Partner.said("alg", alg, "kty", "AKP", "pub", encode(pub)).toString();
        return encode(MessageDigest.getInstance("SHA-256").digest(members.getBytes(StandardCharsets.UTF_8)));
    }

    /** What a private JWK holds, its length not looked at. */
    static byte[] privateIn(String jwk, String alg) {
        JsonObject key = JsonParser.parseString(jwk).getAsJsonObject();
        if (!alg.equals(Partner.text(key, "alg"))) {
            throw new IllegalArgumentException("not a key of " + alg);
        }
        return decode(Partner.text(key, "priv"));
    }

    /** The raw public key that the set holds under this algorithm and kid. */
    static byte[] publicIn(String set, String alg, String kid) {
        for (JsonElement entry : JsonParser.parseString(set).getAsJsonObject().getAsJsonArray("keys")) {
            JsonObject key = entry.getAsJsonObject();
            if (alg.equals(Partner.text(key, "alg")) && kid.equals(Partner.text(key, "kid"))) {
                return decode(Partner.text(key, "pub"));
            }
        }
        throw new IllegalArgumentException("no key of " + alg + " under the kid " + kid);
    }

    static String signingInput(String alg, byte[] pub, String typ, String payload) throws Exception {
        JsonObject header = Partner.said("alg", alg, "kid", thumbprint(alg, pub));
        if (typ != null) {
            header.addProperty("typ", typ);
        }
        return encode(header.toString()) + "." + encode(payload);
    }

    /** A compact JWS taken apart, nothing of it verified. */
    record Compact(String kid, byte[] signingInput, String payload, byte[] signature) {
        static Compact of(String token) {
            String[] parts = token.split("\\.", -1);
            JsonObject header =
                    JsonParser.parseString(new String(decode(parts[0]), StandardCharsets.UTF_8)).getAsJsonObject();
            byte[] input = (parts[0] + "." + parts[1]).getBytes(StandardCharsets.US_ASCII);
            String payload = new String(decode(parts[1]), StandardCharsets.UTF_8);
            return new Compact(Partner.text(header, "kid"), input, payload, decode(parts[2]));
        }
    }

    private Akp() {}
}
