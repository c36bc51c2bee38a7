"""The report's first screen: the question, the answer in a sentence, how sure it is, a picture."""

from collections import Counter
from collections.abc import Sequence

from nashbed.controlplane.contract.model import JsonObject
from nashbed.controlplane.contract.trial import Setting

from ..figures.catalogue import DrawnFigure
from ..measures import RunMeasures
from ..nash.of_run import SettingEquilibria
from ..nash.sentence import answers, overview, question
from ..results.fairness import fairness_answers
from ..results.summary import RunSummary
from ..text import buffer_text, setting_text

FAIRNESS = "Is it fair to what is deployed, and would it be adopted?"
MOST_ANSWERS = 4
"""Settings whose answers the first screen has one by one; of more it says how many are alike."""
LISTED_NEAR = 6
"""Mixes that are nearly equilibria, in a headline; more are counted."""
PICTURES = (
    "equilibrium_map", "equilibria_by_buffer", "equilibria_by_flows", "equilibria_by_duration",
    "pair_equilibria", "tournament", "panel_by_mix",
    "throughput_by_mix",
)  # fmt: skip
"""Kinds of figures that show the answer, the best first."""


def picture_of(summary: RunSummary, figures: Sequence[DrawnFigure]) -> DrawnFigure | None:
    """The figure that shows the answer, first of all settings, then of one; None: none does."""
    ranked = [figure for kind in PICTURES for figure in figures if figure.kind == kind]
    if len(summary.equilibria) > MOST_ANSWERS:
        ranked = [figure for figure in ranked if not figure.setting]
    return next(iter([*ranked, *(() if summary.seeks_equilibria else figures)]), None)


def first_screen(summary: RunSummary) -> JsonObject:
    """Everything that it says; of a run that looks for no equilibrium, what a victim shows."""
    measures, settings = summary.measures, summary.equilibria
    if not summary.seeks_equilibria:
        found = fairness_answers(measures)
        return {
            "question": FAIRNESS if found else "",
            "answers": _each(measures, found),
            "map": {},
            "headlines": [],
        }
    several = len(settings) > MOST_ANSWERS
    said = [(each.setting, *answer) for each in settings for answer in answers(each)]
    return {
        "question": question(measures.strategies, [each.flows for each in settings]),
        "answers": _together(settings) if several else _each(measures, said),
        "map": _map(measures, settings) if several else {},
        "headlines": [_headline(measures, each) for each in settings],
    }


def _each(measures: RunMeasures, said: Sequence[tuple[Setting, str, str]]) -> list[JsonObject]:
    """Answers, each with its setting: by the buffer where that tells them apart."""
    settings = {setting.label: setting for setting, _, _ in said}
    buffers = {label: _buffer(measures, each) for label, each in settings.items()}
    apart = len(set(buffers.values())) == len(buffers)
    return [
        {
            "text": f"With a buffer of {buffers[setting.label]}, {text}."
            if apart
            else f"At {setting_name(measures, setting)}: {text}.",
            "sure": f"{_capital(sure)}.",
        }
        for setting, text, sure in said
    ]


def _together(settings: Sequence[SettingEquilibria]) -> list[JsonObject]:
    """The answer over many settings."""
    if not (text := overview(settings)):
        return []
    settled = sum(not each.condition for each in settings)
    where = "all" if settled == len(settings) else str(settled or "none")
    return [{"text": f"{text}.", "sure": f"Shares had settled in {where} of them."}]


def _map(measures: RunMeasures, settings: Sequence[SettingEquilibria]) -> JsonObject:
    """The answer at each of many settings, in a row that says in what the setting differs."""
    parts = [setting_name(measures, each.setting).split(", ") for each in settings]
    same = [part for part in parts[0] if all(part in each for each in parts)]
    names = [", ".join(part for part in each if part not in same) for each in parts]
    rows = zip(names, map(answers, settings), strict=True)
    return {"same": ", ".join(same), "rows": [{"name": n, "answers": a} for n, a in rows]}


def _capital(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"


def _buffer(measures: RunMeasures, setting: Setting) -> str:
    return buffer_text(setting, measures.applied_buffer(setting))


def setting_name(measures: RunMeasures, setting: Setting) -> str:
    """A setting in words, with what was applied."""
    return setting_text(setting, measures.applied_rate(setting), measures.applied_buffer(setting))


def _headline(measures: RunMeasures, equilibria: SettingEquilibria) -> JsonObject:
    """The equilibrium of a setting, and a sentence for each thing to know of that."""
    headline = equilibria.headline()
    games = equilibria.pairs if equilibria.lists_pairs else ()
    pairs = [(pair.game, pair.headline()) for pair in games]
    return {
        "setting": setting_name(measures, equilibria.setting),
        "mix": headline.claim,
        "pairs": [(game, told.claim, " ".join(told.facts())) for game, told in pairs],
        "facts": [
            *headline.facts(),
            *_near(equilibria),
            *_crossing(equilibria),
            *_each_trial(equilibria),
        ],
    }


def _near(equilibria: SettingEquilibria) -> list[str]:
    """Mixes that are nearly equilibria; of pairs each says so of itself."""
    near = [v for v in equilibria.epsilon_equilibria if v.equilibrium != "yes"]
    if not near or equilibria.table.pairs:
        return []
    mixes = [equilibria.text(v.state) for v in near]
    named = "; ".join(mixes) if len(near) <= LISTED_NEAR else f"{len(near)} mixes"
    gain = f"{100 * equilibria.epsilon:.0f} % of the fair share"
    return [f"Nearly an equilibrium (no switch gains more than {gain}): {named}."]


def _crossing(equilibria: SettingEquilibria) -> list[str]:
    """Where a flow of either CCA gets the same, between whole flows."""
    if not equilibria.crossings:
        return []
    places = " and ".join(f"{c.at:.1f}" for c in equilibria.crossings)
    return [f"Per-flow throughput is equal at {places} {equilibria.strategies[1]} flows."]


def _each_trial(equilibria: SettingEquilibria) -> list[str]:
    """The equilibria of each repetition alone; nothing where there is only one."""
    if equilibria.table.pairs or not equilibria.by_trial:
        return []
    count = len(equilibria.by_trial)
    found = Counter(
        " or ".join(map(equilibria.text, trial.states)) or "undecided"
        for trial in equilibria.by_trial
    )
    told = ", ".join(f"{mix} ({times} of {count})" for mix, times in found.most_common())
    return [f"By each repetition alone: {told}."]
