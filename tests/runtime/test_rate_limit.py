"""A token bucket, by a clock of the test's own."""

from hypothesis import given
from hypothesis import strategies as st

from dshq_widget.runtime.rate_limit import RateLimit


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_burst_is_free_and_what_comes_after_it_waits():
    clock = Clock()
    limit = RateLimit(rate=10.0, burst=20.0, clock=clock)
    assert [limit.spend() for _ in range(20)] == [0.0] * 20
    assert limit.spend() == 0.1 and limit.spend() == 0.2 and limit.wait == 0.2
    clock.now += 0.2
    assert limit.wait == 0.0
    clock.now += 1000.0
    assert limit.spend(20.0) == 0.0 and limit.spend(5.0) == 0.5, "no more than the burst is saved up"


@given(
    rate=st.floats(0.5, 1e7),
    asked=st.lists(st.tuples(st.floats(0.0, 5.0), st.floats(0.0, 1e7)), max_size=40),
)
def test_who_waits_as_long_as_it_says_never_gets_more_than_the_rate(rate, asked):
    clock = Clock()
    limit, spent = RateLimit(rate, 2 * rate, clock), 0.0
    for idle, units in asked:
        clock.now += idle
        wait = limit.spend(units)
        spent += units
        clock.now += wait
        assert spent <= (2 * rate + rate * (clock.now - 100.0)) * (1 + 1e-6) + 1e-6
