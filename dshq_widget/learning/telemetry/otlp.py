"""Metrics to an OpenTelemetry collector, as OTLP over HTTP in its JSON form: a POST for each row, no client needed.

Source: the OTLP specification 1.5 (https://opentelemetry.io/docs/specs/otlp/#otlphttp) and `metrics.proto` of
opentelemetry-proto: each metric is a gauge; the run's name and settings are attributes of the resource.
"""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Mapping
from typing import Any

COLLECTOR = "http://localhost:4318"
"""Where a collector listens by default."""
PATIENCE = 5.0
"""Seconds that a collector may take to answer."""


class Otlp:
    """A run's gauges; `place` is the collector's address, without the path /v1/metrics."""

    def __init__(self, place: str, name: str, config: Mapping[str, Any]) -> None:
        self._url = (place or COLLECTOR).rstrip("/") + "/v1/metrics"
        if not self._url.startswith(("http://", "https://")):
            raise ValueError(f"wanted a collector's address such as otlp:{COLLECTOR}, got {place!r}")
        named = {"service.name": "dshq", "service.instance.id": name, **config}
        self._attributes = [{"key": key, "value": {"stringValue": str(value)}} for key, value in named.items()]

    def add(self, points: Mapping[str, float], step: int) -> None:
        """One row; the agent steps are a gauge like the others. Raises OSError where the collector does not take it."""
        now = str(time.time_ns())
        gauges = [
            {"name": name, "gauge": {"dataPoints": [{"timeUnixNano": now, "asDouble": value}]}}
            for name, value in points.items()
        ]
        body = {
            "resourceMetrics": [
                {
                    "resource": {"attributes": self._attributes},
                    "scopeMetrics": [{"scope": {"name": "dshq_widget"}, "metrics": gauges}],
                }
            ]
        }
        packed = json.dumps(body).encode()
        request = urllib.request.Request(self._url, packed, {"Content-Type": "application/json"})
        urllib.request.urlopen(request, timeout=PATIENCE).close()  # what it says is not read: it may have no end

    def close(self) -> None:
        """Nothing is open: each row is a request of its own."""
