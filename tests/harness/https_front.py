"""A proxy that speaks https with browsers, before a hub that speaks http, as nginx or a cluster's ingress does."""

import subprocess
from pathlib import Path

from dshq_widget.classroom.hub.demo import proxy_command
from tests.harness.certificate import CERTIFICATE, KEY, certify
from tests.harness.ports import free_port


class HttpsFront:
    """`with HttpsFront(folder, "hub.localhost") as front:` answers at `front.url` for this host and each one below it,
    with a certificate of its own in `folder`, and asks port `front.inner`. `front.trusted` is Chromium's flag for it.
    """

    def __init__(self, folder: Path, host: str) -> None:
        self.port, self.inner = free_port(), free_port()
        self.url = f"https://{host}:{self.port}"
        self.trusted = certify(folder, host)
        self._folder = folder

    def __enter__(self) -> "HttpsFront":
        places = ["--ip=127.0.0.1", f"--port={self.port}", "--api-ip=127.0.0.1", f"--api-port={free_port()}"]
        keys = [f"--ssl-key={self._folder / KEY}", f"--ssl-cert={self._folder / CERTIFICATE}"]
        with (self._folder / "front.log").open("wb") as log:
            command = [*proxy_command(), *places, *keys, f"--default-target=http://127.0.0.1:{self.inner}"]
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()
