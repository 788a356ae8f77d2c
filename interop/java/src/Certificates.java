import com.google.gson.JsonObject;
import java.math.BigInteger;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.util.Date;
import java.util.List;
import java.util.Map;
import org.bouncycastle.asn1.x500.X500Name;
import org.bouncycastle.asn1.x509.BasicConstraints;
import org.bouncycastle.asn1.x509.Extension;
import org.bouncycastle.asn1.x509.KeyUsage;
import org.bouncycastle.cert.X509CertificateHolder;
import org.bouncycastle.cert.jcajce.JcaX509ExtensionUtils;
import org.bouncycastle.cert.jcajce.JcaX509v3CertificateBuilder;
import org.bouncycastle.operator.ContentSigner;
import org.bouncycastle.operator.jcajce.JcaContentSignerBuilder;
import org.bouncycastle.operator.jcajce.JcaContentVerifierProviderBuilder;
import org.bouncycastle.pkcs.PKCS10CertificationRequest;
import org.bouncycastle.pkcs.jcajce.JcaPKCS10CertificationRequestBuilder;

/** Certificates and requests for them (RFC 5280, RFC 2986), with ML-DSA (RFC 9881) and with the composites of LAMPS. */
final class Certificates {
    // Of those with RSA one of each size and padding: making the keys takes most of a run, and the draft's vectors have all.
    static final List<String> COMPOSITES =
            List.of("MLDSA44-Ed25519-SHA512", "MLDSA65-ECDSA-P256-SHA512", "MLDSA65-Ed25519-SHA512", "MLDSA87-ECDSA-P384-SHA512",
                    "MLDSA87-Ed448-SHAKE256", "MLDSA44-ECDSA-P256-SHA256", "MLDSA44-RSA2048-PSS-SHA256", "MLDSA44-RSA2048-PKCS15-SHA256",
                    "MLDSA65-RSA3072-PSS-SHA512", "MLDSA65-RSA3072-PKCS15-SHA512", "MLDSA65-RSA4096-PSS-SHA512",
                    "MLDSA65-ECDSA-P384-SHA512", "MLDSA87-ECDSA-P521-SHA512");
    static final Map<String, Partner.Ask> ASKS =
            Map.of("make-certificate", Certificates::make, "check-certificate", Certificates::check, "make-request",
                    Certificates::request, "check-request", Certificates::checkRequest, "issue", Certificates::issue,
                    "make-recipient", Certificates::recipient);
    private static final long DAY = 86_400_000L;

    private static JsonObject make(JsonObject request) throws Exception {
        String level = Partner.text(request, "level");
        KeyPair pair = KeyPairGenerator.getInstance(level, "BC").generateKeyPair();
        var name = new X500Name(Partner.text(request, "subject"));
        var certificate = certificate(name, name, pair.getPublic(), pair.getPublic(), pair.getPrivate(), KeyUsage.keyCertSign
                | KeyUsage.digitalSignature, true);
        return Partner.said("certificate", Pem.write("CERTIFICATE", certificate.getEncoded()), "private pem",
                Pem.write("PRIVATE KEY", pair.getPrivate().getEncoded()));
    }

    private static JsonObject check(JsonObject request) throws Exception {
        var certificate = read(Partner.text(request, "certificate"));
        var issuer = read(Partner.text(request, "issuer"));
        var key = Tokens.publicKey(issuer.getSubjectPublicKeyInfo().getEncoded());
        if (!certificate.isSignatureValid(new JcaContentVerifierProviderBuilder().setProvider("BC").build(key))) {
            throw new Partner.Refused("isSignatureValid is false");
        }
        if (!certificate.getIssuer().equals(issuer.getSubject()) || !certificate.isValidOn(new Date())) {
            throw new Partner.Refused("of another issuer, or not of today");
        }
        return Partner.said("subject", commonName(certificate.getSubject()));
    }

