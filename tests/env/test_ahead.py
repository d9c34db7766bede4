"""Matches that are played ahead for pages: what is done of the messages that wait. What is played is tested where it is
played, in tests/algorithms.
"""

from dshq_widget.env.ahead import MOST_PAGES, newest


def decide(page, count=1, start=None):
    return {"type": "DECIDE", "page": page, "plan": 0, "count": count, "start": start}


def ask(kind, page, number):
    return {"type": kind, "page": page, "plan": 0, "tick": number}


def test_of_what_a_page_asks_again_only_the_newest_is_done():
    """A dream takes milliseconds: who asked without end left minutes of dreams; the others' matches waited."""
    flood = [ask("DREAM", 1, k) for k in range(1000)]
    other = [ask("DREAM", 2, 5), decide(2), ask("ENTER_DREAM", 2, 6)]
    assert newest([*other, *flood, decide(2, 7)]) == [*other, flood[-1], decide(2, 7)]
    steps = [ask("DREAM_ACT", 1, k) for k in range(9)]
    assert newest(steps) == steps[-2:], "a page of ours has two under way"


def test_matches_are_begun_for_the_last_pages_only():
    flood = [decide(page, start={"tick": tick}) for tick in range(9) for page in range(50)]
    wanted = [decide(9, 3)] * 20
    assert newest([*wanted, *flood]) == [*wanted, *flood[-MOST_PAGES:]]
    again = [decide(1, start={"tick": 1}), decide(1), decide(1, start={"tick": 2}), decide(1)]
    assert newest(again) == again[1:]
