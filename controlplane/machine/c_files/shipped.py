"""The CCAs that nashbed brings along, and whether they can be used here."""

import re
from dataclasses import dataclass

from ...contract.c_files import CFile
from ...contract.errors import NashbedError
from ..paths import GUEST_CONFIGURATION, ROOT
from .kernel_support import kernel_problems, kernels_own_ccas, takes_modules
from .kinds import CCA, SHIPPED_CCAS, shipped_cca
from .objects import ebpf_object

_COMMENT = re.compile(r"/\*(?! SPDX)(.*?)\*/", re.DOTALL)
_SENTENCE = re.compile(r"^(.*?)(?:[.:](?=\s|$)|$)", re.DOTALL)


@dataclass(frozen=True)
class ShippedCca:
    """A CCA of hosts/cc.

    Attributes:
        title: What it is: the first sentence of its file.
        source: Its file, relative to the checkout.
        digest: SHA-256 of its sources.
        real_time: How it is had in real time, or what is missing.
        virtual_time: Likewise in virtual time.
    """

    name: str
    title: str
    source: str
    digest: str
    real_time: str
    virtual_time: str


def shipped_ccas() -> list[ShippedCca]:
    """Every one of them."""
    own = kernels_own_ccas()
    problems = kernel_problems()
    virtual = "needs nashbed-kernel"
    if GUEST_CONFIGURATION.is_file():
        takes = takes_modules(GUEST_CONFIGURATION)
        virtual = "kernel module" if takes else "not in this version"
    return [
        ShippedCca(
            name,
            first_sentence(cca.source.read_text()),
            str(cca.source.relative_to(ROOT)),
            cca.digest,
            "the kernel's own" if name in own else _real_time(cca, problems),
            virtual,
        )
        for name in SHIPPED_CCAS
        if shipped_cca(name).is_file()
        for cca in [CCA.read(shipped_cca(name))]
    ]


def _real_time(cca: CFile, problems: list[str]) -> str:
    if problems:
        return problems[0]
    try:
        return f"eBPF, {ebpf_object(cca).made_by}"
    except NashbedError as error:
        return error.message


def first_sentence(text: str) -> str:
    """The first sentence of a C file's first comment that is not about its licence."""
    found = _COMMENT.search(text)
    words = " ".join((found[1] if found else "").replace("*", " ").split())
    sentence = _SENTENCE.match(words)
    return sentence[1] if sentence else words
