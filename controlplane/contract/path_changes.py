"""What a flow group's path does besides a constant base RTT: as a scenario writes it.

Base RTTs that change, jitter, reordering, losses in bursts; forward and return path apart.
"""

from collections.abc import Callable, Sequence
from math import log
from statistics import NormalDist
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from .limit import Limit, QueuedLine
from .link_changes import AfterT0
from .model import AliasedModel, ContractModel, Count, JsonObject, Quantities
from .shared import CONSTANTS
from .units import Buffer, Duration, Rate, Share, base_units, counted

SHORTEST_RTT, LONGEST_RTT = Duration(10**5), Duration(10**10)
MOST_JITTER = Duration(10**9)
"""The largest parameter of a distribution."""
MOST_REORDERED_BY = Duration(10**10)
MOST_LOSS = Share(5 * 10**8)
"""The largest mean loss: with more, most flows do not connect."""
MOST_CHANGES = 500
JITTER_STEPS = 256
"""Steps of a distribution's quantiles, between which a data plane interpolates."""
CUT = 4
"""What is drawn is at most so many standard deviations, or so many means."""
WIFI_FROM, WIFI_TO = Duration(10**6), Duration(91 * 10**6)
"""Means of Wi-Fi's jitter up to which no packet is sent again, and from which every one is."""
WIFI_DEFERRED_NS, WIFI_RETRIED_NS = 30 * 10**6, 75 * 7_500_000
"""What a packet waits at most: Poisson counts are beyond these once in 10^30 packets."""
NONE, ALL = Share(0), Share(10**9)

PathNs = Annotated[int, Field(ge=0, le=60 * 10**9)]
Ppb = Annotated[int, Field(ge=0, le=ALL.ppb)]


class PathState(ContractModel):
    """One way of a path from a time on, as a data plane is told it.

    Attributes:
        at_ns: The time, after t0.
        delay_ns: The delay.
        loss_ppb: Share of packets lost at random.
        retry_ppb: Share of packets that Wi-Fi sends again.
    """

    at_ns: AfterT0
    delay_ns: PathNs
    loss_ppb: Ppb
    retry_ppb: Annotated[int | None, Field(ge=0, le=ALL.ppb)] = None


class JitterSettings(ContractModel):
    """What packets take more: a distribution by its quantiles, linear in between; or Wi-Fi's.

    Attributes:
        points_ns: Quantiles, from the least to the most.
        is_wifi: In place of points: so many ms as a Poisson process of mean 1 says, less a part of
            one if there are any, and for a share of the packets so many times 7.5 ms more as one of
            mean 12 says (draft-huitema-ccwg-c4-test-02, section 2.3).
        retry_ppb: This share, until the first change.
        every_ns: How long one draw holds; 0: for one packet.
        seed: Of the draws.
    """

    points_ns: Annotated[
        tuple[PathNs, ...] | None, Field(min_length=2, max_length=JITTER_STEPS + 1)
    ] = None
    is_wifi: bool | None = None
    retry_ppb: Annotated[int | None, Field(ge=0, le=ALL.ppb)] = None
    every_ns: PathNs
    seed: Count


class ReorderSettings(ContractModel):
    """A share of the packets is late, and holds up none that comes after.

    Attributes:
        share_ppb: The share; 0: none.
        by_ns: How late.
        seed: Of the draws.
    """

    share_ppb: Ppb
    by_ns: PathNs
    seed: Count


class GilbertSettings(ContractModel):
    """Losses by two states: a packet is lost by the state that it finds, which changes with it.

    Attributes:
        p_ppb: From good to bad.
        r_ppb: From bad to good.
        loss_bad_ppb: Share that the bad state loses (1-h).
        loss_good_ppb: Share that the good state loses (1-k).
        seed: Of the draws.
    """

    p_ppb: Ppb = 0
    r_ppb: Ppb = 0
    loss_bad_ppb: Ppb = 0
    loss_good_ppb: Ppb
    seed: Count


