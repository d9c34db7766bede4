"""Experiment trackers: what their clients are sent, and what a failure does."""

import contextlib
import json
import socket
import sys
import threading
import time
import types
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from dshq_widget.cli.main import main
from dshq_widget.learning.telemetry import otlp, trackers
from dshq_widget.learning.telemetry.otlp import PATIENCE
from dshq_widget.learning.telemetry.trackers import Tracking, parse
from tests.harness.processes.faults import until


class Wandb(types.ModuleType):
    """The part of wandb that is used; it fails at the step `fails_at`."""

    def __init__(self, fails_at=None):
        super().__init__("wandb")
        self.__spec__ = types.SimpleNamespace(name="wandb", loader=None)
        self.rows, self.began, self.ended, self.fails_at = [], None, False, fails_at

    def init(self, **how):
        self.began = how
        return self

    def log(self, points, step):
        if step == self.fails_at:
            raise ConnectionError("no route to the server")
        self.rows.append((step, points))

    def finish(self):
        self.ended = True


@pytest.fixture
def wandb(monkeypatch):
    module = Wandb()
    monkeypatch.setitem(sys.modules, "wandb", module)
    return module


def test_rows_go_out_under_their_categories(wandb):
    warned = []
    tracking = Tracking("wandb:arena", "ball ppo 0", {"gamma": 0.99}, warned.append)
    tracking.write({"entropy": 1.5, "return_mean": 2.0, "agent_steps": 640})
    tracking.close()
    wandb.began.pop("settings")
    assert wandb.began == {"project": "arena", "name": "ball ppo 0", "config": {"gamma": 0.99}}
    assert wandb.rows == [(640, {"TRAINER/entropy": 1.5, "ACTOR/return_mean": 2.0, "ACTOR/agent_steps": 640.0})]
    assert wandb.ended and not warned


@pytest.mark.parametrize("folder", ["wandb", ".wandb"])
def test_no_server_that_a_file_in_the_working_folder_names_gets_a_key(wandb, tmp_path, monkeypatch, capsys, folder):
    """wandb reads it: the key went to the server of whoever made the folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WANDB_DIR", raising=False)
    (tmp_path / folder).mkdir()
    Tracking("wandb", "run", {}, print).close()
    wandb.began = None
    (tmp_path / folder / "settings").write_text("[default]\nbase_url = http://theirs\n")
    with pytest.raises(ValueError, match=f"'{folder}/settings' in the working folder may say who gets your key"):
        Tracking("wandb", "run", {}, print)
    assert main(["train", "bandit", "--updates", "1", "--track", "wandb"]) == 2
    assert "set WANDB_DIR=." in capsys.readouterr().err and wandb.began is None
    monkeypatch.setenv("WANDB_DIR", ".")
    Tracking("wandb", "run", {}, print).close()
    assert wandb.began


def test_weights_and_biases_do_not_ask_git_about_the_working_folder(wandb):
    """`core.fsmonitor` of a `.git/config` there is a program that `git diff` runs: so somebody else's code ran."""
    Tracking("wandb", "run", {}, print).close()
    assert wandb.began["settings"]["disable_git"] is True


def test_one_that_fails_is_left_out_and_training_goes_on(wandb):
    wandb.fails_at, warned = 2, []
    tracking = Tracking("wandb", "run", {}, warned.append)
    for step in (1, 2, 3):
        tracking.write({"agent_steps": step})
    tracking.close()
    assert [step for step, _ in wandb.rows] == [1] and wandb.began["project"] == "dshq"
    assert warned == ["stopped sending metrics to wandb: no route to the server"] and not wandb.ended


def test_mlflow_is_sent_batches_through_its_client(monkeypatch):
    calls = []

    class Client:
        def __init__(self, uri):
            calls.append(("uri", uri))

        def get_experiment_by_name(self, name):
            return None

        def create_experiment(self, name):
            return calls.append(("experiment", name)) or "7"

        def create_run(self, experiment, run_name):
            calls.append(("run", experiment, run_name))
            return types.SimpleNamespace(info=types.SimpleNamespace(run_id="r1"))

        def log_batch(self, run, metrics=(), params=()):
            calls.append((run, [one[:2] + one[3:] for one in metrics], list(params)))

        def set_terminated(self, run):
            calls.append(("end", run))

    module, entities = types.ModuleType("mlflow"), types.ModuleType("mlflow.entities")
    module.__spec__ = types.SimpleNamespace(name="mlflow", loader=None)
    module.MlflowClient, entities.Metric, entities.Param = Client, lambda *row: row, lambda *row: row
    monkeypatch.setitem(sys.modules, "mlflow", module)
    monkeypatch.setitem(sys.modules, "mlflow.entities", entities)
    tracking = Tracking("mlflow:http://127.0.0.1:5000", "maze spo 1", {"seed": 1}, pytest.fail)
    tracking.write({"entropy": 0.5, "agent_steps": 32})
    tracking.close()
    assert calls == [
        ("uri", "http://127.0.0.1:5000"),
        ("experiment", "dshq"),
        ("run", "7", "maze spo 1"),
        ("r1", [], [("seed", "1")]),
        ("r1", [("TRAINER/entropy", 0.5, 32), ("ACTOR/agent_steps", 32.0, 32)], []),
        ("end", "r1"),
    ]


