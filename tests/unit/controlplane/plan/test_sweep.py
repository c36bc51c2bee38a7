"""What is swept: settings and mixes."""

from pathlib import Path

import pytest
from nashbed.controlplane.config import parse_scenario
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.contract.limit import Limit, QueuedLine
from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.contract.trial import Setting
from nashbed.controlplane.plan.attempt import make_attempt
from nashbed.controlplane.plan.estimates import planned_time
from nashbed.controlplane.plan.generator_config import generator_config
from nashbed.controlplane.plan.sweep import mix_label, scenario_mixes, scenario_settings
from tests.unit.controlplane.conftest import SCENARIO, plan_of, scenario_with


def test_settings_are_named_by_what_is_swept() -> None:
    scenario = scenario_with(
        "sweep: {", "sweep: {rate: [10mbit, 20mbit], base_rtt: [5ms], buffer: [1bdp, 0.5MB], "
    )
    settings = scenario_settings(scenario)
    assert [s.label for s in settings] == [
        "c10mbit-t5ms-b1bdp",
        "c10mbit-t5ms-b500kB",
        "c20mbit-t5ms-b1bdp",
        "c20mbit-t5ms-b500kB",
    ]
    assert settings[0].buffer_bytes == 6250  # 10 Mbit/s x 5 ms
    assert settings[1].buffer_bdp == 80


def test_the_kernel_is_a_part_of_the_setting() -> None:
    swept = scenario_with("sweep: {", 'sweep: {kernel: ["6.1", "6.12"], buffer: [1bdp, 2bdp], ')
    settings = scenario_settings(swept)
    assert [(s.kernel, s.label) for s in settings] == [
        ("6.1", "v6.1-b1bdp"),
        ("6.1", "v6.1-b2bdp"),
        ("6.12", "v6.12-b1bdp"),
        ("6.12", "v6.12-b2bdp"),
    ]
    (one,) = scenario_settings(scenario_with("duration:", 'kernel: "6.10"\nduration:'))
    assert (one.kernel, one.label) == ("6.10", "b2bdp")
    (usual,) = scenario_settings(scenario_with("small", "usual"))
    assert usual.kernel == ""


def test_trains_are_asked_of_the_target() -> None:
    (setting,) = scenario_settings(scenario_with("2bdp", "2bdp, arrive_as: trains"))
    assert setting.arrive_as == "trains"
    (setting,) = scenario_settings(scenario_with("small", "usual"))
    assert setting.arrive_as == "frames"


def test_what_the_limit_counts_is_asked_of_the_target() -> None:
    asked = scenario_with("2bdp", "2bdp, limit_counts: queue")
    (setting,) = scenario_settings(asked)
    assert setting.limit_counts == "queue"
    (setting,) = scenario_settings(scenario_with("small", "usual"))
    assert setting.limit_counts is None


def test_a_discipline_is_asked_of_the_target() -> None:
    (setting,) = scenario_settings(scenario_with("2bdp", "2bdp, discipline: codel"))
    assert (setting.label, setting.queue.text) == ("b2bdp", "CoDel")
    assert setting.discipline is not None
    assert setting.discipline.name == "codel"
    (setting,) = scenario_settings(scenario_with("small", "usual"))
    assert setting.discipline is None


def test_disciplines_are_swept() -> None:
    queues = "[droptail, codel, {codel: {target: 1ms}}, ./mine.c]"
    swept = f"sweep: {{discipline: {queues}, buffer: [1bdp, 2bdp], mixes"
    settings = scenario_settings(scenario_with("sweep: {mixes", swept))
    assert [setting.label for setting in settings] == [
        f"{queue}-b{buffer}bdp"
        for queue in ("droptail", "codel", "codel-target1ms", "mine")
        for buffer in (1, 2)
    ]
    assert [each.applied().discipline and each.queue.name for each in settings[::2]] == [
        None, "codel", "codel", "mine"
    ]  # fmt: skip
    trains = SCENARIO.replace("2bdp", "2bdp, arrive_as: trains")
    with pytest.raises(ConfigError, match=r"sweep.discipline: codel decides packet by packet"):
        parse_scenario(trains.replace("sweep: {mixes", swept), "s.yaml")
    with pytest.raises(ConfigError, match=r"sweep.discipline: a value is listed twice"):
        scenario_with("sweep: {mixes", "sweep: {discipline: [codel, {codel: {}}], mixes")


