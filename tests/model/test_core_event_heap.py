"""The event heap against a dictionary."""

from hypothesis import given
from hypothesis import strategies as st
from tests.model.core import NEVER, EventHeap

SOURCES = 20
TIMES = st.one_of(st.integers(0, 5), st.integers(0, 2**64 - 2), st.just(NEVER))


@given(st.lists(st.tuples(st.integers(0, SOURCES - 1), TIMES), max_size=200))
def test_the_earliest_event_is_always_first(settings: list[tuple[int, int]]) -> None:
    heap = EventHeap(SOURCES)
    model: dict[int, int] = {}
    for source, at_ns in settings:
        heap.set(source, at_ns)
        model[source] = at_ns
        events = [(t, s) for s, t in model.items() if t != NEVER]
        assert heap.next() == min(events, default=None)
