"""Whether somebody looks at a widget that several pages show."""

import pytest

from dshq_widget.widget.looking import MOST_PAGES, SILENT_SECONDS, Looking
from tests.harness.browser.recorded_widget import until


def report(visible):
    return {"type": "PAGE_STATE", "version": 0, "fps": 30.0, "visible": visible}


@pytest.fixture
def told():
    said: list[bool] = []
    now = [0.0]
    return Looking(said.append, lambda: now[0]), said, now


def test_a_page_that_is_hidden_stops_nothing_on_the_others(told):
    looking, said, _ = told
    looking.heard("a", True)
    looking.heard("b", True)
    looking.heard("b", False)
    looking.heard("c")  # which has not said yet whether it is seen
    assert said == [True, True, True]
    looking.heard("a", False)
    looking.heard("a")
    assert said == [True, True, True, False]
    looking.heard("b", True)
    assert said[-1] is True


def test_a_page_that_is_gone_is_seen_no_more_and_one_that_speaks_is(told):
    looking, said, now = told
    looking.heard("a", True)
    looking.heard("b", True)
    now[0] = SILENT_SECONDS + 1
    looking.heard("b", False)
    assert said[-1] is False, "the first one has been silent for so long"
    looking.heard("a")
    assert said[-1] is True
    looking.heard("a")
    assert said == [True, True, False, True]


def test_pages_without_end_are_not_all_known(told):
    looking, _, _ = told
    for k in range(3 * MOST_PAGES):
        looking.heard(str(k), True)
    assert len(looking._pages) == MOST_PAGES


def test_who_opens_very_many_pages_hides_nobodys(told):
    looking, said, _ = told
    looking.heard("a", True)
    for k in range(3 * MOST_PAGES):
        looking.heard(str(k), False if k % 2 else None)
    assert all(said) and len(looking._pages) == MOST_PAGES


def test_whose_message_it_is(make):
    """Jupyter's messages name the session that sent them. One tab in the background stopped an environment's pictures
    and the policies of another window for good.
    """
    widget = make()
    flow = widget._outbox.flow

    def say(page, content, method="custom"):
        data = {"method": method, "content": content} if method == "custom" else {"method": method, **content}
        widget.comm.handle_msg({"header": {"session": page}, "content": {"data": data}, "buffers": []})

    say("one", report(True))
    say("two", report(False))
    say("two", {"state": {"show": {"speed": 2.0}}}, method="update")
    until(lambda: widget.speed == 2.0)
    assert not flow.hidden
    say("one", report(False))
    until(lambda: flow.hidden)
    say("two", report(True))
    until(lambda: not flow.hidden)
    for header in (None, {}, {"session": 7}):
        said = {"data": {"method": "custom", "content": report(True)}}
        widget.comm.handle_msg({"header": header, "content": said, "buffers": []})
