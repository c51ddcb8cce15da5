"""Google's names for clients that insist on them: a private CA, and a server with its certificate.

The names belong into /etc/hosts of a machine or of a laptop, and the CA into its trust.
"""

import datetime
import pathlib
import ssl

from . import server

NAMES = [f"{name}.googleapis.com" for name in (
    "compute", "www", "oauth2", "iam", "iamcredentials", "cloudresourcemanager", "sts", "storage",
    "serviceusage", "tpu")]
# How clients find the CA: Shoal, requests, httplib2 and gcloud.
TRUST = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "HTTPLIB2_CA_CERTS",
         "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE")


def make(folder):
    """Write FOLDER/ca.pem and FOLDER/server.pem (key and certificate)."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    now = datetime.datetime.now(datetime.timezone.utc)
    day = datetime.timedelta(days=1)

    def certificate(title, key, issuer, signer, *extensions):
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, title)])
        made = x509.CertificateBuilder().subject_name(name).issuer_name(issuer or name).public_key(
            key.public_key()).serial_number(x509.random_serial_number()).not_valid_before(
                now - day).not_valid_after(now + 30 * day)
        for extension, critical in extensions:
            made = made.add_extension(extension, critical)
        return made.sign(signer, hashes.SHA256())

    def usage(signs):
        return x509.KeyUsage(not signs, False, False, False, False, signs, signs, False, False)

    authority, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    own = x509.SubjectKeyIdentifier.from_public_key(authority.public_key())
    ca = certificate("test cloud", authority, None, authority,
                     (x509.BasicConstraints(True, 0), True), (usage(True), True), (own, False))
    leaf = certificate(
        "*.googleapis.com", key, ca.subject, authority,
        (x509.BasicConstraints(False, None), True), (usage(False), True),
        (x509.SubjectAlternativeName([x509.DNSName("*.googleapis.com")]), False),
        (x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(own), False),
        (x509.ExtendedKeyUsage([x509.ExtendedKeyUsageOID.SERVER_AUTH]), False))
    pem = serialization.Encoding.PEM
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8,
                               serialization.NoEncryption())
    folder = pathlib.Path(folder)
    (folder / "ca.pem").write_bytes(ca.public_bytes(pem))
    (folder / "server.pem").write_bytes(secret + leaf.public_bytes(pem))
    (folder / "server.pem").chmod(0o600)


class TlsListener(server.Listener):
    """The handshake happens in the thread of the connection."""

    def __init__(self, folder, *words):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(pathlib.Path(folder, "server.pem"))
        super().__init__(*words)

    def get_request(self):
        plain, address = super().get_request()
        return self.context.wrap_socket(plain, server_side=True,
                                        do_handshake_on_connect=False), address
