"""A certificate for the site of these tests, and how a Chromium is told to take it: for these tests only."""

from __future__ import annotations

import base64
import datetime
import hashlib
import ipaddress
import ssl
import tempfile
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Certificate(NamedTuple):
    """Of ``127.0.0.1``, signed by itself."""

    context: ssl.SSLContext
    """For a server."""
    argument: str
    """Has Chromium take it as one that is trusted."""


def made() -> Certificate:
    """A fresh one, for a day."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .sign(key, hashes.SHA256())
    )
    form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        (file := Path(folder) / "site.pem").write_bytes(
            key.private_bytes(*form) + certificate.public_bytes(serialization.Encoding.PEM)
        )
        context.load_cert_chain(file)
    public = key.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    pin = base64.b64encode(hashlib.sha256(public).digest()).decode()
    return Certificate(context, f"--ignore-certificate-errors-spki-list={pin}")
