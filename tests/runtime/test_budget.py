"""What the machine grants, read from made-up control groups, and how it is shared out."""

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from loky import cpu_count

from dshq_widget.runtime.budget import (
    cpu_budget,
    memory_available,
    memory_limit,
    most_workers,
    processor_seconds,
    usable_processors,
)

GB = 1e9


@pytest.fixture
def root(tmp_path):
    """Writes {path: text} under a root with 8 GB of memory."""

    def make(files):
        for path, text in {"proc/meminfo": "MemTotal: 8000000 kB\nMemAvailable: 5000000 kB\n", **files}.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)
        return str(tmp_path)

    return make


def v1(groups, folder, quota):
    """A quota in version 1 of control groups."""
    place = f"sys/fs/cgroup/{folder}/cpu.cfs"
    return {"proc/self/cgroup": groups, f"{place}_quota_us": f"{quota}\n", f"{place}_period_us": "100000\n"}


CORES = float(len(os.sched_getaffinity(0)))
QUOTAS = {
    "no groups": ({}, CORES),
    "v2 at the mount": ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "50000 100000\n"}, 0.5),
    "v2 without a limit": ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n"}, CORES),
    "v2, a parent is tighter": (
        {
            "proc/self/cgroup": "0::/hub/ana\n",
            "sys/fs/cgroup/hub/cpu.max": "25000 100000\n",
            "sys/fs/cgroup/hub/ana/cpu.max": "50000 100000\n",
        },
        0.25,
    ),
    "v2, the path is the host's": (
        {"proc/self/cgroup": "0::/docker/abc\n", "sys/fs/cgroup/cpu.max": "75000 100000\n"},
        0.75,
    ),
    "v1": (v1("4:memory:/a\n3:cpu,cpuacct:/a\n0::/\n", "cpu,cpuacct/a", 60000), 0.6),
    "v1, mounted as cpu": (v1("3:cpuacct,cpu:/a\n", "cpu", 30000), 0.3),
    "v1 without a limit": (v1("3:cpu:/\n", "cpu", -1), CORES),
    "garbage": ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "what?\n"}, CORES),
}


@pytest.mark.parametrize("name", QUOTAS)
def test_cpu_quota(root, name):
    files, expected = QUOTAS[name]
    assert cpu_budget(root(files), {}) == pytest.approx(expected)


def test_the_hub_may_announce_less(root):
    assert cpu_budget(root({}), {"CPU_LIMIT": "0.5"}) == 0.5
    assert memory_limit(root({}), {"MEM_LIMIT": "1073741824"}) == 1 << 30


@pytest.mark.parametrize(
    "files, expected",
    [
        ({}, 8.192e9),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "2000000000\n"}, 2e9),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, 8.192e9),
        ({"proc/self/cgroup": "4:memory:/a\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "1000000000\n"}, 1e9),
        (
            {"proc/self/cgroup": "4:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": str(2**63 - 4096)},
            8.192e9,
        ),
    ],
)
def test_memory_limit(root, files, expected):
    assert memory_limit(root(files), {}) == pytest.approx(expected)
    assert memory_available(root(files), {}) == pytest.approx(min(expected, 5.12e9))


@pytest.mark.parametrize(
    "names",
    [
        ("0::/hub", "sys/fs/cgroup/hub/memory.max", "memory.current", "inactive_file"),
        (
            *("4:memory:/hub", "sys/fs/cgroup/memory/hub/memory.limit_in_bytes"),
            *("memory.usage_in_bytes", "total_inactive_file"),
        ),
    ],
    ids=["v2", "v1"],
)
def test_what_a_group_already_holds_is_not_available(root, names):
    line, limit, used, idle = names
    group = limit.rpartition("/")[0]
    files = {"proc/self/cgroup": line + "\n", limit: "1000000000\n", f"{group}/{used}": "700000000\n"}
    assert memory_available(root(files), {}) == pytest.approx(3e8)
    files[f"{group}/memory.stat"] = f"anon 1\n{idle} 200000000\nactive_file 5\n"
    assert memory_available(root(files), {}) == pytest.approx(5e8), "what was read of files can go"
    files[f"{group}/{used}"] = "1300000000\n"
    assert memory_available(root(files), {}) == 0


def in_a_nested_group() -> bool:
    """Whether the control group that limits this process's processors is below the root's."""
    groups = Path("/proc/self/cgroup")
    lines = groups.read_text().splitlines() if groups.exists() else []
    for _, controllers, path in (line.split(":", 2) for line in lines):
        if path != "/" and {"", "cpu"} & set(controllers.split(",")):
            return True
    return False


def test_this_machine_agrees_with_an_independent_reading(monkeypatch):
    if in_a_nested_group():
        pytest.skip("loky reads the quota of the root's control group only")
    monkeypatch.delenv("LOKY_MAX_CPU_COUNT", raising=False)
    assert max(1, math.ceil(cpu_budget(environ={}))) == cpu_count()
    assert 0 < memory_available() <= memory_limit()


def test_affinity_counts():
    script = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); "
    script += "from dshq_widget.runtime.budget import cpu_budget; print(cpu_budget(environ={}) <= 1.0)"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout == "True\n"


@pytest.mark.parametrize(("cpu", "size"), [(0.1, 1), (0.5, 1), (1.9, 1), (2, 2), (2.9, 2), (3, 2), (4, 3), (64, 63)])
def test_a_team_takes_whole_processors_and_leaves_one_of_many(cpu, size):
    assert usable_processors(cpu) == size


@pytest.mark.parametrize(("memory", "workers"), [(0.25 * GB, 0), (GB, 1), (1.9 * GB, 4), (500 * GB, 5)])
def test_rollout_processes_have_to_fit_into_half_the_memory(memory, workers):
    assert most_workers(memory) == workers
    assert workers == 0 or 350e6 + workers * 130e6 <= min(memory / 2, GB)


def test_waiting_for_a_processor_is_seen(root):
    files = {"proc/self/task/7/schedstat": "2000000000 500000000 9\n", "proc/self/task/8/schedstat": "0 250000000 1\n"}
    assert processor_seconds(root(files)) == (2.0, 0.75)
    assert processor_seconds(root({}) + "/nowhere") == (0.0, 0.0)


def test_processor_seconds_grow_with_what_is_done():
    """In a process whose threads all live."""
    reported = Path("/proc/self/schedstat")
    if not reported.exists() or reported.read_text().split() == ["0"] * 3:
        pytest.skip("this system does not report it")
    script = """
import time
from dshq_widget.runtime.budget import processor_seconds
ran, own = processor_seconds()[0], time.process_time()
while time.process_time() < own + 0.2:
    pass
print(ran > 0 and 0.1 < processor_seconds()[0] - ran < 60)
"""
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout == "True\n"


def test_runtime_imports_neither_torch_nor_numba_until_needed():
    script = "import sys, dshq_widget.runtime.supervisor, dshq_widget.runtime.process, dshq_widget.runtime.budget\n"
    script += "assert not {'torch', 'numba'} & set(sys.modules)\n"
    script += "import dshq_widget.runtime.slots, dshq_widget.runtime.ring\n"
    script += "assert 'torch' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0
