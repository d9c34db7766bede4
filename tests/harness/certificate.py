"""A certificate of one's own for a host that is not there, and what makes Chromium trust it."""

import base64
import datetime
import hashlib
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

CERTIFICATE, KEY = "certificate.pem", "key.pem"


def certify(folder: Path, host: str) -> str:
    """A certificate for this host and each one below it, and its key, in `folder`; Chromium's flag that trusts it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    now = datetime.datetime.now(datetime.UTC)
    names = x509.SubjectAlternativeName([x509.DNSName(host), x509.DNSName(f"*.{host}")])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=7))
        .add_extension(names, critical=False)
        .sign(key, hashes.SHA256())
    )
    pem, formats = serialization.Encoding.PEM, serialization.PrivateFormat
    (folder / KEY).write_bytes(key.private_bytes(pem, formats.PKCS8, serialization.NoEncryption()))
    (folder / CERTIFICATE).write_bytes(certificate.public_bytes(pem))
    public = key.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return "--ignore-certificate-errors-spki-list=" + base64.b64encode(hashlib.sha256(public).digest()).decode()
