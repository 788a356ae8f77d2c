"""pyca/cryptography's certificates and requests with ML-DSA (RFC 9881). It has no CMS with ML-DSA."""

import datetime

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization as form_of
from cryptography.x509.oid import NameOID

from pyca_keys import PRIVATE
from wire import Refused

DAY = datetime.timedelta(days=1)


def make_certificate(level, subject):
    key = PRIVATE[level].generate()
    made = certificate(name(subject), name(subject), key.public_key(), key.public_key(), authority=True).sign(key, None)
    return {"certificate": pem(made), "private pem": private_pem(key)}


def check_certificate(certificate, issuer):
    found, root = (x509.load_pem_x509_certificate(text.encode()) for text in (certificate, issuer))
    try:
        found.verify_directly_issued_by(root)
    except (InvalidSignature, ValueError, TypeError) as error:
        raise Refused(f"{type(error).__name__}: {error}")
    return {"subject": common_name(found)}


def make_request(level, subject):
    key = PRIVATE[level].generate()
    made = x509.CertificateSigningRequestBuilder().subject_name(name(subject)).sign(key, None)
    return {"request": pem(made), "private pem": private_pem(key)}


def check_request(request):
    return {"subject": common_name(good(request))}


def issue(request, issuer, issuer_key):
    found, root = good(request), x509.load_pem_x509_certificate(issuer.encode())
    key = form_of.load_pem_private_key(issuer_key.encode(), password=None)
    made = certificate(root.subject, found.subject, found.public_key(), root.public_key(), authority=False).sign(key, None)
    return {"certificate": pem(made)}


def good(request):
    """The request, its own signature verified."""
    found = x509.load_pem_x509_csr(request.encode())
    if not found.is_signature_valid:
        raise Refused("is_signature_valid is False")
    return found


def certificate(issuer, subject, key, issuer_key, authority):
    now = datetime.datetime.now(datetime.timezone.utc)
    usage = dict.fromkeys(
        ["content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "crl_sign", "encipher_only", "decipher_only"],
        False,
    )
    return (
        x509.CertificateBuilder()
        .issuer_name(issuer)
        .subject_name(subject)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - DAY)
        .not_valid_after(now + 30 * DAY)
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .add_extension(x509.KeyUsage(digital_signature=True, key_cert_sign=authority, **usage), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key), critical=False)
    )


def name(subject):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject.removeprefix("CN="))])


def common_name(found):
    return found.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value


def pem(made):
    return made.public_bytes(form_of.Encoding.PEM).decode()


def private_pem(key):
    return key.private_bytes(form_of.Encoding.PEM, form_of.PrivateFormat.PKCS8, form_of.NoEncryption()).decode()


ASKS = {
    "make-certificate": make_certificate, "check-certificate": check_certificate, "make-request": make_request,
    "check-request": check_request, "issue": issue,
}  # fmt: skip
