"""The verbs that the class league and its grades bring to `dshq`, by the entry point `dshq_widget.verbs`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from dshq_widget.cli import outputs
from dshq_widget.cli.arguments import Parser, UsageError, takes
from dshq_widget.contract.json_fields import Entry
from dshq_widget.files import atomic

BLAS_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""How many threads numpy's algebra takes, as its libraries read it when they are loaded."""

ANSWERS = {
    "submit": {
        "submission": Entry("1 or more", "Number of the entry."),
        "round": Entry("1 or more", "Number of the round."),
        "title": Entry("text", "The round's title."),
        "digest": Entry("hex", "Of the file; equal files have equal ones."),
    },
    "league verify": {
        "replay": Entry("path", "The replay."),
        "sha256": Entry("hex", "Of the match, played again; it is the published one."),
        "policies": Entry("list", "The files that were compared with the players', if any."),
    },
    "league token": {
        "name": Entry("text", "The instructor."),
        "token": Entry("text", "Their new token; the one before stops working."),
    },
    "grades": {
        "out": Entry("path", "The file of grades."),
        "students": Entry("0 or more", "Students of the roster."),
        "assignments": Entry("list", "Names of the assignments."),
        "not_in_roster": Entry("list", "Students with scores who are not in the roster."),
        "nothing_submitted": Entry("list", "Students of the roster without a score."),
    },
}
"""What each says with `--json`."""


def _submit(verb: Parser) -> None:
    verb.add_argument("policy", help="a .dshq file; only the policy is sent")
    verb.add_argument("--to", required=True, help="URL of the league")
    verb.add_argument(
        "--token",
        default=os.environ.get("DSHQ_LEAGUE_TOKEN"),
        help="your token for the league (default: the variable DSHQ_LEAGUE_TOKEN, which other users do not see)",
    )


def _league(verb: Parser) -> None:
    verb.add_argument(
        "deed",
        choices=("serve", "verify", "token"),
        help="serve: run a league server; verify: check a replay; token: a new token for an instructor",
    )
    verb.add_argument(
        "replay",
        nargs="*",
        help=(
            "with verify: REPLAY.json, optionally followed by the first and the second policy file; with token: the "
            "instructor's name"
        ),
    )
    verb.add_argument(
        "--db",
        default=os.environ.get("DSHQ_LEAGUE_DB", "sqlite:///league.db"),
        help="database URL (default: the variable DSHQ_LEAGUE_DB, where a password belongs, else sqlite:///league.db)",
    )
    verb.add_argument("--port", type=int, default=8899, help="port to serve on (default 8899)")
    verb.add_argument("--host", default="127.0.0.1", help="address to serve on (default 127.0.0.1)")
    verb.add_argument(
        "--public-url",
        default=os.environ.get("DSHQ_LEAGUE_PUBLIC_URL", ""),
        help=(
            "the https address that people open, where nginx or Caddy stands before it (default: the variable "
            "DSHQ_LEAGUE_PUBLIC_URL)"
        ),
    )
    verb.add_argument(
        "--instructors", default="instructors", help="name of the JupyterHub group of instructors (default instructors)"
    )


def _grades(verb: Parser) -> None:
    verb.add_argument("scores", metavar="SCORES.csv", help="what `nbgrader export` wrote")
    verb.add_argument("--roster", required=True, help="CSV file of the class with the columns id, name and email")
    verb.add_argument("--out", required=True, help="write the grades to this file, NAME.csv")


@takes(_submit, {"submit": ANSWERS["submit"]})
def submit(options: argparse.Namespace) -> dict[str, Any]:
    """Send a policy to a class league."""
    if not options.token:
        raise UsageError("your token is missing: set the variable DSHQ_LEAGUE_TOKEN, or add --token TOKEN")
    with outputs.extra("classroom"):
        from dshq_widget.classroom.submit import is_open
        from dshq_widget.classroom.submit import submit as send

        if is_open(options.to):
            print(f"dshq: everybody on the way to {options.to} can read your token: use https", file=sys.stderr)
        result = send(options.policy, options.to, options.token)
    if not options.json:
        print(f"submitted {options.policy} to {result['title']!r} as {result['digest'][:12]}")
    return result


@takes(_league, {deed: ANSWERS[deed] for deed in ("league verify", "league token")})
def league(options: argparse.Namespace) -> dict[str, Any] | None:
    """Run a class league server, or verify a replay that a league published."""
    if options.deed == "verify":
        if not options.replay or len(options.replay) not in (1, 3):
            raise UsageError("league verify needs REPLAY.json, or REPLAY.json and the first and second policy file")
        with outputs.extra("classroom"):
            from dshq_widget.classroom import verify_replay

            recording = verify_replay.read(options.replay[0])
            found = verify_replay.verify(recording, tuple(options.replay[1:]) or None)
        if not options.json:
            print(f"{found}  matches the published hash")
        return {"replay": options.replay[0], "sha256": found, "policies": options.replay[1:]}
    if options.deed == "token":
        if len(options.replay) != 1:
            raise UsageError("league token needs the instructor's name: dshq league token NAME")
        with outputs.extra("classroom"):
            from dshq_widget.classroom.store import Store

            store = Store(options.db, create=False)  # a name that is mistyped is no new league
            token = store.issue_token(options.replay[0], instructor=True)
            store.close_connections()
        if not options.json:
            print(token)
        return {"name": options.replay[0], "token": token}
    if options.replay:
        raise UsageError(f"league serve takes no file, got {options.replay[0]!r}")
    if not 0 <= options.port <= 65535:
        raise UsageError(f"--port must be from 0 to 65535, got {options.port}")
    with outputs.extra("classroom"):
        for name in BLAS_THREADS:  # before numpy comes: on small tables its threads wait for one another
            os.environ.setdefault(name, "1")
        from dshq_widget.classroom.service.server import serve

        serve(options.db, options.port, options.host, options.instructors, options.public_url)
    return None


@takes(_grades, {"grades": ANSWERS["grades"]})
def grades(options: argparse.Namespace) -> dict[str, Any]:
    """Match the scores that nbgrader exported to a roster, and write the grades as CSV."""
    from dshq_widget.classroom.grades import as_csv, matched, read_roster, read_scores

    target = outputs.writable("--out", options.out, ".csv")
    outputs.check_results({"--out": options.out}, [options.scores, options.roster])
    found = matched(read_roster(Path(options.roster)), read_scores(Path(options.scores)))
    with outputs.written("--out", options.out):
        atomic.write(target, as_csv(found).encode("utf-8"))
    if not options.json:
        print(f"{target}: {len(found.students)} students, {len(found.most)} assignments")
        for remark in found.remarks():
            print(remark)
    return {
        "out": str(target),
        "students": len(found.students),
        "assignments": list(found.most),
        "not_in_roster": found.strangers,
        "nothing_submitted": [student.id for student in found.absent],
    }


VERBS = (submit, league, grades)
