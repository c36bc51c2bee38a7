"""Certificates as docs/how-to/clusters.md says to make them, for tests."""

from __future__ import annotations

import datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from nashbed.controlplane.contract.cluster import ClusterTls

DAY = datetime.timedelta(days=1)


def make_certificates(folder: Path, days: int = 2, extensions: bool = True) -> ClusterTls:
    """An authority, and a certificate that it signed.

    Args:
        folder: A new folder for the three files.
        days: For how long the certificate is good; negative: it has expired.
        extensions: Whether they carry those that Python 3.13 and later ask for.
    """
    folder.mkdir()
    authority, authority_key = _certificate("authority", None, None, 10, extensions)
    certificate, key = _certificate("me", authority, authority_key, days, extensions)
    files = {
        "ca": authority.public_bytes(serialization.Encoding.PEM),
        "certificate": certificate.public_bytes(serialization.Encoding.PEM),
        "key": key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
    }
    for name, content in files.items():
        (folder / f"{name}.pem").write_bytes(content)
    return ClusterTls(**{name: str(folder / f"{name}.pem") for name in files})


def _certificate(
    name: str,
    issuer: x509.Certificate | None,
    issuer_key: ec.EllipticCurvePrivateKey | None,
    days: int,
    extensions: bool,
) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if issuer is None else issuer.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - 5 * DAY)
        .not_valid_after(now + days * DAY)
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
    )
    if extensions:
        signer = (issuer_key or key).public_key()
        builder = (
            builder.add_extension(_usage(signs=issuer is None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer), False)
        )
    return builder.sign(issuer_key or key, hashes.SHA256()), key


def _usage(signs: bool) -> x509.KeyUsage:
    """What a key is for: an authority's signs certificates, another shows who one is."""
    others = ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement")
    unused = dict.fromkeys((*others, "encipher_only", "decipher_only"), False)
    return x509.KeyUsage(digital_signature=not signs, key_cert_sign=signs, crl_sign=signs, **unused)
