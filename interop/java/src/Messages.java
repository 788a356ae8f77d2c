import com.google.gson.JsonObject;
import java.util.Base64;
import java.util.Map;
import org.bouncycastle.asn1.cms.CMSObjectIdentifiers;
import org.bouncycastle.asn1.cms.ContentInfo;
import org.bouncycastle.asn1.nist.NISTObjectIdentifiers;
import org.bouncycastle.asn1.pkcs.PKCSObjectIdentifiers;
import org.bouncycastle.asn1.x509.AlgorithmIdentifier;
import org.bouncycastle.cert.jcajce.JcaX509CertificateConverter;
import org.bouncycastle.cms.CMSAlgorithm;
import org.bouncycastle.cms.CMSAuthEnvelopedData;
import org.bouncycastle.cms.CMSAuthEnvelopedDataGenerator;
import org.bouncycastle.cms.CMSEnvelopedData;
import org.bouncycastle.cms.CMSEnvelopedDataGenerator;
import org.bouncycastle.cms.CMSProcessableByteArray;
import org.bouncycastle.cms.CMSSignedData;
import org.bouncycastle.cms.CMSSignedDataGenerator;
import org.bouncycastle.cms.Recipient;
import org.bouncycastle.cms.RecipientInformationStore;
import org.bouncycastle.cms.jcajce.JcaSignerInfoGeneratorBuilder;
import org.bouncycastle.cms.jcajce.JcaSimpleSignerInfoVerifierBuilder;
import org.bouncycastle.cms.jcajce.JceCMSContentEncryptorBuilder;
import org.bouncycastle.cms.jcajce.JceKEMAuthEnvelopedRecipient;
import org.bouncycastle.cms.jcajce.JceKEMEnvelopedRecipient;
import org.bouncycastle.cms.jcajce.JceKEMRecipientInfoGenerator;
import org.bouncycastle.operator.OutputAEADEncryptor;
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
        var recipient = new JceKEMRecipientInfoGenerator(certificate, CMSAlgorithm.AES256_WRAP).setProvider("BC")
                .setKDF(new AlgorithmIdentifier(PKCSObjectIdentifiers.id_alg_hkdf_with_sha256));
        var content = new CMSProcessableByteArray(content(request));
        if (Partner.text(request, "cipher").endsWith("GCM")) {
            var generator = new CMSAuthEnvelopedDataGenerator();
            generator.addRecipientInfoGenerator(recipient);
            var cipher = new JceCMSContentEncryptorBuilder(CMSAlgorithm.AES256_GCM).setProvider("BC").build();
            return message(generator.generate(content, (OutputAEADEncryptor) cipher).toASN1Structure().getEncoded("DER"));
        }
        var generator = new CMSEnvelopedDataGenerator();
        generator.addRecipientInfoGenerator(recipient);
        var cipher = new JceCMSContentEncryptorBuilder(CMSAlgorithm.AES256_CBC).setProvider("BC").build();
        return message(generator.generate(content, cipher).toASN1Structure().getEncoded("DER"));
    }

    private static JsonObject open(JsonObject request) throws Exception {
        byte[] der = Pem.read(Partner.text(request, "message"));
        var key = Tokens.privateKey(Partner.text(request, "key"));
        var type = ContentInfo.getInstance(der).getContentType();
        try {
            if (type.equals(CMSObjectIdentifiers.authEnvelopedData)) {
                var message = new CMSAuthEnvelopedData(der);
                return opened(message.getRecipientInfos(), new JceKEMAuthEnvelopedRecipient(key).setProvider("BC"));
            }
            var message = new CMSEnvelopedData(der);
            return opened(message.getRecipientInfos(), new JceKEMEnvelopedRecipient(key).setProvider("BC"));
        } catch (org.bouncycastle.cms.CMSException wrong) {
            throw new Partner.Refused(wrong);
        }
    }

    private static JsonObject opened(RecipientInformationStore recipients, Recipient with) throws Exception {
        return content(recipients.getRecipients().iterator().next().getContent(with));
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
