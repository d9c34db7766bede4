"""The league's log: what strangers send fills no disk with it."""

import logging

import pytest

pytest.importorskip("sqlalchemy")

from dshq_widget.classroom.service.page import COOKIE
from dshq_widget.classroom.service.short_log import ShortLog
from dshq_widget.classroom.store import Store
from tests.harness.class_league import Person, Service


@pytest.mark.parametrize(
    ("method", "path", "cookie"),
    [
        ("GET", "/none", ""),
        ("GET", "/login", f"{COOKIE}={'x' * 9000}|1|b"),
        ("GET", "/login?next=%ff", ""),
        ("POST", "/login", ""),
        ("GET", "/static/widget.css", "range"),
    ],
)
def test_a_wrong_request_leaves_no_line_in_the_log(store: Store, caplog, method: str, path: str, cookie: str):
    """30 kB of each, two thousand a second, filled the disk of the hub, and nobody was logged in."""
    headers = {"Range": "bytes=999999999-"} if cookie == "range" else {"Cookie": cookie} if cookie else {}
    with Service(store) as service:
        body = b"a=b" if method == "POST" else None
        assert Person(service.port).ask(method, path, body, **headers)[0] in range(200, 500)
    assert caplog.records == []


def test_the_log_has_few_and_short_lines_of_others(capsys):
    log, other, own = ShortLog(), logging.getLogger("tornado.application"), logging.getLogger("dshq.league")
    for logger in (other, own):
        for _ in range(300):
            log.handle(logger.makeRecord(logger.name, logging.WARNING, "", 0, "y" * 9000, (), None))
    lines = capsys.readouterr().err.splitlines()
    assert 400 <= len(lines) < 410 and {len(line) for line in lines} == {2004}
