import com.google.gson.JsonObject;
import java.io.ByteArrayOutputStream;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.KeyFactory;
import java.security.KeyPairGenerator;
import java.security.Signature;
import java.security.spec.ECGenParameterSpec;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.bouncycastle.asn1.sec.ECPrivateKey;
import org.bouncycastle.asn1.x9.X9ObjectIdentifiers;
import org.bouncycastle.asn1.sec.SECObjectIdentifiers;
import org.bouncycastle.asn1.ASN1ObjectIdentifier;
import org.bouncycastle.crypto.Xof;
import org.bouncycastle.crypto.digests.SHA256Digest;
import org.bouncycastle.crypto.digests.SHA512Digest;
import org.bouncycastle.crypto.digests.SHAKEDigest;
import org.bouncycastle.crypto.params.Ed25519PrivateKeyParameters;
import org.bouncycastle.crypto.params.Ed25519PublicKeyParameters;
import org.bouncycastle.crypto.params.Ed448PrivateKeyParameters;
import org.bouncycastle.crypto.params.Ed448PublicKeyParameters;
import org.bouncycastle.crypto.params.MLDSAPrivateKeyParameters;
import org.bouncycastle.crypto.params.MLDSAPublicKeyParameters;
import org.bouncycastle.crypto.params.ParametersWithContext;
import org.bouncycastle.crypto.signers.Ed25519Signer;
import org.bouncycastle.crypto.signers.Ed448Signer;
import org.bouncycastle.crypto.signers.MLDSASigner;
import org.bouncycastle.jce.ECNamedCurveTable;
import org.bouncycastle.jce.spec.ECPrivateKeySpec;
import org.bouncycastle.jce.spec.ECPublicKeySpec;

/** draft-ietf-jose-pq-composite-sigs-04 by its text: two signatures over M', one after the other. */
final class Composite {
    /** One algorithm: the level of ML-DSA, the label, the pre-hash, and the traditional half. */
    private record Kind(String level, String label, String hash, String traditional, int publicLength) {}

    private static final Map<String, Kind> KINDS =
            Map.of(
                    "ML-DSA-44-ES256", new Kind("ML-DSA-44", "COMPSIG-MLDSA44-ECDSA-P256-SHA256", "SHA256", "P-256", 1312),
                    "ML-DSA-65-ES256", new Kind("ML-DSA-65", "COMPSIG-MLDSA65-ECDSA-P256-SHA512", "SHA512", "P-256", 1952),
                    "ML-DSA-87-ES384", new Kind("ML-DSA-87", "COMPSIG-MLDSA87-ECDSA-P384-SHA512", "SHA512", "P-384", 2592),
                    "ML-DSA-44-Ed25519", new Kind("ML-DSA-44", "COMPSIG-MLDSA44-Ed25519-SHA512", "SHA512", "Ed25519", 1312),
                    "ML-DSA-65-Ed25519", new Kind("ML-DSA-65", "COMPSIG-MLDSA65-Ed25519-SHA512", "SHA512", "Ed25519", 1952),
                    "ML-DSA-87-Ed448", new Kind("ML-DSA-87", "COMPSIG-MLDSA87-Ed448-SHAKE256", "SHAKE256", "Ed448", 2592));
    static final List<String> NAMES = KINDS.keySet().stream().sorted().toList();
    private static final byte[] PREFIX = ascii("CompositeAlgorithmSignatures2025");
    private static final int SEED = 32;

    static JsonObject makeKey(String alg) throws Exception {
        Kind kind = KINDS.get(alg);
        byte[] seed = new byte[SEED];
        Tokens.RANDOM.nextBytes(seed);
        byte[] first = new MLDSAPrivateKeyParameters(Tokens.parameters(kind.level), seed).getPublicKey();
        byte[][] second = makeTraditional(kind.traditional);
        byte[] pub = join(first, second[0]);
        return Partner.said("private jwk", Akp.privateJwk(alg, pub, join(seed, second[1])), "jwks", Akp.jwks(alg, pub));
    }

    static JsonObject sign(String alg, String jwk, String typ, String payload) throws Exception {
        Kind kind = KINDS.get(alg);
        byte[] priv = Akp.privateIn(jwk, alg);
        var key = new MLDSAPrivateKeyParameters(Tokens.parameters(kind.level), Arrays.copyOf(priv, SEED));
        byte[] traditional = Arrays.copyOfRange(priv, SEED, priv.length);
        byte[] pub = join(key.getPublicKey(), publicOf(kind.traditional, traditional));
        String input = Akp.signingInput(alg, pub, typ, payload);
        byte[] message = message(kind, ascii(input));
        var signer = new MLDSASigner();
        signer.init(true, new ParametersWithContext(key, ascii(kind.label)));
        signer.update(message, 0, message.length);
        byte[] signature = join(signer.generateSignature(), signTraditional(kind.traditional, traditional, message));
        return Partner.said("token", input + "." + Akp.encode(signature));
    }

