"""The congestion controls that nashbed brings along, and whether they can be used here."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ..config import takes_modules
from ..contract.control import SHIPPED_CONTROLS, SUFFIX, ControlFile, read_control
from ..contract.errors import NashbedError
from ..machine.controls.checks import kernel_problems, kernels_own_controls
from ..machine.controls.objects import object_of
from ..machine.paths import CONTROLS, GUEST_CONFIGURATION, ROOT

_COMMENT = re.compile(r"/\*(?! SPDX)(.*?)\*/", re.DOTALL)
_SENTENCE = re.compile(r"^(.*?)(?:[.:](?=\s|$)|$)", re.DOTALL)


@dataclass(frozen=True)
class ShippedControl:
    """A control of hosts/cc.

    Attributes:
        name: Its name.
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


def shipped_controls(folder: Path = CONTROLS) -> list[ShippedControl]:
    """Every one of them."""
    own = kernels_own_controls()
    problems = kernel_problems()
    virtual = "kernel module" if takes_modules(GUEST_CONFIGURATION) else "not in this version"
    return [
        ShippedControl(
            name,
            first_sentence(control.source.read_text()),
            str(control.source.relative_to(ROOT)),
            control.digest,
            "the kernel's own" if name in own else _real_time(control, problems),
            virtual,
        )
        for name in SHIPPED_CONTROLS
        if (folder / f"{name}{SUFFIX}").is_file()
        for control in [read_control(folder / f"{name}{SUFFIX}", folder)]
    ]


def _real_time(control: ControlFile, problems: list[str]) -> str:
    if problems:
        return problems[0]
    try:
        return f"eBPF, {object_of(control).made_by}"
    except NashbedError as error:
        return error.message


def first_sentence(text: str) -> str:
    """The first sentence of a C file's first comment that is not about its licence."""
    found = _COMMENT.search(text)
    words = " ".join((found[1] if found else "").replace("*", " ").split())
    sentence = _SENTENCE.match(words)
    return sentence[1] if sentence else words