    private static JsonObject request(JsonObject request) throws Exception {
        KeyPair pair = KeyPairGenerator.getInstance(Partner.text(request, "level"), "BC").generateKeyPair();
        var name = new X500Name(Partner.text(request, "subject"));
        var made = new JcaPKCS10CertificationRequestBuilder(name, pair.getPublic()).build(signer(pair.getPrivate()));
        return Partner.said("request", Pem.write("CERTIFICATE REQUEST", made.getEncoded()), "private pem",
                Pem.write("PRIVATE KEY", pair.getPrivate().getEncoded()));
    }

    private static JsonObject checkRequest(JsonObject request) throws Exception {
        return Partner.said("subject", commonName(checked(request).getSubject()));
    }

    /** The request, its own signature verified. */
    private static PKCS10CertificationRequest checked(JsonObject request) throws Exception {
        var found = new PKCS10CertificationRequest(Pem.read(Partner.text(request, "request")));
        var key = Tokens.publicKey(found.getSubjectPublicKeyInfo().getEncoded());
        if (!found.isSignatureValid(new JcaContentVerifierProviderBuilder().setProvider("BC").build(key))) {
            throw new Partner.Refused("isSignatureValid is false");
        }
        return found;
    }

    private static JsonObject issue(JsonObject request) throws Exception {
        var asked = checked(request);
        var issuer = read(Partner.text(request, "issuer"));
        var subject = Tokens.publicKey(asked.getSubjectPublicKeyInfo().getEncoded());
        var certificate = certificate(issuer.getSubject(), asked.getSubject(), subject,
                Tokens.publicKey(issuer.getSubjectPublicKeyInfo().getEncoded()),
                Tokens.privateKey(Partner.text(request, "issuer_key")), KeyUsage.digitalSignature, false);
        return Partner.said("certificate", Pem.write("CERTIFICATE", certificate.getEncoded()));
    }

    /** A certificate for ML-KEM-768 (RFC 9935), which an authority of ML-DSA issued. */
    private static JsonObject recipient(JsonObject request) throws Exception {
        KeyPair pair = KeyPairGenerator.getInstance("ML-KEM-768", "BC").generateKeyPair();
        var issuer = read(Partner.text(request, "issuer"));
        var certificate = certificate(issuer.getSubject(), new X500Name(Partner.text(request, "subject")), pair.getPublic(),
                Tokens.publicKey(issuer.getSubjectPublicKeyInfo().getEncoded()),
                Tokens.privateKey(Partner.text(request, "issuer_key")), KeyUsage.keyEncipherment, false);
        return Partner.said("certificate", Pem.write("CERTIFICATE", certificate.getEncoded()), "private pem",
                Pem.write("PRIVATE KEY", pair.getPrivate().getEncoded()));
    }

    private static X509CertificateHolder certificate(X500Name issuer, X500Name subject, PublicKey key, PublicKey issuerKey,
            PrivateKey with, int usage, boolean authority) throws Exception {
        Date now = new Date();
        var serial = new BigInteger(127, Tokens.RANDOM).setBit(126);
        var extensions = new JcaX509ExtensionUtils();
        return new JcaX509v3CertificateBuilder(issuer, serial, new Date(now.getTime() - DAY), new Date(now.getTime() + 30 * DAY),
                subject, key)
                .addExtension(Extension.basicConstraints, true, new BasicConstraints(authority))
                .addExtension(Extension.keyUsage, true, new KeyUsage(usage))
                .addExtension(Extension.subjectKeyIdentifier, false, extensions.createSubjectKeyIdentifier(key))
                .addExtension(Extension.authorityKeyIdentifier, false, extensions.createAuthorityKeyIdentifier(issuerKey))
                .build(signer(with));
    }

    static ContentSigner signer(PrivateKey key) throws Exception {
        return new JcaContentSignerBuilder(key.getAlgorithm()).setProvider("BC").build(key);
    }

    static X509CertificateHolder read(String pem) throws Exception {
        return new X509CertificateHolder(Pem.read(pem));
    }

    private static String commonName(X500Name name) {
        return name.getRDNs(org.bouncycastle.asn1.x500.style.BCStyle.CN)[0].getFirst().getValue().toString();
    }

    private Certificates() {}
}
