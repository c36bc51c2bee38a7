"""The list of what is shipped."""

import pytest
from nashbed.controlplane.machine.c_files.kinds import SHIPPED_CCAS
from nashbed.controlplane.machine.c_files.shipped import first_sentence, shipped_ccas
from nashbed.controlplane.machine.paths import CCA_FOLDER


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        # REUSE-IgnoreStart
        ("/* SPDX-License-Identifier: X */\n/* BBR version 3.\n *\n * More. */\n", "BBR version 3"),
        ("/* Copa (NSDI\n * 2018): a delay-based one. */ /* other */", "Copa (NSDI 2018)"),
        ("/* SPDX-License-Identifier: X */\nint x;", ""),
        # REUSE-IgnoreEnd
        ("/* No full stop */", "No full stop"),
        ("/* draft-x.y of v1.2 is one. Two. */", "draft-x.y of v1.2 is one"),
    ],
)
def test_a_title_is_the_first_sentence(text: str, sentence: str) -> None:
    assert first_sentence(text) == sentence


def test_every_shipped_one_that_is_here_has_a_title() -> None:
    there = [name for name in SHIPPED_CCAS if (CCA_FOLDER / f"{name}.c").is_file()]
    ccas = shipped_ccas()
    assert [cca.name for cca in ccas] == there
    assert all(cca.title and cca.real_time for cca in ccas)
