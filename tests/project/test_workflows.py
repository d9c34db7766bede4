"""Workflows cannot run here; what they may do, and whose code they take, is held."""

import re
from pathlib import Path

import pytest
import yaml

WORKFLOWS = sorted((Path(__file__).parents[2] / ".github" / "workflows").glob("*.yml"))
PINNED = re.compile(r"[\w-]+/[\w-]+@[0-9a-f]{40}")
MAY_WRITE = {("site", "publish"): {"pages", "id-token"}, ("release", "publish"): {"contents"}}
"""What a job may change, by the names of its workflow and of itself."""


def jobs():
    for path in WORKFLOWS:
        for name, job in yaml.safe_load(path.read_text())["jobs"].items():
            yield pytest.param(path.stem, name, job, id=f"{path.stem}-{name}")


def test_there_are_workflows():
    assert {path.stem for path in WORKFLOWS} == {"checks", "release", "site"}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_named_by_commit_with_their_version_beside(path: Path):
    used = re.findall(r"uses: (\S+)( # v\d+\.\d+\.\d+)?$", path.read_text(), re.MULTILINE)
    assert used and [name for name, version in used if not PINNED.fullmatch(name) or not version] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_reads_by_default(path: Path):
    assert yaml.safe_load(path.read_text())["permissions"] == {"contents": "read"}
    assert "pull_request_target" not in path.read_text()


@pytest.mark.parametrize(("workflow", "name", "job"), jobs())
def test_a_job_changes_what_it_is_for_and_keeps_no_credentials(workflow: str, name: str, job: dict):
    writes = {scope for scope, right in job.get("permissions", {}).items() if right == "write"}
    assert writes == MAY_WRITE.get((workflow, name), set())
    checkouts = [step for step in job["steps"] if step.get("uses", "").startswith("actions/checkout@")]
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)


@pytest.mark.parametrize(("workflow", "name", "job"), jobs())
def test_verbs_of_make_are_there(workflow: str, name: str, job: dict):
    makefile = (Path(__file__).parents[2] / "Makefile").read_text()
    asked = re.findall(r"^make (\S+)", "\n".join(step.get("run", "") for step in job["steps"]), re.MULTILINE)
    assert [verb for verb in asked if not re.search(rf"^{verb}:", makefile, re.MULTILINE)] == []


@pytest.mark.parametrize(("workflow", "name", "job"), jobs())
def test_who_may_write_builds_nothing_and_what_is_published_comes_from_no_cache(workflow: str, name: str, job: dict):
    """npm and pip run other people's code, and what one workflow keeps another one gets."""
    steps = job["steps"]
    if (workflow, name) in MAY_WRITE:
        assert not any("checkout" in step.get("uses", "") or "setup-" in step.get("uses", "") for step in steps)
        assert not any(re.search(r"\b(make|npm|npx|pip|python)\b", step.get("run", "")) for step in steps)
    if workflow != "checks":
        assert not any({"cache", "cache-dependency-path"} & step.get("with", {}).keys() for step in steps)
    assert "${{ github." not in "".join(step.get("run", "") for step in steps), "a title would be a command"
