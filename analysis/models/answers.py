"""What `nashbed model` says, as plain data."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from . import MODELS
from .accuracy import accuracy_by_buffer
from .band import equilibrium_band
from .question import Question

Json = dict[str, Any]


def predictions(question: Question, k: float | None, every_mix: bool) -> Json:
    """What every model says to a question, and the equilibrium band.

    Args:
        question: The question.
        k: For the model with a given k; None: it is not asked.
        every_mix: Ask for every mix of its flows, not only for its own.

    Returns:
        `question`, `models` (what they are), `mixes` (for each: `bbr`, `cubic` and the models'
        `predictions`) and `equilibrium`. Units: bit/s, s, bytes.
    """
    asked = replace(question, k=k)
    counts = range(question.flows + 1) if every_mix else [question.bbr]
    return {
        "question": {
            **asdict(asked),
            "flows": question.flows,
            "buffer_bdp": question.buffer_bdp,
            "fair_share_bps": question.fair_share_bps,
        },
        "models": _about(k is not None),
        "mixes": [_mix(asked.with_bbr(bbr)) for bbr in counts],
        "equilibrium": equilibrium_band(question).to_dict(),
    }


def _about(k_given: bool) -> list[dict[str, str]]:
    return [
        {"name": m.name, "title": m.title, "source": m.source, "validity": m.validity}
        for m in MODELS.values()
        if k_given or m.name != "mishra-given-k"
    ]


def _mix(question: Question) -> Json:
    asked = _about(question.k is not None)
    answers = [MODELS[about["name"]].predict(question).to_dict() for about in asked]
    return {"bbr": question.bbr, "cubic": question.cubic, "predictions": answers}


def errors_against(path: Path) -> Json:
    """How far every model is from measured mixes.

    Args:
        path: A run directory, or a CSV file with the columns of fabric_mixes.csv.

    Returns:
        `against`, `mixes` (how many), `left_out` (reason -> how many), `models` (what they
        are) and `buffers`: for each buffer, and with `buffer_bdp` None for all, the errors of
        each model in parts of the throughput of all flows.

    Raises:
        RunError: It cannot be read, or holds no mix to compare with.
    """
    from .measured import measured_mixes  # noqa: PLC0415 - reads runs, slow to import

    measured = measured_mixes(path)
    has_k = any(mix.question.k is not None for mix in measured.mixes)
    asked = _about(has_k)
    rows = accuracy_by_buffer(measured.mixes, [MODELS[about["name"]] for about in asked])
    return {
        "against": measured.source,
        "mixes": len(measured.mixes),
        "left_out": measured.left_out,
        "models": asked,
        "buffers": [row.to_dict() for row in rows],
    }
