"""The curves that come back with a policy: Undo on one page is seen on the next."""

import pytest

from dshq_widget.training.trainer import Trainer
from dshq_widget.widget import page_protocol


def test_rows_are_checked_and_cleaned():
    assert page_protocol.history([{"updates": 3, "elo": float("nan"), "name": "x"}], 5) == [{"updates": 3}]
    for wrong in (None, [1], [{}] * 6, [{str(key): 1 for key in range(1001)}]):
        with pytest.raises(ValueError, match="wanted at most 5 rows of metrics"):
            page_protocol.history(wrong, 5)


def test_the_trainer_has_the_curves_again(reference_rules):
    with Trainer("bandit") as trainer:
        trainer.restore_history([{"updates": 1}, {"updates": 2}])
        assert trainer.history == [{"updates": 1}, {"updates": 2}]
