# Written by `make client` from trailmesh/client/page.py and node.py; change those instead.
"""The client for programs without an event loop: ``with trailmesh.sync.connect() as node``.

The same names as those of ``trailmesh``, and each call waits until it is done.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Literal, Self

from trailmesh.calls import BlockingVerbs, Verbs
from trailmesh.client.base import BlockingAwaited, BlockingConnection, asked
from trailmesh.client.calling import NOTHING, BlockingRunning, Progress
from trailmesh.client.errors import MeshError
from trailmesh.client.record import Picture
from trailmesh.records.approve import Asked, Stand
from trailmesh.records.capsule import KeptCapsule
from trailmesh.records.events import FeedChange
from trailmesh.records.explore import Summary
from trailmesh.records.live import Acted, Chosen, Observed, Opened, PageList, RecordedPage
from trailmesh.records.session import ReplayedSession, SessionVerification
from trailmesh.records.task import TaskEvent

_ELEMENT: Final = re.compile(r'(?:- \[)?(e\d+)\]? (\S+)(?: "((?:[^"\\]|\\.)*)")?')
"""A line of an element: its id, its role, its name."""
_LINES_SHOWN: Final = 5
_OVER: Final = frozenset({"live.ended", "live.not_found"})

Extracted = Literal["ago", "date", "money", "number", "pattern", "text"]
Checked = Literal[
    "text", "title", "address", "value", "visible", "hidden", "enabled", "disabled", "checked", "unchecked"
]


class Page(BlockingAwaited):
    """A live session. ``with`` opens it, and closes it at the end, which signs what was recorded.

    An element is named by its id (``e17``), which an observation shows, for as long as the element is on the page.
    """

    def __init__(self, verbs: BlockingVerbs, *, session: str = "", asked: Mapping[str, Any] | None = None) -> None:
        """session: one that is open already. asked: the parameters of ``live.open`` for one that is not."""
        self._verbs = verbs
        self._asked = asked
        self.session = session
        """Id of the live session; empty until it is open."""
        self.opened: Opened | None = None
        """How it was opened, with the action table of the first page."""
        self.recorded: tuple[RecordedPage, ...] = ()
        """The signed recordings, one for each page that was used; empty until it is closed."""

    def open(self) -> Self:
        """Open it, if it is not open."""
        if self._asked is not None and not self.session:
            self.opened = self._verbs.live.open(**self._asked)
            self.session = self.opened.session
        return self

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except MeshError:
            if kind is None:
                raise

    def _live(self) -> str:
        """The id of its live session. Without one a verb would take the one that is open, whosever it is."""
        return (self.open()).session

    def __repr__(self) -> str:
        return f"<Page {self.session or 'not open yet'}>"

    # --- looking -----------------------------------------------------------------------------------------------------

    def table(self, part: int = 1) -> Observed:
        """The controls of the page, a line for each."""
        return self._verbs.live.table(session=self._live(), part=part)

    def find(self, text: str, part: int = 1) -> Observed:
        """The lines with ``text``, or the elements of a role such as ``button``."""
        return self._verbs.live.find(text, session=self._live(), part=part)

    def one(self, text: str, *, role: str = "") -> str:
        """The id of the only element with ``text`` in its line, and of this role; if there are several, the one with that name.

        Errors: ``input.not_found``, if that is not one: the message shows the lines.
        """
        found = _elements((self.find(text)).lines, role)
        named = [each for each in found if each[1] == text]
        chosen = found if len(found) == 1 else named
        if len(chosen) != 1:
            lines = "; ".join(line for _, _, line in (named or found)[:_LINES_SHOWN])
            told = f"{len(found) or 'no'} elements have {text!r} in their lines{lines and f': {lines}'}"
            raise MeshError("input.not_found", told, blame="caller", detail={"ids": [each[0] for each in found]})
        return chosen[0][0]

    def choose(self, goal: str) -> Chosen:
        """The thing that a search for ``goal`` would try first on this page, and why; nothing is done."""
        return self._verbs.live.choose(goal, session=self._live())

    def snapshot(self, part: int = 1, *, focus: str = "", delta: bool = False, interactive: bool = False) -> Observed:
        """The whole page; one element (``focus``); or what has changed since it was shown last (``delta``)."""
        return self._verbs.live.snapshot(
            session=self._live(), part=part, focus=focus, delta=delta, interactive=interactive
        )

    def screenshot(self) -> Picture:
        """The picture of the page as a PNG, with password fields and secrets covered."""
        return Picture(base64.b64decode((self._verbs.live.screenshot(session=self._live())).png))

    # --- acting ------------------------------------------------------------------------------------------------------

    def act(self, steps: str | Mapping[str, Any] | Sequence[Mapping[str, Any] | str]) -> Acted:
        """One or several steps as in an action file, with elements by id: ``[{"fill": {"ref": "e7", "value": "mug"}}]``."""
        text = steps if isinstance(steps, str) else json.dumps(steps)
        return self._verbs.live.act(text, session=self._live())

    def goto(self, url: str, *, timeout: float = 0) -> Acted:
        """Open an address."""
        return self._verbs.live.navigate(url, session=self._live(), timeout=timeout)

    def back(self) -> Acted:
        """Go back in the history of the page."""
        return self._verbs.live.back(session=self._live())

    def forward(self) -> Acted:
        """Go forward in the history of the page."""
        return self._verbs.live.forward(session=self._live())

    def reload(self) -> Acted:
        """Load the page anew."""
        return self._verbs.live.reload(session=self._live())

    def click(
        self,
        ref: str,
        *,
        double: bool = False,
        button: Literal["left", "right"] = "left",
        accept: Literal["", "alert", "confirm", "prompt", "beforeunload"] = "",
        reply: str = "",
    ) -> Acted:
        """Click an element. accept: the kind of dialog that the click opens and that is accepted, with ``reply`` to a prompt."""
        return self._verbs.live.click(
            ref, session=self._live(), double=double, button=button, accept=accept, reply=reply
        )

    def hover(self, ref: str) -> Acted:
        """Move the mouse over an element."""
        return self._verbs.live.hover(ref, session=self._live())

    def fill(
        self, fields: Mapping[str, str], *, secret: Mapping[str, str] | None = None, submit: bool = False
    ) -> Acted:
        """Fill fields by id: a text, the option to choose, or on and off for a box. secret: names of secrets to type, by id."""
        return self._verbs.live.fill(fields, session=self._live(), secret=secret or {}, submit=submit)

    def type(self, ref: str, text: str | None = None, *, secret: str = "", submit: bool = False) -> Acted:
        """Type a text, or the secret of this name, into a field."""
        return self._verbs.live.type(ref, text, session=self._live(), secret=secret, submit=submit)

    def select(self, ref: str, *values: str) -> Acted:
        """Choose options of a list, each by its label or its value."""
        return self._verbs.live.select(ref, values, session=self._live())

    def check(self, ref: str, *, off: bool = False) -> Acted:
        """Mark a box, or take its mark out."""
        return self._verbs.live.check(ref, session=self._live(), off=off)

    def press(self, key: str, *, ref: str = "") -> Acted:
        """Press a key: ``Enter``, ``Control+A``. ref: in this element, and not in the one that has the focus."""
        return self._verbs.live.press(key, session=self._live(), ref=ref)

    def drag(self, ref: str, onto: str) -> Acted:
        """Drag an element onto another one."""
        return self._verbs.live.drag(ref, onto, session=self._live())

    def upload(self, ref: str, *files: str) -> Acted:
        """Choose files of the folders in ``browser.upload_folders`` of the node."""
        return self._verbs.live.upload(ref, files, session=self._live())

    def scroll(self, to: str = "down", *, amount: int = 600) -> Acted:
        """Scroll up or down by ``amount`` pixels, or bring an element into view."""
        return self._verbs.live.scroll(to, session=self._live(), amount=amount)

    def wait(
        self, *, text: str = "", ref: str = "", gone: bool = False, address: str = "", seconds: float = 5.0
    ) -> Acted:
        """Wait for a text, an element or an address; without one, until the page stops changing."""
        return self._verbs.live.wait(session=self._live(), text=text, ref=ref, gone=gone, address=address, time=seconds)

    # --- keeping -----------------------------------------------------------------------------------------------------

    def extract(self, name: str, ref: str = "", *, kind: Extracted = "text") -> str:
        """The value of an element, which the recording keeps under ``name``; without an element, of the whole page."""
        return (self._verbs.live.extract(name, session=self._live(), ref=ref, kind=kind)).extracted

    def check_that(self, what: Checked, expected: str = "", *, ref: str = "", whole: bool = False) -> Acted:
        """Check the page or an element; a replay of the recording checks it again. Errors: ``assert.failed``."""
        return self._verbs.live.assert_(what, expected, session=self._live(), ref=ref, whole=whole)

    def tabs(
        self, action: Literal["list", "new", "close", "select"] = "list", *, index: int | None = None, url: str = ""
    ) -> PageList:
        """List the pages of the live session, open one, close one, or make one the current page."""
        return self._verbs.live.pages(action=action, session=self._live(), index=index, url=url)

    def close(self) -> tuple[RecordedPage, ...]:
        """Close the live session. Returns its signed recordings; those of one that has ended by itself too."""
        if not self.session or self.recorded:
            return self.recorded
        try:
            self.recorded = (self._verbs.live.close(session=self.session)).recorded
        except MeshError as error:
            if error.code not in _OVER:
                raise
            self.recorded = (self._verbs.live.show(self.session)).recorded
        return self.recorded


def _elements(lines: Sequence[str], role: str) -> list[tuple[str, str, str]]:
    """Id, name and line of the elements in ``lines``."""
    matches = [(line, _ELEMENT.match(line)) for line in lines]
    return [(at[1], at[3] or "", line) for line, at in matches if at is not None and role in ("", at[2])]


_FOLLOW_S = 20


def connect(
    home: str | os.PathLike[str] | None = None,
    *,
    start: bool = False,
    as_owner: bool = False,
    token_file: str | os.PathLike[str] | None = None,
    socket: str | os.PathLike[str] | None = None,
    origins: Sequence[str] = (),
) -> Node:
    """The running node of ``home``: ``with trailmesh.sync.connect() as node``. Without a block it is looked for with the first
    call.

    A program calls as an agent: the one of ``token_file``, else of ``TRAILMESH_TOKEN_FILE``, else the agent ``python``, which is
    made with the first connection. One account is no boundary: as_owner is for what an agent may not do.

    home: the data directory; by default ``TRAILMESH_HOME``, else that of the user. start: start a node in the background if none
    runs, and make one if there is none. socket: where an agent reaches the node, if not in ``home``. origins: the only sites that
    the agent may visit, which can be in a private network; without them, all public sites and those of this machine.
    """
    return Node(home, start=start, as_owner=as_owner, token_file=token_file, socket=socket, origins=origins)


class Node(BlockingConnection):
    """A running node."""

    def __init__(
        self,
        home: str | os.PathLike[str] | None = None,
        *,
        start: bool = False,
        as_owner: bool = False,
        token_file: str | os.PathLike[str] | None = None,
        socket: str | os.PathLike[str] | None = None,
        origins: Sequence[str] = (),
    ) -> None:
        """As for ``connect``."""
        super().__init__(asked(home, start, as_owner, token_file, socket, origins))

    def __enter__(self) -> Self:
        self._open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def open(
        self,
        url: str,
        *,
        title: str = "",
        profile: Mapping[str, Any] = NOTHING,
        secrets: Mapping[str, Any] = NOTHING,
        allow: Sequence[str] = (),
        capsule: str = "",
        hold: int | None = None,
        **limits: int,
    ) -> Page:
        """A page at ``url``: ``with node.open(url) as page`` closes it at the end. Every parameter of ``live.open`` can be
        given. Without a block, as in a notebook, it opens with its first call (or ``node.open(url)``), until ``close``.
        """
        asked: dict[str, Any] = {"url": url, "title": title, "profile": profile, "secrets": secrets, "allow": allow}
        held = {} if hold is None else {"hold": hold}
        return Page(self.verbs, asked={**asked, "capsule": capsule, **held, **limits})

    def page(self, session: str) -> Page:
        """The live session of this id, which is open already; ``with`` closes it at the end."""
        return Page(self.verbs, session=session)

    def replay(
        self, session: str, *, base_url: str = "", capsule: str = "", progress: Progress | None = None
    ) -> ReplayedSession:
        """Replay a recorded session, and compare. ``node.verbs.session.replay`` takes every parameter."""
        return self.verbs.session.replay(session, base_url=base_url, capsule=capsule, progress=progress)

    def verify(self, subject: str) -> SessionVerification:
        """Check the signature and every element of a session by its id, or of a bundle or report by its file. For the owner."""
        return self.verbs.session.verify(subject)

    def explore(
        self,
        goal: str,
        *,
        start: str,
        until: Mapping[str, Any],
        seconds: int = 120,
        seed: int = 0,
        peers: Sequence[str] | None = None,
        capsule: str = "",
    ) -> BlockingRunning[Summary]:
        """Explore a site until a page meets ``until``. Iterate over it for its progress; it has the result."""

        def run(verbs: Verbs, progress: Progress) -> Any:
            return verbs.explore.run(
                goal=goal,
                start=start,
                until=until,
                seconds=seconds,
                seed=seed,
                peers=peers,
                capsule=capsule,
                progress=progress,
            )

        return self._begin(run)

    def capsules(self) -> tuple[KeptCapsule, ...]:
        """The capsules of the node. For the owner."""
        return (self.verbs.capsule.list()).capsules

    def questions(self, *, all: bool = False) -> tuple[Asked, ...]:
        """The questions that wait for a person, newest first. For the owner."""
        return (self.verbs.approve.list(all=all)).questions

    def question(self, question: str, *, wait: int = 0) -> Stand:
        """How a question stands that this caller has caused. wait: so many seconds for its answer."""
        return self.verbs.approve.state(question, wait=wait)

    def follow_task(self, task: str, *, after: int = 0) -> Iterator[TaskEvent]:
        """The events of a task after the one with this number, each as it happens, until the task has ended."""
        while True:
            found = self.verbs.task.events(task, after=after, wait_s=_FOLLOW_S)
            yield from found.events
            after = found.last
            if found.over:
                return

    def events(self, *, after: int | None = None, kind: str = "", follow: bool = True) -> Iterator[FeedChange]:
        """The changes on the node after the one with this number, or from now on; each as it happens, with ``follow``."""
        since = (self.verbs.events.list(limit=1)).last if after is None else after
        while True:
            page = self.verbs.events.list(since=since, kind=kind, wait_s=_FOLLOW_S if follow else 0)
            yield from page.changes
            if not follow and page.last == since:
                return
            since = page.last