class Impairment(ContractModel):
    """What one way of a path does besides a constant delay and independent loss.

    Attributes:
        jitter: What packets take more.
        reorder: Which of them are overtaken.
        gilbert: Losses in bursts.
        changes: Delay and loss from times on, in the order of these.
    """

    jitter: JitterSettings | None = None
    reorder: ReorderSettings | None = None
    gilbert: GilbertSettings | None = None
    changes: Annotated[tuple[PathState, ...] | None, Field(max_length=2 * MOST_CHANGES)] = None


def check_loss(key: str, loss: Share, instead: str = "") -> None:
    """Refuse a random loss with which flows do not connect; raises ValueError.

    Args:
        key: Where it is written.
        loss: The share of the packets.
        instead: What else could be written.
    """
    if loss > MOST_LOSS:
        raise ValueError(f"{key}: {loss} is out of range; write 0% to {MOST_LOSS}{instead}")


class PathChange(ContractModel):
    """A base RTT from a time on.

    Attributes:
        at: When, after the common start: packets that set out from then on take it.
        base_rtt: The base RTT from then on.
        return_delay: The return path's part of it; left out: half of it, or `return.delay`.
        wifi: From then on the mean of `jitter: {wifi: ...}`, on both ways if both have it.
    """

    at: Duration
    base_rtt: Duration
    return_delay: Duration | None = None
    wifi: Duration | None = None


class Jitter(ContractModel):
    """What packets take more than the base RTT says; one of the distributions.

    A packet is due no sooner than the one before it, so that many packets within the jitter's
    length are delayed by nearly the most of them; `every` makes the delay vary more slowly.

    Attributes:
        uniform: Anything from 0 to so much.
        normal: The magnitude of a normal distribution with this standard deviation, of which 4
            are the most; on average 0.8 of it.
        exponential: Exponential with this mean, of which 4 are the most.
        wifi: By C4's model of Wi-Fi (draft-huitema-ccwg-c4-test-02, section 2.3): Poisson(1) times
            1 ms, less a uniform part of 1 ms if there are any, for collisions; and for a share of
            the packets, (this - 1 ms) / 90 ms, Poisson(12) times 7.5 ms for what is sent again.
        every: How long one draw holds; left out: for one packet.
    """

    uniform: Duration | None = None
    normal: Duration | None = None
    exponential: Duration | None = None
    wifi: Duration | None = None
    every: Duration = Duration(0)

    @model_validator(mode="after")
    def _check(self) -> Self:
        known = (*DISTRIBUTIONS, "wifi")
        given = [name for name in known if getattr(self, name) is not None]
        if len(given) != 1:
            what = f"has {' and '.join(given)}" if given else "has no distribution"
            raise ValueError(f"{what}; write one of {', '.join(known)}")
        amount: Duration = getattr(self, given[0])
        if not 0 < amount.ns <= MOST_JITTER.ns:
            raise ValueError(f"{given[0]}: {amount} is out of range; write up to {MOST_JITTER}")
        if self.every.ns > LONGEST_RTT.ns:
            raise ValueError(f"every: {self.every} is too long; write at most {LONGEST_RTT}")
        return self

    @property
    def points_ns(self) -> tuple[int, ...]:
        """Quantiles, from the least to the most."""
        name = next(name for name in DISTRIBUTIONS if getattr(self, name) is not None)
        return DISTRIBUTIONS[name](getattr(self, name).ns)

    @property
    def told(self) -> JsonObject:
        """What a data plane is told of it."""
        if self.wifi is not None:
            return {"is_wifi": True, "retry_ppb": retry_ppb(self.wifi), "every_ns": self.every.ns}
        return {"points_ns": list(self.points_ns), "every_ns": self.every.ns}

    @property
    def most_ns(self) -> int:
        """The most that a packet may take more."""
        if self.wifi is not None:
            return WIFI_DEFERRED_NS + WIFI_RETRIED_NS
        return self.points_ns[-1]


