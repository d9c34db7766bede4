"""When what is sent to a page, with a clock of its own: a page that answers, that loses messages, that is gone."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from dshq_widget.widget.flow import LARGE, LARGE_A_SECOND, LIVE, METRICS_SECONDS, Flow


def drive(flow: Flow, seconds: float, dirty: Callable[[float], set[str]], answer: Callable[[int, float], Any]) -> list:
    """Ask every 10 ms what is due, and let `answer(seq, now)` react to what was sent; returns (now, keys) of each."""
    sent = []
    unsent: set[str] = set()
    for k in range(int(seconds * 100)):
        now = k / 100
        unsent |= dirty(now)
        keys = flow.due(unsent, now, True, 0.25)
        if keys:
            unsent -= keys
            flow.sent(keys, now)
            sent.append((now, keys))
            answer(flow.seq, now)
    return sent


def shown() -> Flow:
    """To a page that has said hello and holds everything."""
    flow = Flow()
    flow.received(hello=True)
    flow.sent(flow.due((), 0.0, True, 1.0), 0.0)
    flow.received(flow.seq)
    return flow


def test_flow_with_a_page_that_answers():
    flow = Flow()
    flow.received(hello=True)
    sent = drive(flow, 10, lambda now: {"show", "metrics", "policy"}, lambda seq, now: flow.received(seq))
    for key, pause in (("metrics", METRICS_SECONDS), ("policy", 0.25)):
        times = [now for now, keys in sent if key in keys]
        assert min(np.diff(times)) >= pause - 1e-9 and len(times) >= 0.8 * 10 / pause


def test_flow_never_sends_faster_than_acknowledged():
    flow = Flow()
    pending: list[tuple[float, int]] = []

    def dirty(now: float) -> set[str]:
        while pending and pending[0][0] <= now:
            flow.received(pending.pop(0)[1])
        return {"show"}

    sent = drive(flow, 10, dirty, lambda seq, now: pending.append((now + 0.4, seq)))
    assert min(np.diff([now for now, _ in sent])) >= 0.4 - 1e-9 and len(sent) > 15


def test_flow_to_nobody_and_back():
    flow = Flow()
    sent = drive(flow, 10, lambda now: {"show", "policy"}, lambda seq, now: None)
    assert [keys for _, keys in sent] == [{"show", "policy"}, {"show", "policy"}]
    flow.received()
    assert flow.due(("metrics",), 11.0, False, 1.0) == {"show", "policy", "metrics"}, "a page that comes back"
    flow.sent({"show", "policy", "metrics"}, 11.0)
    flow.received(flow.seq)
    assert flow.due((), 12.0, False, 1.0) == set()


def test_flow_sends_again_only_what_was_not_acknowledged():
    flow = Flow()
    flow.sent(flow.due({"show", "policy"}, 0.0, True, 1.0), 0.0)
    flow.received(flow.seq)
    flow.sent(flow.due({"metrics"}, 1.0, True, 1.0), 1.0)
    assert flow.due({"status"}, 1.5, True, 1.0) == set(), "one message is under way"
    assert flow.due({"status"}, 2.1, True, 1.0) == {"metrics"}
    flow.sent({"metrics"}, 2.1)
    flow.received(1)  # an old answer that comes late means nothing
    assert flow.due({"status"}, 2.5, True, 1.0) == set()
    flow.received(flow.seq)
    assert flow.due({"status"}, 2.6, True, 1.0) == {"status"}


def test_flow_gives_a_page_that_lacks_something_everything():
    flow = Flow()
    flow.sent({"show"}, 0.0)
    flow.received(flow.seq)
    flow.received(flow.seq, hello=True)
    assert flow.due((), 0.5, False, 1.0) == set(), "another view of the same page"
    flow.received(0, hello=True)
    assert flow.due((), 0.5, False, 1.0) == set(LIVE), "a page that holds an older state"
    flow.sent(LIVE, 0.5)
    flow.received(flow.seq)
    assert flow.due((), 1.5, False, 1.0) == set()


def test_flow_gives_a_page_everything_though_another_answers_meanwhile():
    """The answer to what was sent before that page said hello: it got nothing until something changed."""
    flow = shown()
    flow.sent({"show"}, 1.0)
    flow.received(hello=True)
    flow.received(flow.seq)
    assert flow.waiting and flow.due((), 1.5, False, 1.0) == set(LIVE)
    flow.sent(LIVE, 1.5)
    flow.received(flow.seq)
    assert not flow.waiting and flow.due((), 2.0, False, 1.0) == set()


def test_flow_gives_a_page_no_show_that_it_holds():
    flow = Flow()
    flow.sent({"show"}, 0.0)
    flow.received(flow.seq)
    flow.sent({"metrics"}, 1.0)
    flow.received(1, hello=True)
    assert flow.due((), 1.5, False, 1.0) == set(LIVE) - {"show"}, "the page may have changed it by now"
    flow.received(0, hello=True)
    assert flow.due((), 1.5, False, 1.0) == set(LIVE)
    flow.received(hello=True)
    assert flow.due((), 1.5, False, 1.0) == set(LIVE), "a page that does not say what it holds"


def test_flow_hidden_pages_get_no_pictures():
    flow = shown()
    flow.hidden = True
    assert flow.due({"policy", "metrics"}, 5.0, True, 1.0) == set()
    assert flow.due({"policy", "show"}, 5.0, True, 1.0) == {"show"}
    flow.hidden = False
    assert flow.due({"policy", "metrics"}, 5.0, True, 1.0) == {"policy", "metrics"}


def test_flow_a_hidden_page_that_was_silent_gets_what_it_missed_and_still_no_pictures():
    flow = shown()
    assert not flow.waiting
    flow.hidden = True  # and a hidden page acknowledges nothing
    for now in (5.0, 50.0):
        flow.sent(flow.due({"show"}, now, True, 1.0), now)
        assert flow.waiting
    assert flow.due({"policy"}, 100.0, True, 1.0) == set() and not flow.reachable and not flow.waiting
    flow.received()
    assert flow.due({"policy", "metrics", "league"}, 101.0, True, 1.0) == {"show", "league"}


def test_flow_a_policy_that_a_hidden_page_never_acknowledged_is_sent_when_it_is_seen_again():
    flow = shown()
    flow.sent(flow.due({"policy", "show"}, 5.0, True, 1.0), 5.0)
    flow.hidden = True
    assert flow.due((), 20.0, True, 1.0) == {"show"}, "sent once more, but for the policy"
    flow.sent({"show"}, 20.0)
    assert flow.due((), 40.0, True, 1.0) == set() and not flow.waiting
    flow.received()
    assert flow.due((), 41.0, True, 1.0) == {"show"}
    flow.sent({"show"}, 41.0)
    flow.received(flow.seq)
    assert flow.due((), 60.0, True, 1.0) == set()
    flow.hidden = False
    assert "policy" in flow.due((), 61.0, True, 1.0)


def test_flow_beats_while_training():
    flow = Flow()
    flow.received(hello=True)
    sent = drive(flow, 10, lambda now: set(), lambda seq, now: flow.received(seq))
    assert 9 <= len(sent) <= 11 and {"seq"} in [keys for _, keys in sent]
    assert flow.due((), 100.0, False, 1.0) == set()


def test_flow_with_a_third_of_the_messages_lost():
    """The page holds what it received; what was lost is sent again, and every second the page speaks anyway."""
    chance = random.Random(0)
    flow = Flow()
    flow.received(hello=True)
    truth, held, wrong_since, longest, spoke = 0, -1, 0.0, 0.0, 0.0
    unsent: set[str] = set()
    for k in range(60_000):
        now = k / 100
        if k % 37 == 0 and now < 590:
            truth += 1
            unsent.add("show")
        if now - spoke >= 1.0:
            spoke = now
            if chance.random() > 0.3:
                flow.received()
        keys = flow.due(tuple(unsent), now, True, 0.25)
        if keys:
            unsent -= keys
            flow.sent(keys, now)
            if chance.random() > 0.3:
                held = truth if "show" in keys else held
                if chance.random() > 0.3:
                    flow.received(flow.seq)
        if held == truth:
            wrong_since = now
        longest = max(longest, now - wrong_since)
    assert held == truth
    assert longest < 10, "several losses in a row, each of which costs a second or two"


def test_flow_large_traits_come_no_faster_than_pages_take_them():
    """A page that said HELLO thirty times a second had all others dropped, to each of which 48 MB went as often."""
    flow, nbytes = shown(), 48 << 20
    sent: list[tuple[float, set[str]]] = []
    for k in range(1000):
        now = 1 + k / 100
        flow.received(hello=True)
        keys = flow.due({"policy", "seat"} if k % 2 else (), now, True, 0.25)
        sent.append((now, keys))
        flow.sent(keys, now, nbytes if keys & LARGE else 0)
        flow.received(flow.seq)
    policies = [now for now, keys in sent if "policy" in keys]
    assert 5 <= len(policies) <= 10 * LARGE_A_SECOND / nbytes + 1
    assert sum("status" in keys for _, keys in sent) == len(sent), "what is small does not wait for it"
    flow.sent({"policy"}, now + 9, nbytes)
    flow.received(hello=True)
    flow.sent(flow.due((), now + 9, False, 0.25), now + 9)
    flow.received(flow.seq)
    assert flow.due((), now + 10, False, 0.25) == set() and flow.waiting
    assert flow.due((), now + 11, False, 0.25) == LARGE, "what waits is not forgotten"


def test_flow_a_page_that_is_owed_something_is_waited_for():
    """One that said HELLO after a pause got its curves, and nothing else until the next word of any page."""
    flow = shown()
    assert not flow.waiting
    flow.received(hello=True)
    assert flow.waiting
    flow.sent(flow.due((), 60.0, False, 1.0), 60.0)
    flow.received(flow.seq)
    assert not flow.waiting