def test_settings_are_the_product_of_values_at_their_places() -> None:
    """Base RTTs and losses go to every group; what is not swept is as the scenario has it."""
    swept = 'sweep: {kernel: ["6.1"], discipline: [droptail, codel], random_loss: [1%, 2%], mixes'
    settings = scenario_settings(scenario_with("sweep: {mixes", swept))
    assert [setting.label for setting in settings] == [
        f"{queue}-v6.1-l{loss}pct-b2bdp" for queue in ("droptail", "codel") for loss in (1, 2)
    ]
    assert [setting.random_loss_ppb for setting in settings] == [10**7, 2 * 10**7] * 2
    assert {(s.kernel, s.rate_bps, s.base_rtt_ns, s.start) for s in settings} == {
        ("6.1", 10**8, (10**7,), None)
    }


@pytest.mark.parametrize(
    ("buffer", "unit", "value"), [("2bdp", "bytes", 250_000), ("64pkt", "packets", 64)]
)
def test_the_limit_is_in_the_unit_that_is_meant(buffer: str, unit: str, value: int) -> None:
    (setting,) = scenario_settings(scenario_with("2bdp", buffer))
    assert setting.limit.model_dump() == {"unit": unit, "value": value, "cell_bytes": 0}


def test_all_mixes_of_one_group() -> None:
    scenario = scenario_with("[0, 1, 3]", "all")
    mixes = scenario_mixes(scenario)
    assert [mix[0].counts for mix in mixes] == [{"cubic": 3 - k, "bbr": k} for k in range(4)]
    assert [mix_label(scenario, mix) for mix in mixes] == ["k00", "k01", "k02", "k03"]


def test_all_mixes_of_two_groups() -> None:
    more = "\n  - {name: far, count: 2, base_rtt: 30ms}"
    text = SCENARIO.replace("base_rtt: 10ms}", "base_rtt: 10ms}" + more)
    scenario = parse_scenario(text.replace("[0, 1, 3]", "all"), "s.yaml").model
    mixes = scenario_mixes(scenario)
    assert len(mixes) == 4 * 3
    assert mix_label(scenario, mixes[-1]) == "k03_02"
    assert mixes[1][1].counts == {"cubic": 1, "bbr": 1}


def test_all_mixes_of_three_strategies() -> None:
    text = SCENARIO.replace("[cubic, bbr]", "[cubic, bbr, reno]").replace("[0, 1, 3]", "all")
    scenario = parse_scenario(text, "s.yaml").model
    mixes = scenario_mixes(scenario)
    assert len(mixes) == 10  # ways to share 3 flows among 3 strategies
    assert all(sum(mix[0].counts.values()) == 3 for mix in mixes)
    assert mix_label(scenario, mixes[-1]) == "k03x00"


def test_too_many_mixes_are_refused() -> None:
    group = "  - {{name: g{}, count: 30, base_rtt: 10ms}}\n"
    text = SCENARIO.replace(
        "  - {name: main, count: 3, base_rtt: 10ms}\n", "".join(group.format(i) for i in range(4))
    ).replace("[0, 1, 3]", "all")
    with pytest.raises(ConfigError, match=r"sweep.mixes: all makes 923521 mixes; at most 20000"):
        scenario_mixes(parse_scenario(text, "s.yaml").model)


def test_pairs_of_strategies() -> None:
    text = SCENARIO.replace("[cubic, bbr]", "[cubic, bbr, reno]")
    scenario = parse_scenario(text.replace("[0, 1, 3]", "{pairs: all}"), "s.yaml").model
    counts = [tuple(mix[0].counts.values()) for mix in scenario_mixes(scenario)]
    assert counts == [
        *((3, 0, 0), (2, 1, 0), (1, 2, 0), (0, 3, 0)),
        *((2, 0, 1), (1, 0, 2), (0, 0, 3)),
        *((0, 2, 1), (0, 1, 2)),
    ]


def test_pairs_with_the_first_strategy() -> None:
    text = SCENARIO.replace("[cubic, bbr]", "[cubic, bbr, reno]")
    some = "{pairs: first, second: [1, 3]}"
    scenario = parse_scenario(text.replace("[0, 1, 3]", some), "s.yaml").model
    counts = [tuple(mix[0].counts.values()) for mix in scenario_mixes(scenario)]
    assert counts == [(2, 1, 0), (0, 3, 0), (2, 0, 1), (0, 0, 3)]


