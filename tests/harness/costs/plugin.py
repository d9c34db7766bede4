"""The part of pytest that measures and reports costs; tests/conftest.py registers it in every process of a run."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.harness.costs import clock
from tests.harness.costs.startup import sitecustomize
from tests.harness.costs.table import Cost, lines, over_budget

PACE_SECONDS = 20.0
"""How often each process that runs tests looks how fast a processor is: two at work share what one has alone."""
FOLDER = "DSHQ_TEST_COMPILES"
RAW = "DSHQ_TEST_COSTS"
"""Environment variables: folder of what is compiled, and a file for the cost of every test as JSON."""


def register(config: pytest.Config) -> None:
    """Measure the tests of this process, and report those of all where the run ends."""
    here = getattr(config, "workerinput", {}).get("workerid", "main")
    if here == "main":
        top = Path(tempfile.mkdtemp(prefix="dshq-costs-"))
        os.environ["PYTHONPATH"] = os.pathsep.join(
            [str(Path(sitecustomize.__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
        )
        config.pluginmanager.register(Report(config, top))
    else:
        top = Path(os.environ[FOLDER]).parent
    os.environ[FOLDER] = str(top / here)
    Path(os.environ[FOLDER]).mkdir(exist_ok=True)
    if sitecustomize.EVENTS not in sys.modules:
        sys.meta_path.insert(0, sitecustomize.Hook())
    config.pluginmanager.register(Meter(config, Path(os.environ[FOLDER])))


class Compiles:
    """What the processes of one part of the run have compiled: lines that they append to files in `folder`."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._read: dict[Path, int] = {}
        self.functions: Counter[str] = Counter()

    def seconds(self) -> float:
        """Of the processor, since the last call."""
        total = 0.0
        for file in self._folder.glob("*.txt"):
            with open(file) as text:
                text.seek(self._read.get(file, 0))
                for line in text:
                    seconds, _, name = line.strip().partition(" ")
                    total += float(seconds)
                    self.functions[name] += 1
                self._read[file] = text.tell()
        return total


class Meter:
    """In each process that runs tests: every test's report says what it cost."""

    def __init__(self, config: pytest.Config, folder: Path):
        self._config = config
        self._compiles = Compiles(folder)
        self._before = 0.0
        self._paces: list[float] = []
        self._looked = time.monotonic()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self) -> None:
        """What was imported for the tests is nobody's."""
        self._compiles.seconds()
        self._before = self._starting = clock.spent()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]):
        report = yield
        if call.when == "teardown":
            now, slow = clock.spent(), item.get_closest_marker("slow") is not None
            compiling = self._compiles.seconds()
            report.cost = (now - self._before, compiling, slow)
            self._before = now
            self._look()
            if compiling and self._config.option.quick and report.passed:
                report.outcome = "failed"
                report.longrepr = f"numba compiled for {compiling:.1f} s: not a test for tests/harness/quick.py"
        return report

    def _look(self) -> None:
        if holds_budgets(self._config) and time.monotonic() - self._looked > PACE_SECONDS:
            self._paces.append(clock.loop_seconds(time.thread_time))
            self._looked, self._before = time.monotonic(), clock.spent()

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        output = getattr(self._config, "workeroutput", {})
        output["starting"] = getattr(self, "_starting", 0.0)
        output["compiled"] = dict(self._compiles.functions)
        output["paces"] = self._paces
        self._config.stash[OWN] = output


OWN: pytest.StashKey[dict] = pytest.StashKey()


class Report:
    """In the process that reports: the table at the end, and in `make test-all` the budgets."""

    def __init__(self, config: pytest.Config, top: Path):
        self._config, self._top = config, top
        self._costs: list[Cost] = []
        self._starting = 0.0
        self._compiled: Counter[str] = Counter()
        self._paces: list[float] = []
        self._over: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if hasattr(report, "cost"):
            seconds, compiling, slow = report.cost
            self._costs.append(Cost(report.nodeid.partition("@")[0], seconds, compiling, slow))

    def _take(self, output: dict) -> None:
        self._starting += output.get("starting", 0.0)
        self._compiled.update(output.get("compiled", {}))
        self._paces += output.get("paces", [])

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node) -> None:
        self._take(getattr(node, "workeroutput", {}))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if holds_budgets(self._config) and session.exitstatus == pytest.ExitCode.OK:
            pace = statistics.median(self._paces) if self._paces else clock.loop_seconds(time.thread_time)
            self._over = list(over_budget(self._costs, pace))
            if self._over:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter) -> None:
        self._take(self._config.stash.get(OWN, {}))
        if os.environ.get(RAW):
            Path(os.environ[RAW]).write_text(json.dumps([dataclasses.asdict(cost) for cost in self._costs], indent=0))
        if self._costs:
            terminalreporter.section("seconds of processors")
            modules: Counter[str] = Counter()
            for name, count in self._compiled.items():
                modules[name.rpartition(".")[0] if "<locals>" not in name else name] += count
            for line in lines(self._costs, self._starting, modules):
                terminalreporter.write_line(line)
        for line in self._over:
            terminalreporter.write_line(line)
        shutil.rmtree(self._top, ignore_errors=True)


def holds_budgets(config: pytest.Config) -> bool:
    """Whether this run is all of `make test-all`."""
    option = config.option
    return "slow" not in option.markexpr and not option.keyword and not option.file_or_dir
