"""A plain model of a path that changes: packet by packet."""

from dataclasses import dataclass, field
from math import exp

from tests.model.core import Impaired
from tests.model.splitmix import SplitMix64

BILLION = 10**9


@dataclass
class ChangingPath:
    """A path from senders to receivers or back.

    Attributes:
        impaired: What else it does.
    """

    delay_ns: int
    impaired: Impaired
    loss_ppb: int = 0
    seed: int = 0
    t0_ns: int | None = None
    last_due_ns: int = 0
    until_ns: int = 0
    held_ns: int = 0
    is_bad: bool = False
    random: dict[str, SplitMix64] = field(default_factory=dict)

    def __post_init__(self) -> None:
        jitter, reorder, gilbert = self.impaired.seeds
        seeds = {"loss": self.seed, "jitter": jitter, "reorder": reorder, "gilbert": gilbert}
        self.random = {name: SplitMix64(seed) for name, seed in seeds.items()}

    def due_ns(self, now_ns: int, less_ns: int = 0) -> int | None:
        """When a packet that comes now is due; None: it is lost."""
        delay_ns, loss_ppb, retry_ppb = self.state(now_ns)
        in_burst = self.in_burst()
        if (loss_ppb and self.happens("loss", loss_ppb)) or in_burst:
            return None
        due_ns = now_ns + delay_ns - less_ns + self.jitter_ns(now_ns, retry_ppb)
        self.last_due_ns = max(self.last_due_ns, due_ns)
        share, by_ns = self.impaired.reorder
        late_ns = by_ns if share and self.happens("reorder", share) else 0
        return self.last_due_ns + late_ns

    def state(self, now_ns: int) -> tuple[int, int, int]:
        """Delay, loss and retries by the last change that has happened."""
        state = self.delay_ns, self.loss_ppb, self.impaired.retries or 0
        for at_ns, *changed in self.impaired.changes:
            if self.t0_ns is not None and now_ns >= self.t0_ns + at_ns:
                state = changed[0], changed[1], changed[2]
        return state

    def happens(self, purpose: str, ppb: int) -> bool:
        return self.random[purpose].next() % BILLION < ppb

    def in_burst(self) -> bool:
        """Gilbert-Elliott: the state decides that the packet finds."""
        if self.impaired.gilbert is None:
            return False
        p, r, bad, good = self.impaired.gilbert
        was_bad = self.is_bad
        if self.happens("gilbert", r if was_bad else p):
            self.is_bad = not was_bad
        return self.happens("gilbert", bad if was_bad else good)

    def jitter_ns(self, now_ns: int, retry_ppb: int) -> int:
        if not self.impaired.jitter_points and self.impaired.retries is None:
            return 0
        every_ns = self.impaired.jitter_every_ns
        if not every_ns:
            return self.drawn_ns(retry_ppb)
        if now_ns >= self.until_ns:
            self.held_ns = self.drawn_ns(retry_ppb)
            self.until_ns = (now_ns // every_ns + 1) * every_ns
        return self.held_ns

    def drawn_ns(self, retry_ppb: int) -> int:
        """By Wi-Fi's model, or a point between two quantiles."""
        if self.impaired.retries is None:
            return self.quantile_ns()
        deferrals = self.poisson(1)
        part_ns = self.random["jitter"].next() % 10**6 if deferrals else 0
        retries = self.poisson(12) if self.happens("jitter", retry_ppb) else 0
        return deferrals * 10**6 - part_ns + retries * 7_500_000

    def poisson(self, mean: int) -> int:
        """How many uniform numbers multiply to more than e^-mean (Knuth)."""
        left, n = 1.0, -1
        while left > exp(-mean):
            left *= self.random["jitter"].next() / 2**64
            n += 1
        return n

    def quantile_ns(self) -> int:
        """A point between two quantiles."""
        drawn, points = self.random["jitter"].next(), self.impaired.jitter_points
        index = (drawn >> 32) * (len(points) - 1) >> 32
        step = points[index + 1] - points[index]
        return points[index] + (step * (drawn % 2**24) >> 24)
