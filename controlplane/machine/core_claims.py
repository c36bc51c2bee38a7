"""tmp"""


def claim_core() -> int | None:
    return None
