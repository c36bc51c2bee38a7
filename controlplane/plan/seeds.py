"""Everything random derives from the scenario's seed by hashing: stable on every machine."""

import hashlib


def derive(seed: int, *names: object) -> int:
    """A seed of its own for something named, in [0, 2**63)."""
    text = "/".join(str(part) for part in (seed, *names))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1