    /** Both halves are always looked at, and both must be good. */
    static boolean verify(String alg, byte[] pub, Akp.Compact token) throws Exception {
        Kind kind = KINDS.get(alg);
        byte[] message = message(kind, token.signingInput());
        int length = Map.of("ML-DSA-44", 2420, "ML-DSA-65", 3309, "ML-DSA-87", 4627).get(kind.level);
        byte[] signature = token.signature();
        var verifier = new MLDSASigner();
        var key = new MLDSAPublicKeyParameters(Tokens.parameters(kind.level), Arrays.copyOf(pub, kind.publicLength));
        verifier.init(false, new ParametersWithContext(key, ascii(kind.label)));
        verifier.update(message, 0, message.length);
        boolean first = verifier.verifySignature(Arrays.copyOf(signature, length));
        boolean second =
                verifyTraditional(
                        kind.traditional,
                        Arrays.copyOfRange(pub, kind.publicLength, pub.length),
                        message,
                        Arrays.copyOfRange(signature, length, signature.length));
        return first && second;
    }

    /** M' = Prefix || Label || 0x00 || PH(signing input); the zero is the length of an empty application context. */
    private static byte[] message(Kind kind, byte[] input) {
        byte[] digest;
        if (kind.hash.equals("SHAKE256")) {
            digest = new byte[64];
            Xof shake = new SHAKEDigest(256);
            shake.update(input, 0, input.length);
            shake.doFinal(digest, 0, digest.length);
        } else {
            var hash = kind.hash.equals("SHA256") ? new SHA256Digest() : new SHA512Digest();
            digest = new byte[hash.getDigestSize()];
            hash.update(input, 0, input.length);
            hash.doFinal(digest, 0);
        }
        return join(PREFIX, ascii(kind.label), new byte[1], digest);
    }

    /** The public and the private half. */
    private static byte[][] makeTraditional(String name) throws Exception {
        byte[] own;
        switch (name) {
            case "Ed25519" -> own = new Ed25519PrivateKeyParameters(Tokens.RANDOM).getEncoded();
            case "Ed448" -> own = new Ed448PrivateKeyParameters(Tokens.RANDOM).getEncoded();
            default -> {
                var generator = KeyPairGenerator.getInstance("EC", "BC");
                generator.initialize(new ECGenParameterSpec(name));
                var d = ((org.bouncycastle.jce.interfaces.ECPrivateKey) generator.generateKeyPair().getPrivate()).getD();
                var key = new ECPrivateKey(bits(name), d, curve(name));
                own = key.getEncoded("DER");
            }
        }
        return new byte[][] {publicOf(name, own), own};
    }

    private static byte[] publicOf(String name, byte[] own) throws Exception {
        switch (name) {
            case "Ed25519":
                return new Ed25519PrivateKeyParameters(own).generatePublicKey().getEncoded();
            case "Ed448":
                return new Ed448PrivateKeyParameters(own).generatePublicKey().getEncoded();
            default:
                var spec = ECNamedCurveTable.getParameterSpec(name);
                return spec.getG().multiply(ECPrivateKey.getInstance(own).getKey()).normalize().getEncoded(false);
        }
    }

    private static byte[] signTraditional(String name, byte[] own, byte[] message) throws Exception {
        if (name.equals("Ed25519") || name.equals("Ed448")) {
            var signer = name.equals("Ed448") ? new Ed448Signer(new byte[0]) : new Ed25519Signer();
            signer.init(true, name.equals("Ed448") ? new Ed448PrivateKeyParameters(own) : new Ed25519PrivateKeyParameters(own));
            signer.update(message, 0, message.length);
            return signer.generateSignature();
        }
        BigInteger d = ECPrivateKey.getInstance(own).getKey();
        var spec = ECNamedCurveTable.getParameterSpec(name);
        var signer = Signature.getInstance(ecdsa(name), "BC");
        signer.initSign(KeyFactory.getInstance("EC", "BC").generatePrivate(new ECPrivateKeySpec(d, spec)));
        signer.update(message);
        return signer.sign();
    }

    private static boolean verifyTraditional(String name, byte[] pub, byte[] message, byte[] signature) throws Exception {
        if (name.equals("Ed25519") || name.equals("Ed448")) {
            var verifier = name.equals("Ed448") ? new Ed448Signer(new byte[0]) : new Ed25519Signer();
            verifier.init(false, name.equals("Ed448") ? new Ed448PublicKeyParameters(pub) : new Ed25519PublicKeyParameters(pub));
            verifier.update(message, 0, message.length);
            return verifier.verifySignature(signature);
        }
        var spec = ECNamedCurveTable.getParameterSpec(name);
        var key = KeyFactory.getInstance("EC", "BC").generatePublic(new ECPublicKeySpec(spec.getCurve().decodePoint(pub), spec));
        var verifier = Signature.getInstance(ecdsa(name), "BC");
        verifier.initVerify(key);
        verifier.update(message);
        try {
            return verifier.verify(signature);
        } catch (java.security.SignatureException malformed) {
            return false;
        }
    }

    private static String ecdsa(String curve) {
        return curve.equals("P-256") ? "SHA256withECDSA" : "SHA384withECDSA";
    }

    private static int bits(String curve) {
        return curve.equals("P-256") ? 256 : 384;
    }

    private static ASN1ObjectIdentifier curve(String name) {
        return name.equals("P-256") ? X9ObjectIdentifiers.prime256v1 : SECObjectIdentifiers.secp384r1;
    }

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    private static byte[] join(byte[]... parts) {
        var all = new ByteArrayOutputStream();
        for (byte[] part : parts) {
            all.writeBytes(part);
        }
        return all.toByteArray();
    }

    private Composite() {}
}
