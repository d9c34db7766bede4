"""A league inside this process: what a lesson does with it, and that nothing of it stays."""

import threading
from hashlib import sha256

import numpy as np
import pytest

pytest.importorskip("sqlalchemy")

from dshq_widget.classroom.errors import LeagueError
from dshq_widget.classroom.local import LocalLeague
from dshq_widget.classroom.submit import submit
from dshq_widget.classroom.verify_replay import verify
from dshq_widget.policy import checkpoint
from tests.harness.class_league import policy


def test_a_round_from_opening_to_proof(tmp_path):
    with LocalLeague() as league:
        folder = league._folder.path
        tokens = league.enrol("ada", "bob")
        number = league.open_round("Cup", "ball", anchors=["chaser"])
        with pytest.raises(LeagueError, match="not finished"):
            league.secret(number)
        for k, (name, token) in enumerate(tokens.items()):
            file = checkpoint.save(tmp_path / f"{name}.dshq", policy(k))
            assert submit(file, league.url, token)["round"] == number
        league.close_round(number)
        assert league.wait(number, 120)
        assert sha256(league.secret(number).encode()).hexdigest() == league.commitment(number)
        blocks, table = league.blocks(number), league.table(number)
        assert {name for block in blocks for name in (block.first, block.second)} == {"ada", "bob", "random", "chaser"}
        assert sum(row.games for row in table.rows) == 2 * sum(sum(block[3:]) for block in blocks)
        game = league.replay(blocks[0].match)
        assert verify(game) == game["sha256"]
    assert not folder.exists()
    assert [t.name for t in threading.enumerate() if t.name in ("dshq-league", "dshq-referee")] == []
    league.close()


def test_what_an_instructor_is_told():
    with LocalLeague() as league:
        with pytest.raises(LeagueError, match="two sides"):
            league.open_round("Cup", "cartpole")
        for blocks in (0, -1, 33, 10**30, 1.5, True, "2"):
            with pytest.raises(LeagueError, match="blocks must be a whole number from 1 to 32, got"):
                league.open_round("Cup", "ball", blocks=blocks)
        for blocks in (np.int64(32), np.uint8(3), 2.0):
            assert league.store.round(league.open_round("Cup", "ball", blocks=blocks)).blocks == blocks
        number = league.open_round("Cup", "ball")
        with pytest.raises(LeagueError, match="nobody has sent"):
            league.close_round(number)
        with pytest.raises(LeagueError, match="must have 1 to 255 printable characters"):
            league.enrol(" ")
        assert not league.wait(number, 0.2)
