"""Which file a run goes on from, and which is another run's by now; its learner is played by hand."""

import os
import shutil

import pytest

from dshq_widget.files.claims import ClaimError
from dshq_widget.policy import checkpoint
from tests.harness.processes.faults import until
from tests.harness.processes.stand import KILLED, MOMENTS, Standing, beside, saved


@pytest.mark.parametrize("unsaved", [False, True])
def test_a_run_that_is_resumed_takes_the_place_of_no_other(tmp_path, unsaved):
    """`resume_run` in a cell, after training: the next autosave took the place of the own run, without a word."""
    with Standing("ball", hidden_sizes=(8,), seed=1) as other:
        saved(other, 3)
        path = other.save(tmp_path / "other.dshq")
    with Standing("ball", hidden_sizes=(8,), learning_rate=0.5, log_dir=tmp_path / "log") as trainer:
        saved(trainer, 7, **MOMENTS)
        if unsaved:
            trainer.start()
            trainer.stands[-1].publishes(trainer, 8)
            trainer.stop()
            trainer.stands[-1].ends(KILLED)
        warnings: list[str] = []
        trainer.on_warning(warnings.append)
        trainer.resume_from(path)
        kept = tmp_path / "log" / "replaced.dshq"
        assert trainer.version == 3 and trainer._run.files.to_resume() == str(path)
        assert warnings == [f"another run is resumed; the previous training is saved in {kept}"]
        was = checkpoint.load(kept)
        assert was.version == (8 if unsaved else 7) and was.config["learning_rate"] == 0.5
        assert unsaved or was.state["adam_step"] == 3


def test_a_folder_that_another_run_has_is_left_alone_by_resume(tmp_path):
    """That one's file was moved, and it was back at its beginning when its learner died."""
    with (
        Standing("ball", hidden_sizes=(8,), log_dir=tmp_path / "log") as first,
        Standing("ball", hidden_sizes=(8,), log_dir=tmp_path / "log") as second,
    ):
        saved(second, 3)
        path = second.save(tmp_path / "other.dshq")
        saved(first, 7)
        first.start()
        with pytest.raises(ClaimError):
            second.resume_from(path)
        assert checkpoint.version_of(tmp_path / "log" / "autosave.dshq") == 7
        assert second.version == 3
        first.stop()
        first.stands[-1].ends()


def test_what_two_runs_with_files_in_one_folder_load_is_not_mixed(tmp_path):
    """The one trained what the other had loaded."""
    for version in (1, 2):
        with Standing("ball", hidden_sizes=(8,), seed=version) as made:
            saved(made, version)
            made.save(tmp_path / f"{version}.dshq")
    how = [{"hidden_sizes": (8,), "autosave": tmp_path / f"{name}.dshq"} for name in "ab"]
    with Standing("ball", **how[0]) as first, Standing("ball", **how[1]) as second:
        first.load(tmp_path / "1.dshq")
        second.load(tmp_path / "2.dshq")
        first.start()
        assert checkpoint.load(first.stands[0].job["resume"]).version == 1
        assert (tmp_path / "a-loaded.dshq").exists() and (tmp_path / "b-loaded.dshq").exists()


def test_a_run_that_goes_on_from_its_own_file_keeps_nothing_beside_it(tmp_path):
    with Standing("ball", hidden_sizes=(8,), log_dir=tmp_path / "log") as trainer:
        saved(trainer, 7, **MOMENTS)
        own = trainer._run.files.to_resume()
        trainer.resume_from(own)
        assert trainer.version == 7 and trainer._run.files.to_resume() == own
        assert trainer.status_text == "at version 7 of the saved run"
        assert [path.name for path in (tmp_path / "log").glob("*.dshq")] == ["autosave.dshq"]


@pytest.mark.parametrize("same", [False, True])
def test_a_file_that_is_another_runs_by_now_is_not_continued_from(tmp_path, same):
    """Of the same version it was taken for one's own: the other's weights and moments came without a word."""
    path = tmp_path / "bot.dshq"
    for seed, name in ((1, "bot.dshq"), (1 if same else 2, "other.dshq")):
        with Standing("ball", hidden_sizes=(8,), seed=seed) as trainer:
            saved(trainer, 3, **MOMENTS)
            trainer.save(tmp_path / name)
    with Standing(path) as trainer:
        shutil.copy(tmp_path / "other.dshq", path)
        trainer.start()
        assert trainer.stands[0].job["resume"] == (str(path) if same else None)


def test_nor_from_its_own_folder_before_that_is_claimed(tmp_path):
    """Another trainer had its turn there meanwhile, and is closed."""
    log = tmp_path / "log"
    with Standing("ball", hidden_sizes=(8,), log_dir=log) as made:
        saved(made, 3, **MOMENTS)
    with Standing("ball", resume=log / "autosave.dshq", log_dir=log) as trainer:
        with Standing("ball", hidden_sizes=(8,), log_dir=log, seed=2) as other:
            saved(other, 3, **MOMENTS)
        trainer.start()
        assert trainer.stands[0].job["resume"] is None


@pytest.mark.skipif(os.name != "posix", reason="of rights that Windows does not have")
def test_a_file_that_nobody_may_read_is_still_ones_own(tmp_path):
    path = tmp_path / "bot.dshq"
    with Standing("ball", hidden_sizes=(8,)) as trainer:
        saved(trainer, 3, **MOMENTS)
        trainer.save(path)
    with Standing(path) as trainer:
        path.chmod(0)
        trainer.start()
        assert trainer.stands[0].job["resume"] == str(path)


@pytest.mark.parametrize("trains", [False, True])
def test_a_run_that_is_saved_where_it_came_from_goes_on_from_there(tmp_path, trains):
    path = tmp_path / "bot.dshq"
    with Standing("ball", hidden_sizes=(8,)) as trainer:
        saved(trainer, 3, **MOMENTS)
        trainer.save(path)
    with Standing(path) as trainer:
        trainer.set_hyper(learning_rate=0.125)
        if trains:
            trainer.start()
            (stand,) = trainer.stands
            stand.trains()
            saving = beside(lambda: trainer.save(path))
            until(lambda: stand.sent)
            stand.saves(trainer, stand.sent[-1]["path"], **MOMENTS)
            until(lambda: saving)
            trainer.stop()
            stand.ends(KILLED)
        trainer.save(path)
        trainer.start()
        assert trainer.stands[-1].job["resume"] == str(path)
        kept = checkpoint.load(path)
        assert kept.state["adam_step"] == 3 and kept.config["learning_rate"] == 0.125
