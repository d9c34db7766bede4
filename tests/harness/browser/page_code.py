"""What a file of js exports, called in Node, and as a script for a browser."""

from typing import Any

from tests.harness.typescript import bundled, run

MATCHES = "tests/harness/record_matches"


def matches_script() -> str:
    """JavaScript that defines `entry.recordMatches` and `entry.replayedHash`."""
    return bundled(f'export * from "./js/{MATCHES}";')


def in_node(call: str, *arguments: Any, file: str = MATCHES) -> Any:
    """The result of a file's `call(...arguments)` in Node."""
    source = f'import * as all from "./js/{file}";\nexport const main = (given: any) => (all as any).{call}(...given);'
    return run(source, arguments)
