"""Certificates of an authority of one's own, for tests."""

import datetime
from pathlib import Path

import trustme
from nashbed.controlplane.contract.cluster import ClusterTls

DAY = datetime.timedelta(days=1)


def make_certificates(folder: Path, days: int = 2) -> ClusterTls:
    """An authority, and a certificate that it signed.

    Args:
        folder: A new folder for the three files.
        days: For how long the certificate is good; negative: it has expired.
    """
    folder.mkdir()
    now, authority = datetime.datetime.now(datetime.UTC), trustme.CA()
    mine = authority.issue_cert("me", not_before=now - 5 * DAY, not_after=now + days * DAY)
    blobs = {
        "ca": authority.cert_pem,
        "certificate": mine.cert_chain_pems[0],
        "key": mine.private_key_pem,
    }
    for name, blob in blobs.items():
        blob.write_to_path(str(folder / f"{name}.pem"))
    return ClusterTls(**{name: str(folder / f"{name}.pem") for name in blobs})