class Collector(BaseHTTPRequestHandler):
    """Takes what a collector takes; the server's `status` is what it answers."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.taken.append((self.path, self.headers["Content-Type"], json.loads(body)))
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *_):
        """Nothing is printed."""


@pytest.fixture
def collector(monkeypatch):
    """A collector; the end of a run waits for it as long as a busy machine takes."""
    monkeypatch.setattr(trackers, "END_SECONDS", 300.0)
    monkeypatch.setattr(otlp, "PATIENCE", 300.0)
    server = HTTPServer(("127.0.0.1", 0), Collector)
    server.taken, server.status = [], 200
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_collector_is_sent_gauges(collector):
    tracking = Tracking(f"otlp:http://127.0.0.1:{collector.server_port}", "ball ppo 0", {"gamma": 0.99}, pytest.fail)
    tracking.write({"entropy": 1.5, "agent_steps": 640})
    tracking.close()
    [(path, kind, sent)] = collector.taken
    assert (path, kind) == ("/v1/metrics", "application/json")
    [of_run] = sent["resourceMetrics"]
    said = {row["key"]: row["value"]["stringValue"] for row in of_run["resource"]["attributes"]}
    assert said == {"service.name": "dshq", "service.instance.id": "ball ppo 0", "gamma": "0.99"}
    [scope] = of_run["scopeMetrics"]
    values = {row["name"]: row["gauge"]["dataPoints"][0]["asDouble"] for row in scope["metrics"]}
    assert values == {"TRAINER/entropy": 1.5, "ACTOR/agent_steps": 640.0}


def test_a_collector_that_refuses_is_a_warning(collector):
    collector.status, warned = 503, []
    tracking = Tracking(f"otlp:http://127.0.0.1:{collector.server_port}", "run", {}, warned.append)
    tracking.write({"agent_steps": 1})
    tracking.write({"agent_steps": 2})
    tracking.close()
    Tracking("otlp:localhost:4318", "run", {}, warned.append).close()
    assert len(collector.taken) == 1 and warned[0].startswith("stopped sending metrics to otlp: HTTP Error 503")
    assert "wanted a collector's address such as otlp:http://localhost:4318, got 'localhost:4318'" in warned[1]


@pytest.fixture(params=[b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nA: ", b""], ids=["body", "head", "nothing"])
def endless(request):
    """The address of a server whose answer begins so, and never ends."""
    asked, over = [], threading.Event()

    def answer():
        while not over.is_set():
            connection, _ = server.accept()
            connection.sendall(request.param)
            asked.append(connection)

    def drip():
        while not over.wait(0.1):
            for connection in asked:
                with contextlib.suppress(OSError):
                    connection.sendall(b"x")

    with socket.create_server(("127.0.0.1", 0)) as server:
        threads = [threading.Thread(target=work) for work in (answer, drip)]
        for thread in threads:
            thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        over.set()
        socket.create_connection(server.getsockname()).close()  # it waits for one
        for thread in threads:
            thread.join()
    for connection in asked:
        connection.close()


def test_one_whose_server_never_ends_its_answer_holds_up_nothing(endless, monkeypatch):
    """Training stood still, for good: nothing was learned, and nothing saved."""
    monkeypatch.setattr(trackers, "END_SECONDS", 0.2)
    monkeypatch.setattr(trackers, "MOST_ROWS", 5)
    warned, begun = [], time.monotonic()
    tracking = Tracking(f"otlp:{endless}", "run", {}, warned.append)
    for step in range(3):
        tracking.write({"agent_steps": step})
    assert time.monotonic() - begun < PATIENCE / 2
    tracking.close()
    assert time.monotonic() - begun < PATIENCE / 2


def test_one_that_takes_no_rows_is_left_out(wandb, monkeypatch):
    monkeypatch.setattr(trackers, "END_SECONDS", 0.1)
    monkeypatch.setattr(trackers, "MOST_ROWS", 3)
    warned, goes_on = [], threading.Event()
    monkeypatch.setattr(wandb, "log", lambda points, step: goes_on.wait(60))
    tracking = Tracking("wandb", "run", {}, warned.append)
    for step in range(9):
        tracking.write({"agent_steps": step})
    assert warned == ["stopped sending metrics to wandb: 3 rows wait, and it takes none"]
    tracking = Tracking("wandb", "run", {}, warned.append)
    tracking.write({"agent_steps": 1})
    tracking.close()
    goes_on.set()
    assert warned[1] == "stopped sending metrics to wandb: it had not finished 0.1 s after the end"


def test_a_client_that_ends_the_process_ends_its_thread_alone(wandb, monkeypatch):
    warned = []
    monkeypatch.setattr(wandb, "log", lambda points, step: sys.exit("no key \x1b[2J"))
    tracking = Tracking("wandb", "run", {}, warned.append)
    tracking.write({"agent_steps": 1})
    tracking.close()
    assert warned == ["stopped sending metrics to wandb: no key  [2J"]


def test_a_warning_names_no_password(wandb, monkeypatch):
    """MLflow's error of a server that cannot be reached names its whole address; a warning stands on every page."""
    place = "http://ada:s%23cret@10.0.0.1/?key=hush"

    def fail(**_):
        raise ConnectionError(f"API request to {place} failed: no password s#cret")

    monkeypatch.setattr(wandb, "init", fail)
    warned = []
    Tracking(f"wandb:{place}", "run", {}, warned.append).close()
    assert warned == [
        "stopped sending metrics to wandb: API request to http://***@10.0.0.1/?*** failed: no password ***"
    ]


