"""A JupyterHub that shuts down cleanly when its standard input closes, that is, when its parent process ends. `python
-m dshq_widget.classroom.hub.parent_watch -f CONFIG` is `jupyterhub -f CONFIG` on a pipe.
"""

import os
import signal
import threading

from jupyterhub.app import main


def watch() -> None:
    """Wait for the end of standard input, then ask this process to end."""
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a background job ignores it, and so would services, which end by it
    threading.Thread(target=watch, daemon=True).start()
    main()
