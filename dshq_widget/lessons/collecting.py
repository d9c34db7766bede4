"""nbgrader's step that collects what students have handed in: each submission by itself, only its owner's, and only
plain files. Everybody may write into the exchange, what they like and under whatever name.

`nbgrader_config.py` names it (docs/classroom/nbgrader, tools/instructor/assignments.py).
"""

from __future__ import annotations

import datetime
import os
import shutil
import stat
from pathlib import Path
from typing import Any

from nbgrader.exchange import ExchangeError
from nbgrader.exchange.default import ExchangeCollect

NOBODYS = ""
"""The name under which what is left out is kept apart: it takes no place of a student's newest submission."""


class CollectOneByOne(ExchangeCollect):
    """In the place of nbgrader's own, which ends at the first submission that it cannot copy, and warns of one in
    another student's name but collects it.
    """

    src_records: list[dict[str, Any]]

    def _path_to_record(self, path: str) -> dict[str, Any]:
        try:
            record: dict[str, Any] = super()._path_to_record(path)
            why = self._foreign(path, record["username"])
        except (ExchangeError, ValueError, OverflowError, OSError) as error:
            why = str(error)
        if why:
            self.log.error("%s is left out: %s", path, why)
            return {"username": NOBODYS, "filename": path, "timestamp": datetime.datetime.min}
        return record

    def _foreign(self, path: str, student: str) -> str:
        """Why it is not that student's, "" if it is. Where all servers are one system user's, as on
        Kubernetes, it cannot be seen.
        """
        if os.path.islink(path):
            return "it is a link"
        if not self.check_owner or not hasattr(os, "geteuid") or os.stat(path).st_uid == os.geteuid():
            return ""
        try:
            owner = Path(path).owner()
        except KeyError:
            owner = "somebody who has no name here"
        return "" if owner == student else f"it is not {student}'s, but of {owner}"

    def copy_files(self) -> None:
        """Those that can be copied."""
        records = [record for record in self.src_records if record["username"] != NOBODYS]
        for record in records:
            self.src_records = [record]
            student = record["username"]
            copy = self.coursedir.format_path(self.coursedir.submitted_directory, student, self.coursedir.assignment_id)
            try:
                super().copy_files()
            except (OSError, RuntimeError, ValueError, shutil.Error) as error:
                self.log.error("the submission of %s is left out: %s", student, str(error)[:1000])
                shutil.rmtree(copy, ignore_errors=True)

    def do_copy(self, src: str, dest: str, log: Any = None) -> None:
        """As nbgrader does, of a folder with nothing but plain files and folders: a link may lead to everything that
        you can read. Raises OSError.
        """
        _check_plain(src)
        super().do_copy(src, dest, log)
        self._give_a_time(dest)

    def _give_a_time(self, copy: str) -> None:
        """Its `timestamp.txt` is a file of the student's. Where it says no time, nbgrader would end at it each
        time that it collects: when it was handed in stands in its folder's name, too.
        """
        try:
            self.coursedir.get_existing_timestamp(copy)
        except (AttributeError, SystemExit, ValueError, OverflowError):  # nbgrader 0.9 calls a method that it lacks
            path = os.path.join(copy, "timestamp.txt")
            os.unlink(path)
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"{self.src_records[0]['timestamp']} UTC")


def _check_plain(path: str) -> None:
    mode = os.lstat(path).st_mode
    if stat.S_ISDIR(mode):
        for name in os.listdir(path):
            _check_plain(os.path.join(path, name))
    elif not stat.S_ISREG(mode):
        raise OSError(f"{path} is no plain file")