def retry_ppb(mean: Duration) -> int:
    """Share of the packets that Wi-Fi sends again where its jitter has a mean."""
    above = min(mean.ns, WIFI_TO.ns) - WIFI_FROM.ns
    return max(0, above * 10**9 // (WIFI_TO.ns - WIFI_FROM.ns))


def _uniform(amount_ns: int) -> tuple[int, ...]:
    return 0, amount_ns


def _normal(amount_ns: int) -> tuple[int, ...]:
    quantile = NormalDist().inv_cdf
    steps = range(JITTER_STEPS)
    within = (quantile((1 + step / JITTER_STEPS) / 2) for step in steps)
    return (*(round(amount_ns * each) for each in within), CUT * amount_ns)


def _exponential(amount_ns: int) -> tuple[int, ...]:
    within = (-log(1 - step / JITTER_STEPS) for step in range(JITTER_STEPS))
    return (*(min(CUT * amount_ns, round(amount_ns * each)) for each in within), CUT * amount_ns)


DISTRIBUTIONS: dict[str, Callable[[int], tuple[int, ...]]] = {
    "uniform": _uniform,
    "normal": _normal,
    "exponential": _exponential,
}


class Reorder(Quantities):
    """Packets that those behind them overtake.

    Attributes:
        share: Share of the packets that are late; all others keep their order.
        by: How late.
    """

    share: Share
    by: Duration

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not 0 < self.share.ppb <= ALL.ppb:
            raise ValueError(f"share: {self.share} is out of range; write more than 0% to 100%")
        if not 0 < self.by.ns <= MOST_REORDERED_BY.ns:
            raise ValueError(f"by: {self.by} is out of range; write up to {MOST_REORDERED_BY}")
        return self


class Gilbert(AliasedModel):
    """Gilbert and Elliott's two states, with netem's parameters (`loss gemodel`).

    A packet is lost by the state that it finds. On average p/(p+r) of the packets find the bad
    state, so that p/(p+r) (1-h) + r/(p+r) (1-k) of them are lost, and with the defaults of 1-h and
    1-k in bursts of 1/r packets.

    Attributes:
        p: Probability, at each packet, that the good state becomes the bad one.
        r: That the bad state becomes the good one; left out: 100% - p.
        1-h: Share of the packets that the bad state loses.
        1-k: Share that the good state loses.
    """

    p: Share
    r: Share | None = None
    bad: Annotated[Share, Field(alias="1-h")] = ALL
    good: Annotated[Share, Field(alias="1-k")] = NONE

    @property
    def recovery(self) -> Share:
        """The probability that the bad state ends."""
        return Share(ALL.ppb - self.p.ppb) if self.r is None else self.r

    @property
    def told(self) -> JsonObject:
        """What a data plane is told of it."""
        return base_units(p=self.p, r=self.recovery, loss_bad=self.bad, loss_good=self.good)

    @property
    def mean(self) -> float:
        """The mean loss, as a fraction."""
        p, r = self.p.ppb, self.recovery.ppb
        return (p * self.bad.fraction + r * self.good.fraction) / (p + r)

    @model_validator(mode="after")
    def _check(self) -> Self:
        for key, value in (("p", self.p), ("r", self.recovery)):
            if not 0 < value.ppb <= ALL.ppb:
                raise ValueError(f"{key}: {value} is out of range; write more than 0% to 100%")
        for key, value in (("1-h", self.bad), ("1-k", self.good)):
            if value.ppb > ALL.ppb:
                raise ValueError(f"{key}: {value} is out of range; write 0% to 100%")
        if self.mean > MOST_LOSS.fraction:
            raise ValueError(
                f"1-h: {self.mean:.1%} of the packets are lost on average, at most {MOST_LOSS} may "
                "be; write less"
            )
        return self


class BurstLoss(ContractModel):
    """Losses that are not independent of each other.

    Attributes:
        gilbert: Two states, of which one is bad.
    """

    gilbert: Gilbert


class Way(AliasedModel):
    """What one direction of a path may do to its packets.

    Attributes:
        jitter: What packets take more: `{uniform: 5ms}`, `{normal: 2ms}`, `{exponential: 2ms}` or
            `{wifi: 7ms}`.
        reorder: Which of them are overtaken: `{share: 1%, by: 5ms}`.
        loss: Losses in bursts: `{gilbert: {p: 1%, r: 20%}}`.
    """

    jitter: Jitter | None = None
    reorder: Reorder | None = None
    loss: BurstLoss | None = None

    @property
    def most_more_ns(self) -> int:
        """The most that a packet may take more than the delay."""
        jitter = 0 if self.jitter is None else self.jitter.most_ns
        return jitter + (0 if self.reorder is None else self.reorder.by.ns)

    @property
    def is_wifi(self) -> bool:
        """Whether its jitter is that of Wi-Fi."""
        return self.jitter is not None and self.jitter.wifi is not None


class ReturnPath(Way):
    """The way back, which has acknowledgements.

    Attributes:
        delay: Its part of the base RTT; left out: half of it.
        random_loss: Share of packets lost at random there.
    """

    delay: Duration | None = None
    random_loss: Share = NONE

    @model_validator(mode="after")
    def _check_return(self) -> Self:
        check_loss("random_loss", self.random_loss)
        if self.random_loss.ppb and self.loss is not None:
            raise ValueError(
                "random_loss: `loss` has it as 1-k, what the good state loses; remove it"
            )
        return self


class ChangingPath(Way):
    """The path of a flow group: `jitter`, `reorder` and `loss` are the forward path's.

    Attributes:
        changes: Base RTTs from given times on: `[{at: 40s, base_rtt: 90ms}]`.
        return: What the return path does: `{delay: 30ms, jitter: {uniform: 1ms}}`.
    """

    changes: tuple[PathChange, ...] = ()
    return_: Annotated[ReturnPath | None, Field(alias="return")] = None

    @property
    def back(self) -> ReturnPath:
        """The return path."""
        return ReturnPath() if self.return_ is None else self.return_

    @property
    def most_more_rtt_ns(self) -> int:
        """The most that a round trip may take more than the base RTT."""
        return self.most_more_ns + self.back.most_more_ns


class ReturnBottleneck(ContractModel):
    """A bottleneck of its own on the way back, shared by the acknowledgements of all flows.

    Data of groups whose `direction` is reverse shares it. It is drop-tail, and counts
    `bottleneck.overhead` for each packet, too.

    Attributes:
        rate: Its rate.
        buffer: Its limit, in bytes or packets, what is being sent included.
    """

    rate: Rate
    buffer: Buffer

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.rate.bps == 0:
            raise ValueError("rate: must be more than 0; write e.g. 10mbit")
        if self.buffer.unit == "bdp":
            raise ValueError(f"buffer: {self.buffer}: write it in bytes or packets, e.g. 50pkt")
        if self.buffer.amount < 1:
            raise ValueError(f"buffer: {self.buffer} holds no packet; write e.g. 50pkt")
        if self.buffer.amount > CONSTANTS.limit_max:
            most = f"{CONSTANTS.limit_max}{'pkt' if self.buffer.unit == 'packets' else 'B'}"
            raise ValueError(f"buffer: {self.buffer} is too large; write at most {most}")
        return self

    def line(self, overhead_bytes: int) -> QueuedLine:
        """What a target is asked of it."""
        unit: Literal["packets", "bytes"] = "packets" if self.buffer.unit == "packets" else "bytes"
        limit = Limit(unit=unit, value=int(self.buffer.amount))
        return QueuedLine(rate_bps=self.rate.bps, limit=limit, overhead_bytes=overhead_bytes)


def split(base_rtt_ns: int, return_ns: int | None) -> tuple[int, int]:
    """Forward and return part of a base RTT.

    Args:
        return_ns: The return path's part; None: half.
    """
    back = base_rtt_ns - base_rtt_ns // 2 if return_ns is None else return_ns
    return base_rtt_ns - back, back


def split_at(path: ChangingPath, base_rtt_ns: int, change: PathChange | None) -> tuple[int, int]:
    """Forward and return part of a path's base RTT, at first or after a change.

    Args:
        base_rtt_ns: The base RTT at first.
        change: The last change; None: none yet.
    """
    own = None if path.back.delay is None else path.back.delay.ns
    if change is None:
        return split(base_rtt_ns, own)
    return split(change.base_rtt.ns, own if change.return_delay is None else change.return_delay.ns)


def longest_rtt_ns(path: ChangingPath, base_rtt_ns: int) -> int:
    """The longest round trip of a group without queues."""
    known = [base_rtt_ns, *(change.base_rtt.ns for change in path.changes)]
    return max(known) + path.most_more_rtt_ns


def rtt_range_ns(
    paths: Sequence[ChangingPath], base_rtt_ns: Sequence[int]
) -> tuple[int, int] | None:
    """The shortest and the longest that a round trip without queues may take; None: base RTTs say.

    Args:
        paths: The paths of the flow groups.
        base_rtt_ns: Their base RTTs at first.
    """
    if not any(path.changes or path.most_more_rtt_ns for path in paths):
        return None
    pairs = list(zip(paths, base_rtt_ns, strict=True))
    shortest = min(
        min((first_ns, *(change.base_rtt.ns for change in path.changes)))
        for path, first_ns in pairs
    )
    return shortest, max(longest_rtt_ns(path, first_ns) for path, first_ns in pairs)


def check_rtt(where: str, base_rtt: Duration) -> None:
    """Refuse a base RTT that is out of range.

    Raises:
        ValueError: It is.
    """
    if not SHORTEST_RTT.ns <= base_rtt.ns <= LONGEST_RTT.ns:
        raise ValueError(f"{where}: {base_rtt} is out of range; write 0.1ms to 10s")


def check_path(path: ChangingPath, base_rtt: Duration) -> None:
    """Refuse a path whose parts do not fit together; keys are those of its flow group.

    Args:
        base_rtt: The base RTT at first.

    Raises:
        ValueError: It does not fit.
    """
    if len(path.changes) > MOST_CHANGES:
        many = counted(len(path.changes), "change")
        raise ValueError(f"changes: {many} are too many; write at most {MOST_CHANGES}")
    _check_part("return.delay", base_rtt, split_at(path, base_rtt.ns, None)[0])
    before: PathChange | None = None
    for index, change in enumerate(path.changes):
        where = f"changes.{index}"
        check_rtt(f"{where}.base_rtt", change.base_rtt)
        _check_part(f"{where}.return_delay", change.base_rtt, split_at(path, 0, change)[0])
        if change.wifi is not None and not (path.is_wifi or path.back.is_wifi):
            raise ValueError(
                f"{where}.wifi: changes a jitter of this kind; write `jitter: {{wifi: 1ms}}` for "
                "what is before"
            )
        if before is not None and change.at.ns <= before.at.ns:
            raise ValueError(
                f"{where}.at: {change.at} is not after the change before it ({before.at}); write "
                "changes in the order of their times"
            )
        before = change


def _check_part(where: str, base_rtt: Duration, forward_ns: int) -> None:
    if forward_ns < 0:
        raise ValueError(
            f"{where}: is longer than base_rtt ({base_rtt}), of which it is a part; make it shorter"
        )


def check_times(
    groups: Sequence[ChangingPath], longest: Duration, *, swept: bool, settles: bool
) -> None:
    """Refuse changes that come too late, or together with what they contradict.

    Args:
        longest: The end of a trial.
        settles: Whether a trial runs until it is settled.

    Raises:
        ValueError: They are not possible.
    """
    for i, group in enumerate(groups):
        if group.changes and swept:
            raise ValueError(
                f"flows.{i}.changes: sweep.base_rtt sets the base RTT, which changes here; remove "
                "one of them"
            )
        if group.changes and settles:
            raise ValueError(
                f"flows.{i}.changes: a path that changes does not settle; write a fixed duration "
                "such as 120s"
            )
        for k, change in enumerate(group.changes):
            if change.at.ns >= longest.ns:
                raise ValueError(
                    f"flows.{i}.changes.{k}.at: {change.at} is not before the end ({longest}); "
                    "write an earlier time"
                )
