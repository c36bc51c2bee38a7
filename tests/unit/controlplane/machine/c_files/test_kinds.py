"""How a CCA is written, and in which time it can run."""

from pathlib import Path

import pytest
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.machine.c_files.kinds import CCA, form_of, require_runnable
from nashbed.controlplane.machine.paths import CCA_FOLDER

ORDINARY = "static int go(void) { return tcp_register_congestion_control(&ops); }\n"


def test_the_forms_of_a_cca(tmp_path: Path) -> None:
    (tmp_path / "mine.h").write_text('#include "cc.h"\n')
    (tmp_path / "two").mkdir()
    forms = {
        "above.c": ('#include "mine.h"\n', "cc.h"),
        "tcp_own.c": (ORDINARY, "module"),
        "two/main.c": (ORDINARY, "module"),
        "mine.bpf.c": ("", "ebpf"),
    }
    for name, (text, form) in forms.items():
        (tmp_path / name).write_text(text)
        assert form_of(CCA.read(tmp_path / name)) == form
    assert form_of(CCA.read(tmp_path / "two")) == "module"
    assert form_of(CCA.read(CCA_FOLDER / "copa.c")) == "cc.h"
    (tmp_path / "none.c").write_text("int x;\n")
    with pytest.raises(ConfigError, match=r"/none\.c: is no congestion control: it neither"):
        form_of(CCA.read(tmp_path / "none.c"))


def test_what_the_other_kind_of_time_runs_is_a_line_each(tmp_path: Path) -> None:
    for name in ("own.c", "mine.bpf.c", "ours.c"):
        (tmp_path / name).write_text('#include "cc.h"\n' if name == "ours.c" else ORDINARY)
    ccas = [CCA.read(tmp_path / name) for name in ("own.c", "mine.bpf.c", "ours.c")]
    with pytest.raises(ConfigError) as refused:
        require_runnable(ccas, is_virtual=True)
    assert refused.value.message == (
        f"{tmp_path}/mine.bpf.c: eBPF runs in real time only (`--testbed embedded`); virtual time "
        "takes a module"
    )
    with pytest.raises(ConfigError) as refused:
        require_runnable(ccas, is_virtual=False)
    assert refused.value.message == (
        f"{tmp_path}/own.c: a module of the kernel runs in virtual time only (`--testbed virtual`)"
    )
