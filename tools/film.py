"""Makes the moving picture of the documents: the Ball Drill before training, after 4 and after 60 million agent steps.

`python -m tools.film` plays three policies against the chaser, side by side from the same seeds, and writes
docs/images/learning.gif. The trained ones are those of the package, bronze and gold. It needs the extra `record`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from dshq_widget.cli import record
from dshq_widget.env.batch import compiled
from dshq_widget.policy.loading import load_policy
from dshq_widget.policy.network import PolicySpec
from dshq_widget.policy.policy import Policy

TARGET = Path(__file__).parent.parent / "docs" / "images" / "learning.gif"
SECONDS, WIDTH, HEAD, GAP = 12.5, 256, 36, 12  # of play; in pixels: a pitch, the words above it, a gap
EVERY = 2  # of the 20 pictures a second that `record` draws, so that the film plays at twice the speed
UNCHANGED = 255  # the colour's index where a picture shows what the last one showed
SEED = 11
INK, PAPER, BLUE, ORANGE = "#1c2733", "#ffffff", "#1d6ae5", "#d9690f"


def panels(title: str, policy: Policy) -> Iterator[Image.Image]:
    """One policy's matches against the chaser, one after the other, under its title and the score so far."""
    drill = compiled("ball")
    matches = record.play(drill, [record.by_policy(policy), record.by_name("chaser", drill)], 12, SEED)
    goals = [0, 0]
    for match in matches:
        pictures = list(record.pictures(drill, match, seconds=1e6, width=WIDTH))
        goal = len(match.actions) * drill.spec.action_repeat * record.RATE // drill.spec.tick_rate
        for k, picture in enumerate(pictures):
            if k == goal and match.winner:
                goals[match.winner < 0] += 1
            yield panel(title, goals, picture)


def panel(title: str, goals: list[int], picture: NDArray[np.uint8]) -> Image.Image:
    """One picture of one policy."""
    pitch = Image.fromarray(picture)
    image = Image.new("RGB", (WIDTH, HEAD + pitch.height), PAPER)
    image.paste(pitch, (0, HEAD))
    draw = ImageDraw.Draw(image)
    draw.text((4, HEAD / 2), title, INK, ImageFont.load_default(14), anchor="lm")
    for goal, colour, place in ((goals[0], BLUE, 40), (":", INK, 24), (goals[1], ORANGE, 8)):
        draw.text((WIDTH - place, HEAD / 2), str(goal), colour, ImageFont.load_default(20), anchor="mm")
    return image


def colours(picture: Image.Image, count: int, method: Image.Quantize) -> list[int]:
    """The `count` colours that a method takes from a picture: frequent ones, or ones far apart."""
    return (picture.quantize(count, method).getpalette() or [])[: 3 * count]


def save(pictures: list[Image.Image]) -> None:
    """Write the GIF: of each picture only what differs from the one before."""
    palette = Image.new("P", (1, 1))
    palette.putpalette(
        colours(pictures[-1], 155, Image.Quantize.MEDIANCUT) + colours(pictures[-1], 100, Image.Quantize.MAXCOVERAGE)
    )
    flat = [np.asarray(picture.quantize(palette=palette, dither=Image.Dither.NONE)) for picture in pictures]
    changes = [flat[0], *(np.where(now == before, UNCHANGED, now) for before, now in pairwise(flat))]
    images = [Image.fromarray(change.astype(np.uint8), "P") for change in changes]
    for image in images:
        image.putpalette(palette.getpalette() or [])
    delays = [1000 // record.RATE] * (len(images) - 1) + [1500]
    images[0].save(
        TARGET,
        save_all=True,
        append_images=images[1:],
        duration=delays,
        loop=0,
        disposal=1,
        transparency=UNCHANGED,
        optimize=False,
    )


def main() -> None:
    untrained = PolicySpec.for_drill(compiled("ball").spec, (64, 64))
    films = [
        panels("before training", Policy(untrained.layers, untrained.activation, untrained.untrained(SEED))),
        panels("after 4 million steps", load_policy("ball:bronze")),
        panels("after 60 million steps", load_policy("ball:gold")),
    ]
    pictures = []
    for row in islice(zip(*films, strict=False), 0, round(SECONDS * record.RATE), EVERY):
        picture = Image.new("RGB", (len(row) * WIDTH + (len(row) - 1) * GAP, row[0].height), PAPER)
        for k, image in enumerate(row):
            picture.paste(image, (k * (WIDTH + GAP), 0))
        pictures.append(picture)
    save(pictures)
    print(f"{TARGET}: {len(pictures)} pictures, {TARGET.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