def test_wrong_names_and_missing_packages_are_a_sentence(capsys, monkeypatch):
    with pytest.raises(ValueError, match="wanted mlflow or wandb or otlp, such as wandb:my-project, got 'neptune:x'"):
        parse("neptune:x")
    monkeypatch.setattr(trackers, "find_spec", lambda name: None)
    assert main(["train", "bandit", "--updates", "1", "--track", "wandb"]) == 2
    assert "--track: wandb is not installed: pip install wandb" in capsys.readouterr().err
    assert parse("") == []


def send(where: str) -> None:
    tracking = Tracking(where, "ball ppo 0", {"gamma": 0.99, "hidden_sizes": [64, 64]}, pytest.fail)
    for row in ({"entropy": 1.5, "agent_steps": 640}, {"entropy": 1.25, "agent_steps": 1280}):
        tracking.write(row)
    tracking.close()


@pytest.mark.peers
def test_mlflow_has_the_run_in_its_database(tmp_path):
    mlflow = pytest.importorskip("mlflow", reason="needs mlflow (make test-peers)")
    place = f"sqlite:///{tmp_path / 'runs.db'}"
    send(f"mlflow:{place}")
    client = mlflow.MlflowClient(place)
    experiment = client.get_experiment_by_name("dshq")
    [run] = client.search_runs([experiment.experiment_id])
    assert run.info.run_name == "ball ppo 0" and run.info.status == "FINISHED"
    assert run.data.params == {"gamma": "0.99", "hidden_sizes": "[64, 64]"}
    history = client.get_metric_history(run.info.run_id, "TRAINER/entropy")
    assert [(point.step, point.value) for point in history] == [(640, 1.5), (1280, 1.25)]


@pytest.mark.peers
def test_weights_and_biases_keep_a_run_offline(tmp_path, monkeypatch):
    """Its own process writes the file, and may do so after the client has finished."""
    pytest.importorskip("wandb", reason="needs wandb (make test-peers)")
    for name, value in (("MODE", "offline"), ("SILENT", "true"), ("DIR", str(tmp_path))):
        monkeypatch.setenv(f"WANDB_{name}", value)
    send("wandb:arena")

    def kept() -> bytes:
        return b"".join(path.read_bytes() for path in tmp_path.glob("wandb/offline-run-*/run-*.wandb"))

    until(lambda: all(text in kept() for text in (b"arena", b"ball ppo 0", b"gamma", b"1.25")), "the run's file")
    assert kept().count(b"TRAINER/entropy") >= 2


@pytest.mark.peers
def test_what_a_collector_gets_is_otlp(collector):
    """The protocol's own types read every field; an unknown one would be an error."""
    pytest.importorskip("opentelemetry.proto", reason="needs opentelemetry-proto (make test-peers)")
    from google.protobuf import json_format
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

    send(f"otlp:http://127.0.0.1:{collector.server_port}")
    values = []
    for _, _, sent in collector.taken:
        [scope] = json_format.ParseDict(sent, ExportMetricsServiceRequest()).resource_metrics[0].scope_metrics
        [metric] = [one for one in scope.metrics if one.name == "TRAINER/entropy"]
        values.append(metric.gauge.data_points[0].as_double)
        assert metric.gauge.data_points[0].time_unix_nano > 1_700_000_000 * 10**9
    assert values == [1.5, 1.25]
