"""A proxy that speaks https with browsers, before a hub that speaks http, as nginx or a cluster's ingress does."""

import base64
import datetime
import hashlib
import subprocess
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from dshq_widget.classroom.hub.demo import proxy_command
from tests.harness.ports import free_port


class HttpsFront:
    """`with HttpsFront(folder, "hub.localhost") as front:` answers at `front.url` for this host and each one below it,
    with a certificate of its own in `folder`, and asks port `front.inner`. `front.trusted` is Chromium's flag for it.
    """

    def __init__(self, folder: Path, host: str) -> None:
        self.port, self.inner = free_port(), free_port()
        self.url = f"https://{host}:{self.port}"
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
        (folder / "key.pem").write_bytes(key.private_bytes(pem, formats.PKCS8, serialization.NoEncryption()))
        (folder / "certificate.pem").write_bytes(certificate.public_bytes(pem))
        public = key.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        self.trusted = (
            "--ignore-certificate-errors-spki-list=" + base64.b64encode(hashlib.sha256(public).digest()).decode()
        )
        self._folder = folder

    def __enter__(self) -> "HttpsFront":
        places = ["--ip=127.0.0.1", f"--port={self.port}", "--api-ip=127.0.0.1", f"--api-port={free_port()}"]
        keys = [f"--ssl-key={self._folder / 'key.pem'}", f"--ssl-cert={self._folder / 'certificate.pem'}"]
        with (self._folder / "front.log").open("wb") as log:
            command = [*proxy_command(), *places, *keys, f"--default-target=http://127.0.0.1:{self.inner}"]
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()
