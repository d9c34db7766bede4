"""Builds the static site: `python -m tools.site` (`make site`) writes it to `site`.

It needs the extra `site`, and the lessons' pages, which `make lessons` writes. The site works from disk and under any
path of a static host, and asks no other origin for anything.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from typing import Any

from mkdocs.commands.build import build as build_site
from mkdocs.config import load_config

from tools.pages import PAGES
from tools.site import api, documents, drill_pages, lessons, matches

ROOT = Path(__file__).parents[2]
OWN = Path(__file__).parent


def build(out: Path, stage: Path, lesson_pages: Path) -> Path:
    """Write the site to `out`, by way of the folder `stage`; returns its first page.

    Both folders are made from scratch. `lesson_pages` holds the pages of `tools.pages`. Raises FileNotFoundError where
    one of these is missing, and mkdocs' Abort where a link leads nowhere.
    """
    shutil.rmtree(stage, ignore_errors=True)
    shutil.copytree(OWN / "pages", stage)
    shutil.copytree(OWN / "assets", stage / "assets")
    matches.write_all(stage / "matches")
    nav: dict[str, list[str]] = {
        "Drills": drill_pages.write_all(stage / "drills"),
        "Lessons": lessons.write_all(stage / "lessons", lesson_pages),
        "Reference": api.write_all(stage / "api"),
    }
    documents.write_all(stage)
    config = load_config(str(ROOT / "mkdocs.yml"), docs_dir=str(stage), site_dir=str(out), strict=True)
    config.nav = [_extended(section, nav) for section in config.nav or []]
    config.plugins.run_event("startup", command="build", dirty=False)
    build_site(config)
    (out / "404.html").unlink()  # its links are absolute: it would be wrong under a path
    return out / "index.html"


def _extended(section: dict[str, Any], more: dict[str, list[str]]) -> dict[str, Any]:
    """A section of the configuration's `nav` with the pages that were written for it."""
    [(title, pages)] = section.items()
    return {title: [*pages, *more[title]]} if title in more else section


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "site", help="the folder for the site (default site)")
    parser.add_argument("--lessons", type=Path, default=PAGES, help="the lessons' pages (default docs/lessons)")
    arguments = parser.parse_args()
    print(build(arguments.out.absolute(), ROOT / "build" / "site-pages", arguments.lessons))


if __name__ == "__main__":
    main()
