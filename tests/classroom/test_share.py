"""Shares of processors, in made-up control groups and in real ones."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dshq_widget.classroom.hub.share import Share
from dshq_widget.runtime.budget import cpu_budget

CHILD = "import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']); "
CHILD += "from dshq_widget.runtime.budget import cpu_budget; print(cpu_budget(environ={}), flush=True); time.sleep(600)"


@pytest.mark.parametrize(
    ("before", "written"),
    [
        ({"cgroup.controllers": "cpu\n", "cgroup.subtree_control": ""}, {"cpu.max": "50000 100000"}),
        ({"cpu/tasks": ""}, {"cpu.cfs_quota_us": "50000", "cpu.cfs_period_us": "100000"}),
        ({"cpu,cpuacct/tasks": ""}, {"cpu.cfs_quota_us": "50000", "cpu.cfs_period_us": "100000"}),
    ],
    ids=["version 2", "version 1", "version 1, joined"],
)
def test_the_quota_is_written_for_either_version(before, written, tmp_path: Path):
    for name, text in before.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    share = Share("ada", 0.5, str(tmp_path))
    assert share.kind == "quota"
    assert {name: (share.group / name).read_text() for name in written} == written


def test_two_hubs_have_a_group_each_for_the_same_name(tmp_path: Path):
    (tmp_path / "cgroup.controllers").write_text("cpu\n")
    (tmp_path / "cgroup.subtree_control").write_text("")
    (tmp_path / f"dshq-ada-{2**22 + 1}-0").mkdir()  # of a hub that was killed: no process can have this number
    first, second = Share("ada", 0.5, str(tmp_path)), Share("ada", 0.5, str(tmp_path))
    assert first.group != second.group
    assert {group.name for group in tmp_path.glob("dshq-*")} == {first.group.name, second.group.name}


def test_without_control_groups_a_processor_is_shared(tmp_path: Path):
    share = Share("ada", 0.5, str(tmp_path))
    assert (share.kind, share.members()) == ("processor", [])
    script = "import os, time; print(len(os.sched_getaffinity(0)))"
    pinned = subprocess.run(
        [sys.executable, "-c", script], preexec_fn=share.join, capture_output=True, text=True, timeout=300
    )
    assert pinned.stdout == "1\n"
    share.close()


def test_a_process_and_its_children_are_held_and_end_with_the_share():
    share = Share(f"test-{os.getpid()}", 0.5)
    if share.kind != "quota":
        pytest.skip("no control group can be made here")
    with subprocess.Popen([sys.executable, "-c", CHILD], preexec_fn=share.join, stdout=subprocess.PIPE) as process:
        assert float(process.stdout.readline()) == 0.5 != cpu_budget(environ={})
        deadline = time.monotonic() + 300
        while len(share.members()) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        members, group = share.members(), share.group
        assert process.pid in members and len(members) == 2
        share.close()
        assert process.wait(300) != 0
    assert not group.exists() and share.members() == []
    assert not any(map(command_line, members))


def command_line(pid: int) -> bytes:
    """b"" of a process that is gone, or dead and not yet waited for."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
