"""Executes the page's messages: one handler for each entry of `page_to_kernel` in protocol.py."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from dshq_widget.contract import messages, protocol
from dshq_widget.drill import own_reward
from dshq_widget.policy import checkpoint, ladder
from dshq_widget.training.any_drill import with_rules
from dshq_widget.training.trainer import Trainer
from dshq_widget.widget import page_protocol
from dshq_widget.widget.affordable import affordable
from dshq_widget.widget.fence import Fence, sentence
from dshq_widget.widget.kernel_show import KernelShow
from dshq_widget.widget.looking import SPEAKER, spoken_by
from dshq_widget.widget.part import Handler
from dshq_widget.widget.policy_show import PolicyShow
from dshq_widget.widget.quota import Quota
from dshq_widget.widget.sender import Sender

HISTORY_ROWS = 500
"""Rows in one HISTORY message; a longer history is thinned evenly."""
HISTORY_VALUES = 100 * HISTORY_ROWS
"""Numbers in one: a page that trains reports as many as it likes, and every page gets them whenever one is opened."""
MOST_AT_ONCE, MOST_OF_A_PAGE = 8, 4
"""Answers that are being made on threads of their own, and of these those for one page: some are left for the others.
Of files only one is made: it may be a whole run in memory.
"""
MOST_UPLOADS, MOST_UPLOAD_BYTES = 64, 256 << 20
"""Files that are arriving, each from another page. Of more the smallest is forgotten, and where they are too large, the
largest: whoever begins files without end ends nobody else's.
"""

Content = Mapping[str, Any]
FileKind = type[messages.PolicyFile] | type[messages.PageFile]
Make = Callable[[], tuple[str, bytes]]
"""Makes a file: its name and its bytes."""


class Commands:
    """One thread calls `execute`. `replaced` is called when a different policy should play at once. `kernel_show` is
    None if the page plays by itself, `policy_show` if it can play the policy. `page_file` makes the match as a web
    page; it raises ValueError or RuntimeError, each with one sentence. `pay_for` makes a line of the rules language a
    reward; it raises ValueError.
    """

    def __init__(
        self,
        trainer: Trainer,
        quota: Quota,
        kernel_show: KernelShow | None,
        policy_show: PolicyShow | None,
        outbox: Sender,
        fence: Fence,
        replaced: Callable[[], None],
        page_file: Callable[[], bytes],
        pay_for: Callable[[str], None],
    ) -> None:
        self._page_file, self._pay_for, self._fence = page_file, pay_for, fence
        self._trainer, self._quota, self._kernel_show, self._outbox = trainer, quota, kernel_show, outbox
        self._policy_show, self._replaced = policy_show, replaced
        self._uploads = dict[str, page_protocol.Upload]()  # by page
        self._making, self._counting = Counter[str](), threading.Lock()  # by page
        self._one_file = threading.Lock()
        self.page: dict[str, Any] = {}
        """The page's last PAGE_STATE."""
        verbs: dict[str, Callable[[Content], None]] = {
            "HELLO": self._hello,
            "START_TRAINING": lambda content: trainer.start(**self._settings(page_protocol.settings_in(content))),
            "STOP_TRAINING": lambda _: trainer.stop(),
            "RESET_TRAINER": self._reset,
            "START_FROM": self._start_from,
            "PAUSE_TRAINING": lambda _: trainer.pause_training(),
            "RESUME_TRAINING": lambda _: trainer.resume_training(),
            "NEXT_UPDATE": lambda content: trainer.next_update(**self._settings(page_protocol.settings_in(content))),
            "SET_HYPER": lambda content: trainer.set_hyper(
                **self._settings({str(content.get("key")): content.get("value")})
            ),
            "CHECK_REWARD": self._check_reward,
            "PAY_FOR": self._pay,
            "DRILL_SCENE": self._drill_scene,
            "DROP_SCENE": lambda content: trainer.remove_scene(str(content.get("key"))),
            "PAGE_STATE": self._page_state,
            "FRAME_SHOWN": self._frame_shown,
            "STEP": self._step,
            "SAVE_POLICY": self._save_policy,
            "RESTORE_HISTORY": lambda content: trainer.restore_history(
                page_protocol.history(content.get("rows"), HISTORY_ROWS)
            ),
            "SAVE_PAGE": self._save_page,
            "EXTEND_TRAINING": lambda _: quota.extend(),
            "RESUME_RUN": self._resume_run,
            "SUBMIT_POLICY": lambda _: quota.submit_beside(outbox.notify),
        }
        self._verbs: dict[str, Handler] = {kind: _alone(verb) for kind, verb in verbs.items()}
        self._verbs["LOAD_POLICY"] = self._load_policy

    def add(self, verbs: Mapping[str, Handler]) -> None:
        """Messages that a feature executes itself, by their type (part.py)."""
        self._verbs |= verbs

    def execute(self, kind: str, content: Content, buffers: Any) -> None:
        """Execute one message. Whatever it raises, with one sentence, the caller tells the page (fence.py)."""
        if kind in protocol.MESSAGES["kernel_to_policy_show"]:
            self._to_policy_show(kind, content)
        elif kind in self._verbs:
            self._verbs[kind](content, buffers)

    def _settings(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Settings of a page's, whose cost is bounded."""
        return affordable(values, self._trainer)

    def send_history(self) -> None:
        """The curves so far, in the place of all that the page has."""
        rows = page_protocol.thinned(self._trainer.history, HISTORY_ROWS, HISTORY_VALUES)
        self._outbox.put(messages.History(0, rows).to_json())

    def _hello(self, _: Content) -> None:
        self.send_history()
        if self._kernel_show is not None:  # last: without memory for a show the page has its answer all the same
            self._kernel_show.begin()

    def _reset(self, _: Content) -> None:
        self._trainer.reset_training()
        self._replaced()

    def _start_from(self, content: Content) -> None:
        rungs = ladder.rungs(self._trainer.drill.name)
        self._trainer.load(page_protocol.one_of("policy", content.get("policy"), rungs))
        self._replaced()

    def _check_reward(self, content: Content) -> None:
        line, problem = page_protocol.line(content.get("line")), ""
        try:
            own_reward.check(self._trainer.drill, line)
        except ValueError as error:
            problem = str(error)
        self._outbox.answer(messages.RewardChecked(line, problem).to_json())

    def _pay(self, content: Content) -> None:
        self._pay_for(page_protocol.line(content.get("line")))
        self._trainer.begin_again()

    def _drill_scene(self, content: Content) -> None:
        self._trainer.add_scene(page_protocol.scene(content, self._trainer.drill.rules_hash))

    def _page_state(self, content: Content) -> None:
        self.page = page_protocol.page_state(content)

    def look(self, seen: bool) -> None:
        """Whether somebody looks at a page of the widget."""
        self._outbox.flow.seen(seen)
        if self._kernel_show is not None:
            self._kernel_show.look(seen)

    def _frame_shown(self, _: Content) -> None:
        if self._kernel_show is not None:
            self._kernel_show.shown()

    def _step(self, content: Content) -> None:
        if self._kernel_show is not None:
            self._kernel_show.step(content.get("count", 1))

    def _to_policy_show(self, kind: str, content: Content) -> None:
        if self._policy_show is None:
            raise ValueError(f"{kind} is for policies that a page cannot play: reload the page")
        self._policy_show.send(page_protocol.to_policy_show(kind, content, with_rules(self._trainer.drill).spec))

    def _file_name(self, ending: str, version: int | None = None) -> str:
        trainer = self._trainer
        version = trainer.version if version is None else version
        return f"{re.sub('[^A-Za-z0-9_.]+', '-', trainer.drill.name)}-v{version}.{ending}"

    def _save_policy(self, content: Content) -> None:
        name, whole = self._file_name("dshq"), content.get("whole")

        def make() -> tuple[str, bytes]:
            data = page_protocol.sendable(name, self._run() if whole else self._trainer.policy_file())
            return self._file_name("dshq", checkpoint.decode(data).version), data  # a learner may have continued

        if whole or self._trainer.drawn_policy() is None:
            self._make_file("saving the run", messages.PolicyFile, content, name, make)
        else:
            self._send_file(messages.PolicyFile, content, name, make)

    def _run(self) -> bytes:
        try:
            return self._trainer.run_file()
        except (checkpoint.CheckpointError, OSError, MemoryError):  # no room for it: the policy itself needs little
            return self._trainer.policy_file()

    def _save_page(self, content: Content) -> None:
        name = self._file_name("html")
        self._make_file("saving the page", messages.PageFile, content, name, lambda: (name, self._page_file()))

    def _make_file(self, what: str, kind: FileKind, asked: Content, name: str, make: Make) -> None:
        """Make a file that may take seconds, and send it. Whatever happens, the page waits for an answer."""
        try:
            self.beside(what, self._send_alone, kind, asked, name, make)
        except RuntimeError as error:
            self._outbox.answer(kind(name, sentence(error), page_protocol.request(asked)).to_json([]))

    def _send_alone(self, *file: Any) -> None:
        with self._one_file:
            self._send_file(*file)

    def _send_file(self, kind: FileKind, asked: Content, name: str, make: Make) -> None:
        problem, buffers = self._outbox.refusal(), []
        try:
            if not problem:
                name, data = make()
                problem = self._outbox.refusal(len(data))
                buffers = [] if problem else [data]
        except Exception as error:
            problem = sentence(error)
        self._outbox.answer(kind(name, problem, page_protocol.request(asked)).to_json(buffers))

    def beside(self, what: str, work: Callable[..., None], *arguments: Any) -> None:
        """Do something on a thread of its own that may take seconds: it may have to compile, or wait for the learner.
        Raises RuntimeError if too much is being done already.
        """
        page = SPEAKER.get()
        with self._counting:
            here, together = self._making[page], self._making.total()
            if here >= MOST_OF_A_PAGE or together >= MOST_AT_ONCE:
                raise RuntimeError(f"{what} has to wait: {together} other things that were asked for are being done")
            self._making[page] += 1

        def leave() -> None:
            with self._counting:
                self._making[page] -= 1
                self._making = +self._making  # without those that ask for nothing

        def work_and_leave() -> None:
            try:
                with spoken_by(page):
                    self._fence.command(what, work, *arguments)
            finally:
                leave()

        try:
            threading.Thread(target=work_and_leave, name="dshq-answer", daemon=True).start()
        except BaseException:  # no thread is free for it: the next one may find one
            leave()
            raise

    def _resume_run(self, _: Content) -> None:
        self._quota.resume_run()
        self._replaced()

    def _load_policy(self, content: Content, buffers: Any) -> None:
        upload = self._uploads.pop(SPEAKER.get(), None) or page_protocol.Upload()
        arrived = upload.take(content, buffers)
        if not arrived:
            self._uploads[SPEAKER.get()] = upload
            sizes = Counter({page: one.nbytes for page, one in self._uploads.items()})
            while len(sizes) > MOST_UPLOADS or sizes.total() > MOST_UPLOAD_BYTES:
                which = max if sizes.total() > MOST_UPLOAD_BYTES else min
                page = which(sizes, key=sizes.__getitem__)
                del sizes[page], self._uploads[page]
        else:
            name, data = arrived
            self._trainer.load_checkpoint(checkpoint.parse(data, name), name)
            self._replaced()


def _alone(verb: Callable[[Content], None]) -> Handler:
    """The same for a message without buffers."""
    return lambda content, _: verb(content)
