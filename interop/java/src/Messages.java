import com.google.gson.JsonObject;
import java.util.Base64;
import java.util.Map;
import org.bouncycastle.asn1.nist.NISTObjectIdentifiers;
import org.bouncycastle.asn1.x509.AlgorithmIdentifier;
import org.bouncycastle.cert.jcajce.JcaX509CertificateConverter;
import org.bouncycastle.cms.CMSAlgorithm;
import org.bouncycastle.cms.CMSEnvelopedData;
import org.bouncycastle.cms.CMSEnvelopedDataGenerator;
import org.bouncycastle.cms.CMSProcessableByteArray;
import org.bouncycastle.cms.CMSSignedData;
import org.bouncycastle.cms.CMSSignedDataGenerator;
import org.bouncycastle.cms.jcajce.JcaSignerInfoGeneratorBuilder;
import org.bouncycastle.cms.jcajce.JcaSimpleSignerInfoVerifierBuilder;
import org.bouncycastle.cms.jcajce.JceCMSContentEncryptorBuilder;
import org.bouncycastle.cms.jcajce.JceKEMEnvelopedRecipient;
import org.bouncycastle.cms.jcajce.JceKEMRecipientInfoGenerator;
import org.bouncycastle.operator.jcajce.JcaDigestCalculatorProviderBuilder;
import org.bouncycastle.util.CollectionStore;

/** CMS: SignedData with ML-DSA (RFC 9882), EnvelopedData for ML-KEM-768 (RFC 9936). */
final class Messages {
    static final Map<String, Partner.Ask> ASKS =
            Map.of("sign-message", Messages::sign, "check-message", Messages::check, "seal-message", Messages::seal,
                    "open-message", Messages::open);

    private static JsonObject sign(JsonObject request) throws Exception {
        var certificate = Certificates.read(Partner.text(request, "certificate"));
        String form = Partner.text(request, "form");
        var digests = new JcaDigestCalculatorProviderBuilder().setProvider("BC").build();
        var signer = new JcaSignerInfoGeneratorBuilder(digests)
                .setDirectSignature(form.contains("without attributes"))
                .setContentDigest(new AlgorithmIdentifier(NISTObjectIdentifiers.id_sha512))
                .build(Certificates.signer(Tokens.privateKey(Partner.text(request, "key"))), certificate);
        var generator = new CMSSignedDataGenerator();
        generator.addSignerInfoGenerator(signer);
        generator.addCertificates(new CollectionStore<>(java.util.List.of(certificate)));
        var content = new CMSProcessableByteArray(content(request));
        return message(generator.generate(content, !form.contains("detached")).getEncoded());
    }

    private static JsonObject check(JsonObject request) throws Exception {
        byte[] der = Pem.read(Partner.text(request, "message"));
        CMSSignedData message;
        try {
            message = request.has("content") ? new CMSSignedData(new CMSProcessableByteArray(content(request)), der)
                    : new CMSSignedData(der);
            var signer = Certificates.read(Partner.text(request, "certificate"));
            var verifier = new JcaSimpleSignerInfoVerifierBuilder().setProvider("BC").build(signer);
            var signers = message.getSignerInfos().getSigners();
            if (signers.size() != 1 || !signers.iterator().next().verify(verifier)) {
                throw new Partner.Refused("verify is false");
            }
        } catch (org.bouncycastle.cms.CMSException wrong) {
            throw new Partner.Refused(wrong);
        }
        return content((byte[]) message.getSignedContent().getContent());
    }

    private static JsonObject seal(JsonObject request) throws Exception {
        var certificate = new JcaX509CertificateConverter().setProvider("BC")
                .getCertificate(Certificates.read(Partner.text(request, "certificate")));
        var generator = new CMSEnvelopedDataGenerator();
        generator.addRecipientInfoGenerator(
                new JceKEMRecipientInfoGenerator(certificate, CMSAlgorithm.AES256_WRAP).setProvider("BC")
                        .setKDF(new AlgorithmIdentifier(org.bouncycastle.asn1.pkcs.PKCSObjectIdentifiers.id_alg_hkdf_with_sha256)));
        var sealed = generator.generate(new CMSProcessableByteArray(content(request)),
                new JceCMSContentEncryptorBuilder(CMSAlgorithm.AES256_CBC).setProvider("BC").build());
        return message(sealed.getEncoded());
    }

    private static JsonObject open(JsonObject request) throws Exception {
        var message = new CMSEnvelopedData(Pem.read(Partner.text(request, "message")));
        var key = Tokens.privateKey(Partner.text(request, "key"));
        try {
            var recipients = message.getRecipientInfos().getRecipients();
            var opened = recipients.iterator().next().getContent(new JceKEMEnvelopedRecipient(key).setProvider("BC"));
            return content(opened);
        } catch (org.bouncycastle.cms.CMSException wrong) {
            throw new Partner.Refused(wrong);
        }
    }

    private static byte[] content(JsonObject request) {
        return Base64.getDecoder().decode(Partner.text(request, "content"));
    }

    private static JsonObject content(byte[] bytes) {
        return Partner.said("content", Base64.getEncoder().encodeToString(bytes));
    }

    private static JsonObject message(byte[] der) throws Exception {
        return Partner.said("message", Pem.write("CMS", der));
    }

    private Messages() {}
}
