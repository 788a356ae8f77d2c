import com.google.gson.JsonObject;
import java.nio.charset.StandardCharsets;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.SecureRandom;
import java.security.spec.PKCS8EncodedKeySpec;
import java.security.spec.X509EncodedKeySpec;
import java.util.List;
import java.util.Map;
import org.bouncycastle.asn1.pkcs.PrivateKeyInfo;
import org.bouncycastle.asn1.x509.SubjectPublicKeyInfo;
import org.bouncycastle.crypto.CipherParameters;
import org.bouncycastle.crypto.params.ParametersWithRandom;
import org.bouncycastle.crypto.params.MLDSAParameters;
import org.bouncycastle.crypto.params.MLDSAPrivateKeyParameters;
import org.bouncycastle.crypto.params.MLDSAPublicKeyParameters;
import org.bouncycastle.crypto.signers.MLDSASigner;
import org.bouncycastle.crypto.util.PrivateKeyFactory;
import org.bouncycastle.crypto.util.PrivateKeyInfoFactory;
import org.bouncycastle.crypto.util.PublicKeyFactory;
import org.bouncycastle.crypto.util.SubjectPublicKeyInfoFactory;

/** Tokens and keys: BouncyCastle's light-weight ML-DSA inside of tokens put together by hand. */
final class Tokens {
    static final List<String> FORMS =
            List.of("private jwk", "private pem", "private pem (both)", "private pem (expanded)", "jwks", "public pem");
    static final Map<String, Partner.Ask> ASKS =
            Map.of("make-key", Tokens::makeKey, "sign-token", Tokens::sign, "check-token", Tokens::check,
                    "load-key", Tokens::load);
    static final SecureRandom RANDOM = new SecureRandom();

    private static final Map<String, MLDSAParameters> PARAMETERS =
            Map.of("ML-DSA-44", MLDSAParameters.ml_dsa_44, "ML-DSA-65", MLDSAParameters.ml_dsa_65, "ML-DSA-87",
                    MLDSAParameters.ml_dsa_87);

    static MLDSAParameters parameters(String level) {
        return PARAMETERS.get(level);
    }

    private static JsonObject makeKey(JsonObject request) throws Exception {
        String level = Partner.text(request, "level");
        if (Composite.NAMES.contains(level)) {
            return Composite.makeKey(level);
        }
        byte[] seed = new byte[32];
        RANDOM.nextBytes(seed);
        var key = new MLDSAPrivateKeyParameters(parameters(level), seed);
        byte[] pub = key.getPublicKey();
        var spki = SubjectPublicKeyInfoFactory.createSubjectPublicKeyInfo(key.getPublicKeyParameters());
        return Partner.said("private jwk", Akp.privateJwk(level, pub, seed), "jwks", Akp.jwks(level, pub),
                "private pem", pkcs8(key, MLDSAPrivateKeyParameters.SEED_ONLY),
                "private pem (both)", pkcs8(key, MLDSAPrivateKeyParameters.BOTH),
                "private pem (expanded)", pkcs8(key, MLDSAPrivateKeyParameters.EXPANDED_KEY),
                "public pem", Pem.write("PUBLIC KEY", spki.getEncoded()));
    }

    /** One of the three forms of RFC 9881 §6. */
    private static String pkcs8(MLDSAPrivateKeyParameters key, int form) throws Exception {
        var info = PrivateKeyInfoFactory.createPrivateKeyInfo(key.getParametersWithFormat(form));
        return Pem.write("PRIVATE KEY", info.getEncoded());
    }

    private static JsonObject sign(JsonObject request) throws Exception {
        String level = Partner.text(request, "level");
        String payload = Partner.text(request, "payload");
        String typ = Partner.text(request, "typ");
        if (Composite.NAMES.contains(level)) {
            return Composite.sign(level, Partner.text(request, "key"), typ, payload);
        }
        var key = privateKey(level, Partner.text(request, "form"), Partner.text(request, "key"));
        String input = Akp.signingInput(level, key.getPublicKey(), typ, payload);
        byte[] data = input.getBytes(StandardCharsets.US_ASCII);
        var signer = new MLDSASigner();
        signer.init(true, new ParametersWithRandom(key, RANDOM));
        signer.update(data, 0, data.length);
        return Partner.said("token", input + "." + Akp.encode(signer.generateSignature()));
    }

    private static JsonObject check(JsonObject request) throws Exception {
        String level = Partner.text(request, "level");
        var token = Akp.Compact.of(Partner.text(request, "token"));
        String given = Partner.text(request, "key");
        boolean good;
        if (Composite.NAMES.contains(level)) {
            good = Composite.verify(level, Akp.publicIn(given, level, token.kid()), token);
        } else {
            CipherParameters key =
                    Partner.text(request, "form").equals("jwks")
                            ? new MLDSAPublicKeyParameters(parameters(level), Akp.publicIn(given, level, token.kid()))
                            : PublicKeyFactory.createKey(Pem.read(given));
            var verifier = new MLDSASigner();
            verifier.init(false, key);
            verifier.update(token.signingInput(), 0, token.signingInput().length);
            good = verifier.verifySignature(token.signature());
        }
        if (!good) {
            throw new Partner.Refused("verifySignature is false");
        }
        return Partner.said("payload", token.payload());
    }

    private static JsonObject load(JsonObject request) throws Exception {
        try {
            privateKey(Partner.text(request, "level"), Partner.text(request, "form"), Partner.text(request, "key"));
        } catch (Exception error) {
            throw new Partner.Refused(error);
        }
        return new JsonObject();
    }

    static MLDSAPrivateKeyParameters privateKey(String level, String form, String text) throws Exception {
        if (form.equals("private jwk")) {
            return new MLDSAPrivateKeyParameters(parameters(level), Akp.privateIn(text, level));
        }
        return (MLDSAPrivateKeyParameters) PrivateKeyFactory.createKey(Pem.read(text));
    }

    /** A key of the JCA, whichever algorithm the PKCS#8 names. */
    static PrivateKey privateKey(String pem) throws Exception {
        byte[] der = Pem.read(pem);
        String algorithm = PrivateKeyInfo.getInstance(der).getPrivateKeyAlgorithm().getAlgorithm().getId();
        return KeyFactory.getInstance(algorithm, "BC").generatePrivate(new PKCS8EncodedKeySpec(der));
    }

    /** The same of an SPKI. */
    static PublicKey publicKey(byte[] der) throws Exception {
        String algorithm = SubjectPublicKeyInfo.getInstance(der).getAlgorithm().getAlgorithm().getId();
        return KeyFactory.getInstance(algorithm, "BC").generatePublic(new X509EncodedKeySpec(der));
    }

    private Tokens() {}
}
