"""What the page gets to see of an environment."""

import base64
import io
import json
from types import SimpleNamespace

import numpy as np
import pytest

from dshq_widget.contract import protocol
from dshq_widget.gyms.making import described
from dshq_widget.gyms.show import Show, newest
from dshq_widget.runtime.process import OUTBOX_BYTES, Channel

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")


def frame_of(picture) -> tuple[dict, int]:
    """The message with a picture, and its bytes as a process sends it."""
    channel, lines = Channel.__new__(Channel), []
    channel._outbox, channel.dropped = SimpleNamespace(waiting=0, put=lines.append), 0
    sent = []
    show = SimpleNamespace(tick=7, score=[0.0, 7], version=3, playing=True, events=[], fresh=True, ready=True)
    show.env = SimpleNamespace(render=lambda: picture)
    show.channel = SimpleNamespace(send=lambda message: sent.append(message) or channel.send(message))
    Show.film(show)
    assert not show.fresh and not show.ready
    return sent[0], len(lines[0])


def seen(frame):
    return Image.open(io.BytesIO(base64.b64decode(frame["jpeg"])))


@pytest.mark.parametrize(("size", "shown"), [((600, 800), (800, 600)), ((2400, 2400), None)], ids=str)
def test_a_picture_full_of_detail_fits_into_a_message(size, shown):
    noise = np.random.default_rng(1).integers(0, 256, (*size, 3), np.uint8)
    frame, nbytes = frame_of(noise)
    assert nbytes <= OUTBOX_BYTES and seen(frame).size == (shown or (1200, 1200))


def test_a_plain_picture_is_sent_as_it_is():
    frame, _ = frame_of(np.full((900, 1600, 3), 90, np.uint8))
    assert seen(frame).size == (1600, 900) and seen(frame).getpixel((5, 5)) == (90, 90, 90)


def test_of_what_waits_only_the_newest_is_done():
    """A page that reset the match without end left the show half an hour of resets, in which nobody saw anything."""
    commands = [{"type": "RESET_SHOW", "seed": k} for k in range(1000)]
    commands[500:500] = [{"type": "STEP", "count": 3}, {"type": "LOOK", "visible": False}, {"type": "STEP", "count": 4}]
    commands.append({"type": "LOOK", "visible": True})
    done = sorted(newest(commands), key=lambda command: command["type"])
    assert done == [{"type": "LOOK", "visible": True}, commands[-2], {"type": "STEP", "count": 7}]
    assert newest([]) == []


def test_a_page_that_takes_no_picture_for_hours_gets_the_next_one():
    """Each new policy and each reset waited with it, and the message that had them all ended the show."""
    channel, lines = Channel.__new__(Channel), []
    channel._outbox, channel.dropped = SimpleNamespace(waiting=0, put=lines.append), 0
    weights = np.zeros(protocol.blob_floats((4, 3)), np.float32)
    job = {"environment": described("gym:CartPole-v1").spec.environment.to_json(), "made": {}, "fps": 30, "seed": 1}
    job |= {"layers": (4, 3), "activation": "tanh", "distribution": "gaussian"}
    show = Show(channel, job, SimpleNamespace(read=lambda count: (count + 1, count, weights)))
    show.env.close()
    show.env = SimpleNamespace(render=lambda: np.zeros((9, 16, 3), np.uint8))
    for _ in range(40_000):
        show._tell("swap")
    show.film()
    assert json.loads(lines[0])["events"][-1] == {"kind": "swap", "tick": 0, "side": -1, "version": show.version}
