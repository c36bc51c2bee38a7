"""`nashbed model`: what the published models say, and how far they are from measurements."""

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

nashbed model --against results/20260101T120000Z-quickstart --json

Example: nashbed model --rate 100mbit --rtt 40ms --buffer 5bdp --flows 50 (every mix)"""


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
    against: Annotated[
        Path | None, typer.Option(help="Errors against a run directory or a CSV of mixes.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Predict throughputs by published models, or test the models.

    With --against, their predictions are compared with measurements.

    The models are Ware 2019 and Mishra 2022 (one against one, synchronised and
    de-synchronised bound, and with a given k). Outside its validity a model refuses.
    """
    setting = {"--rate": rate, "--rtt": rtt, "--buffer": buffer, "--flows": flows}
    if against is not None:
        _only_against({**setting, "--bbr": bbr, "--k": k})
        return _hold_against(against, as_json)
    missing = [name for name, value in setting.items() if value is None]
    if missing:
        raise ConfigError(f"{', '.join(missing)}: missing; give the whole setting, or --against")
    question = _question(str(rate), str(rtt), str(buffer), flows or 0, bbr or 0)
    return _predict(question, k, every_mix=bbr is None, as_json=as_json)


def _only_against(others: dict[str, Any]) -> None:
    given = [name for name, value in others.items() if value is not None]
    if given:
        raise ConfigError(f"{', '.join(given)}: --against takes its settings from what it reads")


def _question(rate: str, rtt: str, buffer: str, flows: int, bbr: int) -> Question:
    """The question in machine units; a ConfigError says which option is wrong."""
    from nashbed.analysis.models import Question  # noqa: PLC0415 - slow to import

    link, base = quantity(Rate, "--rate", rate), quantity(Duration, "--rtt", rtt)
    size = quantity(Buffer, "--buffer", buffer).to_bytes(link, base)
    if not 0 <= bbr <= flows:
        raise ConfigError(f"--bbr: {bbr} of {flows} flows; write 0 to {flows}")
    return Question(link.bps, base.seconds, size, cubic=flows - bbr, bbr=bbr)


def _predict(question: Question, k: float | None, every_mix: bool, as_json: bool) -> int:
    from nashbed.analysis.models.answers import predictions  # noqa: PLC0415 - slow to import

    from .model_text import mix_text, mixes_text  # noqa: PLC0415

    answers = predictions(question, k, every_mix)
    answer(answers, as_json, (mixes_text if every_mix else mix_text)(answers))
    return EXIT_OK


def _hold_against(path: Path, as_json: bool) -> int:
    from nashbed.analysis.models.answers import errors_against  # noqa: PLC0415 - slow to import

    from .model_text import errors_text  # noqa: PLC0415

    answers = errors_against(path)
    answer(answers, as_json, errors_text(answers))
    return EXIT_OK
