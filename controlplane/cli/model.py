"""`nashbed model`: what models say of CUBIC against BBR, and how far they are from measurements."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..contract.errors import EXIT_OK, ConfigError
from ..contract.units import Buffer, Duration, Rate
from .options import AsJson, answer, new_app, quantity

if TYPE_CHECKING:
    from nashbed.analysis.models import Question

EXAMPLES = """Examples:

nashbed model --rate 100mbit --rtt 40ms --buffer 5bdp --flows 50 --bbr 10

nashbed model --rate 100mbit --rtt 40ms --buffer 20bdp --flows 50 (every mix)

nashbed model --rate 50mbit --rtt 40ms --buffer 20bdp --flows 2 --bbr 1 --duration 600s
--cubic-start 5s (BBR first)

nashbed model --rate 50mbit --rtt 40ms --buffer 4bdp --flows 10 --second bbr3

nashbed model --against results/20260101T120000Z-quickstart --model fluid --json

nashbed model --against configs/scenarios/srivastava2023/published/fabric_mixes.csv"""


app = new_app()


@app.command(epilog=EXAMPLES)
def model(  # noqa: PLR0913, PLR0917 - one argument for each option
    rate: Annotated[str | None, typer.Option(help="Bottleneck, e.g. 100mbit.")] = None,
    rtt: Annotated[str | None, typer.Option(help="Base RTT of all flows, e.g. 40ms.")] = None,
    buffer: Annotated[str | None, typer.Option(help="Drop-tail buffer: 5bdp, 1MB.")] = None,
    flows: Annotated[int | None, typer.Option(help="CUBIC and BBR flows in all.")] = None,
    bbr: Annotated[int | None, typer.Option(help="How many run BBR; left out: all mixes.")] = None,
    k: Annotated[
        float | None, typer.Option(help="Part of its window that CUBIC keeps, if measured.")
    ] = None,
    duration: Annotated[
        str | None, typer.Option(help="How long they compete.", show_default="120s")
    ] = None,
    warmup: Annotated[
        str | None, typer.Option(help="Time at the beginning that does not count.")
    ] = None,
    cubic_start: Annotated[
        str | None, typer.Option(help="When the CUBIC flows start, e.g. 5s: BBR is first.")
    ] = None,
    bbr_start: Annotated[str | None, typer.Option(help="When the BBR flows start.")] = None,
    window: Annotated[
        str | None, typer.Option(help="Most that socket buffers let a flow have in flight: 2.7MB.")
    ] = None,
    second: Annotated[
        str | None, typer.Option(help="Congestion control in place of BBR, e.g. bbr3, copa.")
    ] = None,
    unvalidated: Annotated[
        bool, typer.Option("--unvalidated", help="Answer also where our runs do not bear it out.")
    ] = False,
    model: Annotated[
        list[str] | None, typer.Option(help="Ask this model alone; may be given again.")
    ] = None,
    against: Annotated[
        Path | None, typer.Option(help="Errors against a run directory or a CSV of mixes.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Predict throughputs and equilibria by all models, or test the models.

    With --against, their predictions are compared with measurements.

    The fluid model simulates the competition, with starts, duration and windows. The others are
    formulas: published ones (Ware 2019, Mishra 2022) are of the long run, and refuse what they are
    not valid for. A range is over the fluid model's seeds.
    """
    setting = {"--rate": rate, "--rtt": rtt, "--buffer": buffer, "--flows": flows}
    course = {
        "--duration": duration, "--warmup": warmup, "--cubic-start": cubic_start,
        "--bbr-start": bbr_start, "--window": window,
    }  # fmt: skip
    if against is not None:
        others = {"--second": second, "--unvalidated": unvalidated or None}
        _only_against({**setting, "--bbr": bbr, "--k": k, **others, **course})
        return _hold_against(against, model or [], as_json)
    missing = [name for name, value in setting.items() if value is None]
    if missing:
        raise ConfigError(f"{', '.join(missing)}: missing; give the whole setting, or --against")
    known = {name: str(value) for name, value in setting.items()}
    question = _question(known, bbr or 0, k, {n: v for n, v in course.items() if v is not None})
    beside = second or "bbr", unvalidated
    return _predict(question, model or [], beside, every_mix=bbr is None, as_json=as_json)


def _only_against(others: dict[str, Any]) -> None:
    given = [name for name, value in others.items() if value is not None]
    if given:
        raise ConfigError(f"{', '.join(given)}: --against takes its settings from what it reads")


def _question(
    setting: dict[str, str], bbr: int, k: float | None, course: dict[str, str]
) -> Question:
    """The question in machine units; a ConfigError says which option is wrong."""
    from nashbed.analysis.models import Question  # noqa: PLC0415 - slow to import

    link = quantity(Rate, "--rate", setting["--rate"])
    base = quantity(Duration, "--rtt", setting["--rtt"])
    size = quantity(Buffer, "--buffer", setting["--buffer"]).to_bytes(link, base)
    flows = int(setting["--flows"])
    if not 0 <= bbr <= flows:
        raise ConfigError(f"--bbr: {bbr} of {flows} flows; write 0 to {flows}")
    seconds = {
        field: quantity(Duration, option, course[option]).seconds
        for option, field in COURSE.items()
        if option in course
    }
    window = course.get("--window")
    limit = None if window is None else quantity(Buffer, "--window", window).to_bytes(link, base)
    return Question(
        link.bps,
        base.seconds,
        size,
        cubic=flows - bbr,
        bbr=bbr,
        k=k,
        window_bytes=limit,
        **seconds,
    )


COURSE = {
    "--duration": "duration_s",
    "--warmup": "measured_from_s",
    "--cubic-start": "cubic_start_s",
    "--bbr-start": "bbr_start_s",
}
"""Option -> what it is in a question."""


def _predict(
    question: Question, names: list[str], beside: tuple[str, bool], every_mix: bool, as_json: bool
) -> int:
    """Ask; `beside` is what runs in place of BBR, and whether without validation."""
    from nashbed.analysis.models.answers import (  # noqa: PLC0415 - slow to import
        chosen_models,
        models_beside,
        predictions,
    )

    from .console import question_display  # noqa: PLC0415
    from .model_text import mix_text, mixes_text  # noqa: PLC0415

    second, unvalidated = beside
    models = chosen_models(names, k_given=question.k is not None)
    if second != "bbr":
        models = models_beside(second, models, unvalidated)
    with question_display() as show:
        answers = predictions(question, every_mix, models, show, second)
    answer(answers, as_json, (mixes_text if every_mix else mix_text)(answers))
    return EXIT_OK


def _hold_against(path: Path, names: list[str], as_json: bool) -> int:
    from nashbed.analysis.models.answers import errors_against  # noqa: PLC0415 - slow to import

    from .console import question_display  # noqa: PLC0415
    from .model_text import errors_text  # noqa: PLC0415

    with question_display() as show:
        answers = errors_against(path, names, show)
    answer(answers, as_json, errors_text(answers))
    return EXIT_OK
