"""Metrics go to the real clients of trackers, on this machine alone: a database, offline mode, types of a protocol."""

import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from dshq_widget.learning.telemetry.trackers import Tracking

pytestmark = pytest.mark.peers

PATIENCE = 120.0
"""Seconds."""
CONFIG = {"gamma": 0.99, "hidden_sizes": [64, 64]}
ROWS = ({"entropy": 1.5, "agent_steps": 640}, {"entropy": 1.25, "agent_steps": 1280})


def send(where: str) -> None:
    tracking = Tracking(where, "ball ppo 0", CONFIG, pytest.fail)
    for row in ROWS:
        tracking.write(row)
    tracking.close()


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


def test_weights_and_biases_keep_a_run_offline(tmp_path, monkeypatch):
    """Its own process writes the file, and may do so after the client has finished."""
    pytest.importorskip("wandb", reason="needs wandb (make test-peers)")
    for name, value in (("MODE", "offline"), ("SILENT", "true"), ("DIR", str(tmp_path))):
        monkeypatch.setenv(f"WANDB_{name}", value)
    send("wandb:arena")
    deadline, wanted = time.monotonic() + PATIENCE, (b"arena", b"ball ppo 0", b"gamma", b"1.25")
    while True:
        kept = b"".join(path.read_bytes() for path in tmp_path.glob("wandb/offline-run-*/run-*.wandb"))
        if all(text in kept for text in wanted):
            break
        assert time.monotonic() < deadline, [text for text in wanted if text not in kept]
        time.sleep(0.1)
    assert kept.count(b"TRAINER/entropy") >= len(ROWS)


def test_what_a_collector_gets_is_otlp():
    """The protocol's own types read every field; an unknown one would be an error."""
    pytest.importorskip("opentelemetry.proto", reason="needs opentelemetry-proto (make test-peers)")
    from google.protobuf import json_format
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

    bodies: list[bytes] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self):
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            """Nothing is printed."""

    server = HTTPServer(("127.0.0.1", 0), Collector)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    send(f"otlp:http://127.0.0.1:{server.server_port}")
    server.shutdown()
    server.server_close()
    thread.join()
    values = []
    for body in bodies:
        request = json_format.Parse(body, ExportMetricsServiceRequest())
        [metric] = [
            one for one in request.resource_metrics[0].scope_metrics[0].metrics if one.name == "TRAINER/entropy"
        ]
        values.append(metric.gauge.data_points[0].as_double)
        assert metric.gauge.data_points[0].time_unix_nano > 1_700_000_000 * 10**9
    assert values == [1.5, 1.25]