def test_pairs_by_name() -> None:
    """In the order of the strategies, however they are written."""
    text = SCENARIO.replace("[cubic, bbr]", "[cubic, bbr, reno]")
    some = "{pairs: [[reno, bbr], [cubic, reno]], second: [1]}"
    scenario = parse_scenario(text.replace("[0, 1, 3]", some), "s.yaml").model
    counts = [tuple(mix[0].counts.values()) for mix in scenario_mixes(scenario)]
    assert counts == [(2, 0, 1), (0, 2, 1)]


@pytest.mark.parametrize(
    ("mixes", "problem"),
    [
        ("{pairs: []}", "pairs: is empty"),
        ("{pairs: [[cubic, bbr], [bbr, cubic]]}", "has a pair twice"),
        ("{pairs: [[cubic, cubic]]}", "of one strategy alone"),
        ("{pairs: [[cubic, reno]]}", "sweep.mixes.pairs: 'reno' is not among the strategies"),
        ("{pairs: first, second: [4]}", "second: 4 flows, but the group has 3"),
        ("{pairs: first, second: []}", "is empty, or lists a number twice"),
        ("{pairs: some}", "pairs"),
    ],
)
def test_impossible_pairs_are_refused(mixes: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        parse_scenario(SCENARIO.replace("[0, 1, 3]", mixes), "s.yaml")


def test_pairs_that_never_meet_are_no_game() -> None:
    """Each alone: a run of that says nothing about equilibria."""
    alone = SCENARIO.replace("[0, 1, 3]", "{pairs: all, second: [0, 3]}")
    game = SCENARIO.replace("[0, 1, 3]", "{pairs: all, second: [0, 1]}")
    assert not parse_scenario(alone, "s.yaml").model.seeks_equilibria(any_decided=True)
    assert parse_scenario(game, "s.yaml").model.seeks_equilibria(any_decided=False)


def settings_of(bottleneck: str, swept: str) -> list[Setting]:
    text = SCENARIO.replace("2bdp", f"2bdp, {bottleneck}")
    text = text.replace("sweep: {mixes", f"sweep: {{bottleneck: {{{swept}}}, mixes")
    return scenario_settings(parse_scenario(text, "s.yaml").model)


def test_any_key_of_the_bottleneck_is_swept() -> None:
    """By its path: a part, an entry of a list, each entry of a list, a key that Python renames."""
    two = "queues: [{name: a, flows: [bbr]}, {name: b}]"
    settings = settings_of(two, "scheduler: [drr, strict_priority]")
    assert [(each.label, each.queues and each.queues.scheduler) for each in settings] == [
        ("schedulerdrr-b2bdp", "drr"),
        ("schedulerstrict_priority-b2bdp", "strict_priority"),
    ]
    assert settings[0].swept == {"bottleneck.scheduler": "drr"}
    one, both = (
        [queue.limit_bytes for queue in each.queues.queues]
        for key in ("queues.1.limit", "queues.limit")
        for each in settings_of(two, f"{key}: [20kB]")
        if each.queues is not None
    )
    assert (one, both) == ([0, 20_000], [20_000, 20_000])
    policed = settings_of("policer: {rate: 50mbit, burst: 9kB}", "policer.burst: [30kB, 1MB]")
    assert [each.policer and each.policer.burst.bytes for each in policed] == [30_000, 10**6]
    shaped = settings_of("shaper: {burst: 9kB}", "shaper: [{burst: 30kB}, {burst: 1MB}]")
    assert [each.shaper and each.shaper.burst.bytes for each in shaped] == [30_000, 10**6]
    slow, slower = settings_of("return: {rate: 1mbit, buffer: 9pkt}", "return.rate: [2mbit, 1mbit]")
    assert (slow.back, slower.back) == tuple(
        QueuedLine(rate_bps=bps, limit=Limit(unit="packets", value=9)) for bps in (2 * 10**6, 10**6)
    )


@pytest.mark.parametrize(
    ("swept", "problem"),
    [
        (
            "schedulr: [drr]",
            "bottleneck.schedulr: there is no such key; did you mean 'scheduler'",
        ),
        ("policer.burst: [9kB]", "bottleneck.policer: is not there; write it, so that a part of"),
        ("changes.rate: [9mbit]", "bottleneck.changes: is not there; write it, so that a part of"),
        ("changes.1.rate: [9mbit]", "bottleneck.changes: is not there; write it"),
        ("overhead: [24B, 5kB]", "sweep.bottleneck.overhead: 5kB is too large; write at most"),
        ("overhead: [24]", "sweep.bottleneck.overhead: '24' has no unit; write a size such as"),
        ("overhead: [24B, 24B]", "sweep.bottleneck.overhead: a value is listed twice"),
        ("trace: [a.trace]", "sweep.bottleneck.trace: a trace is not swept; write a scenario for"),
        ("rate: [1mbit]", "sweep.bottleneck.rate: write it as `sweep.rate`"),
        ("overhead: []", "sweep.bottleneck.overhead: is empty"),
    ],
)
def test_what_cannot_be_swept_is_one_line(swept: str, problem: str) -> None:
    with pytest.raises(ConfigError) as error:
        settings_of("overhead: 0B", swept)
    assert problem in error.value.message
    assert "\n" not in error.value.message


def test_what_is_swept_of_changes_reaches_the_paths(testbed: Testbed) -> None:
    text = SCENARIO.replace("2bdp", "2bdp, changes: [{at: 100ms, random_loss: 1%}]")
    swept = "sweep: {bottleneck: {changes.random_loss: [1%, 2%]}, mixes"
    scenario = parse_scenario(text.replace("sweep: {mixes", swept), "s.yaml").model
    lost = set()
    for trial in plan_of(scenario, testbed).trials:
        (delay,) = make_attempt(scenario, trial, 0, 0, Path("/nowhere")).program().delays
        assert delay.forward.changes is not None
        lost.add((trial.setting.label, delay.forward.changes[0].loss_ppb))
    assert lost == {
        ("changes.random_loss1pct-b2bdp", 10**7),
        ("changes.random_loss2pct-b2bdp", 2 * 10**7),
    }


def test_any_key_of_the_paths_is_swept(testbed: Testbed) -> None:
    """Keys of every group, or of one: the trial has it, and the setting its range of RTTs."""
    group = "  - {name: other, count: 1, base_rtt: 20ms, return: {delay: 4ms}}"
    text = SCENARIO.replace("strategies:", f"{group}\nstrategies:")
    swept = (
        "sweep: {flows: {jitter: [{uniform: 1ms}, {uniform: 2ms}], 1.return.delay: [5ms]}, mixes"
    )
    text = text.replace("sweep: {mixes", swept).replace("[0, 1, 3]", "[[0, 0]]")
    trials = plan_of(parse_scenario(text, "s.yaml").model, testbed).trials
    scenario = parse_scenario(text, "s.yaml").model
    found = {
        trial.setting.label: [
            (delay.reverse_ns, delay.forward.jitter and max(delay.forward.jitter.points_ns))
            for delay in make_attempt(scenario, trial, 0, 0, Path("/nowhere")).program().delays
        ]
        for trial in trials
    }
    assert found == {
        f"jitteruniform{ms}ms-1.return.delay5ms-b2bdp": [
            (5 * 10**6, ms * 10**6),
            (5 * 10**6, ms * 10**6),
        ]
        for ms in (1, 2)
    }
    assert [trial.setting.rtt_range_ns for trial in trials] == [
        (10**7, 2 * 10**7 + ms * 10**6) for ms in (1, 2)
    ]


@pytest.mark.parametrize("key", ["size", "base_rtt", "name", "jiter"])
def test_only_numbers_and_paths_of_flows_are_swept(key: str) -> None:
    with pytest.raises(ConfigError, match=rf"sweep\.flows\.{key}: write count, or a key of the"):
        parse_scenario(SCENARIO.replace("{mixes", f"{{flows: {{{key}: [1]}}, mixes"), "s.yaml")


def test_each_number_of_flows_has_its_own_mixes_and_flows(testbed: Testbed) -> None:
    swept = scenario_with("{mixes: [0, 1, 3]}", "{flows: {count: [2, 4]}}")
    assert swept.flows[0].count == 3  # of no setting
    trials = plan_of(swept, testbed).trials
    assert [trial.key for trial in trials] == [
        "count2-b2bdp-k00-r0", "count4-b2bdp-k00-r0", "count2-b2bdp-k02-r0", "count4-b2bdp-k04-r0",
        "count2-b2bdp-k01-r0", "count4-b2bdp-k02-r0", "count4-b2bdp-k01-r0", "count4-b2bdp-k03-r0",
    ]  # fmt: skip
    few, many = (make_attempt(swept, each, 0, 1, Path("/nowhere")) for each in trials[:2])
    assert [[flow.cc for flow in each.flows] for each in (few, many)] == [
        ["cubic"] * 2, ["cubic"] * 4,
    ]  # fmt: skip
    # The table entries of lane 1 begin behind those of the most that lane 0 may have.
    assert [each.program().flows[0].flow for each in (few, many)] == [4, 4]
    assert trials[0].setting.flow_counts == (2,)
    assert trials[0].setting.swept == {}


def test_the_number_of_flows_of_one_group(testbed: Testbed) -> None:
    groups = "[0, 1, 3]}", "[[0, 0], [0, 1]], flows: {1.count: [1, 2]}}"
    other = "  - {name: other, count: 5, base_rtt: 20ms}\nstrategies:"
    text = SCENARIO.replace(*groups).replace("strategies:", other)
    scenario = parse_scenario(text, "s.yaml").model
    assert {t.setting.label: t.setting.flow_counts for t in plan_of(scenario, testbed).trials} == {
        "1.count1-b2bdp": (3, 1), "1.count2-b2bdp": (3, 2),
    }  # fmt: skip


def test_each_length_is_its_own_trials(testbed: Testbed) -> None:
    plan = plan_of(scenario_with("{mixes", "{duration: [300ms, 1s], mixes"), testbed)
    scenario = scenario_with("{mixes", "{duration: [300ms, 1s], mixes")
    # Long ones first: they are packed best so.
    assert [trial.setting.label for trial in plan.trials] == ["d1s-b2bdp"] * 3 + [
        "d300ms-b2bdp"
    ] * 3
    assert (plan.trial_ns, plan.flows_per_trial) == (10**9, 3)
    told = [
        generator_config("sender", make_attempt(scenario, trial, 0, 0, Path("/nowhere")))
        for trial in plan.trials
    ]
    assert [each.duration_ns for each in told] == [10**9] * 3 + [3 * 10**8] * 3
    takes = planned_time(plan)
    assert [takes(trial) for trial in plan.trials[2:4]] == [4.0, 3.3]
    assert [row["duration"] for row in plan.by_setting()] == ["1s", "0.3s"]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("{mixes", "{duration: [1s, 90ms], mixes", "warmup: 100ms leaves nothing to measure; make"),
        ("{mixes", "{duration: [9000h], mixes", "sweep.duration: 32400000s is too long"),
        ("{mixes: [0, 1, 3]", "{flows: {count: [0, 2]}", "sweep.flows.count: 0 is no"),
        ("{mixes: [0, 1, 3]", "{flows: {count: ['2']}", "sweep.flows.count: '2' is no number of"),
        ("[0, 1, 3]", "[3], flows: {count: [4, 2]}", "sweep.mixes[0]: 3 bbr flows, but group"),
        ("duration: 400ms", "duration: {until: settled}", "sweep.duration: a trial that runs"),
    ],
)  # fmt: skip
def test_numbers_and_lengths_that_do_not_fit(old: str, new: str, problem: str) -> None:
    text = SCENARIO.replace(old, new)
    if "settled" in new:
        text = text.replace("{mixes", "{duration: [200s], mixes")
    with pytest.raises(ConfigError) as error:
        parse_scenario(text, "s.yaml")
    assert problem in error.value.message


def test_a_bound_of_one_number_of_flows_names_its_mix() -> None:
    bound = "acceptance: [{metric: jain_index, mix: {bbr: 4}, count: 4, min: 50%}]"
    text = SCENARIO.replace("{mixes: [0, 1, 3]}", "{flows: {count: [2, 4]}}\n" + bound)
    parse_scenario(text, "s.yaml")
    with pytest.raises(
        ConfigError, match=r"acceptance\[0\]\.mix: has more flows than the scenario"
    ):
        parse_scenario(text.replace("count: 4, min", "min"), "s.yaml")
