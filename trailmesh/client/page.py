"""A page in the browser of a node: a live session, which is looked at, acted in and recorded."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Literal, Self

from trailmesh.calls import Verbs
from trailmesh.client.base import Awaited
from trailmesh.client.errors import MeshError
from trailmesh.client.record import Picture
from trailmesh.records.live import Acted, Chosen, Observed, Opened, PageList, RecordedPage

_ELEMENT: Final = re.compile(r'(?:- \[)?(e\d+)\]? (\S+)(?: "((?:[^"\\]|\\.)*)")?')
"""A line of an element: its id, its role, its name."""
_LINES_SHOWN: Final = 5
_OVER: Final = frozenset({"live.ended", "live.not_found"})

Extracted = Literal["ago", "date", "money", "number", "pattern", "text"]
Checked = Literal[
    "text", "title", "address", "value", "visible", "hidden", "enabled", "disabled", "checked", "unchecked"
]


class Page(Awaited):
    """A live session. ``async with`` opens it, and closes it at the end, which signs what was recorded.

    An element is named by its id (``e17``), which an observation shows, for as long as the element is on the page.
    """

    def __init__(self, verbs: Verbs, *, session: str = "", asked: Mapping[str, Any] | None = None) -> None:
        """session: one that is open already. asked: the parameters of ``live.open`` for one that is not."""
        self._verbs = verbs
        self._asked = asked
        self.session = session
        """Id of the live session; empty until it is open."""
        self.opened: Opened | None = None
        """How it was opened, with the action table of the first page."""
        self.recorded: tuple[RecordedPage, ...] = ()
        """The signed recordings, one for each page that was used; empty until it is closed."""

    async def open(self) -> Self:
        """Open it, if it is not open."""
        if self._asked is not None and not self.session:
            self.opened = await self._verbs.live.open(**self._asked)
            self.session = self.opened.session
        return self

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self.close()
        except MeshError:
            if kind is None:
                raise

    async def _live(self) -> str:
        """The id of its live session. Without one a verb would take the one that is open, whosever it is."""
        return (await self.open()).session

    def __repr__(self) -> str:
        return f"<Page {self.session or 'not open yet'}>"

    # --- looking -----------------------------------------------------------------------------------------------------

    async def table(self, part: int = 1) -> Observed:
        """The controls of the page, a line for each."""
        return await self._verbs.live.table(session=await self._live(), part=part)

    async def find(self, text: str, part: int = 1) -> Observed:
        """The lines with ``text``, or the elements of a role such as ``button``."""
        return await self._verbs.live.find(text, session=await self._live(), part=part)

    async def one(self, text: str, *, role: str = "") -> str:
        """The id of the only element with ``text`` in its line, and of this role; if there are several, the one with that name.

        Errors: ``input.not_found``, if that is not one: the message shows the lines.
        """
        found = _elements((await self.find(text)).lines, role)
        named = [each for each in found if each[1] == text]
        chosen = found if len(found) == 1 else named
        if len(chosen) != 1:
            lines = "; ".join(line for _, _, line in (named or found)[:_LINES_SHOWN])
            told = f"{len(found) or 'no'} elements have {text!r} in their lines{lines and f': {lines}'}"
            raise MeshError("input.not_found", told, blame="caller", detail={"ids": [each[0] for each in found]})
        return chosen[0][0]

    async def choose(self, goal: str) -> Chosen:
        """The thing that a search for ``goal`` would try first on this page, and why; nothing is done."""
        return await self._verbs.live.choose(goal, session=await self._live())

    async def snapshot(
        self, part: int = 1, *, focus: str = "", delta: bool = False, interactive: bool = False
    ) -> Observed:
        """The whole page; one element (``focus``); or what has changed since it was shown last (``delta``)."""
        return await self._verbs.live.snapshot(
            session=await self._live(), part=part, focus=focus, delta=delta, interactive=interactive
        )

    async def screenshot(self) -> Picture:
        """The picture of the page as a PNG, with password fields and secrets covered."""
        return Picture(base64.b64decode((await self._verbs.live.screenshot(session=await self._live())).png))

    # --- acting ------------------------------------------------------------------------------------------------------

    async def act(self, steps: str | Mapping[str, Any] | Sequence[Mapping[str, Any] | str]) -> Acted:
        """One or several steps as in an action file, with elements by id: ``[{"fill": {"ref": "e7", "value": "mug"}}]``."""
        text = steps if isinstance(steps, str) else json.dumps(steps)
        return await self._verbs.live.act(text, session=await self._live())

    async def goto(self, url: str, *, timeout: float = 0) -> Acted:
        """Open an address."""
        return await self._verbs.live.navigate(url, session=await self._live(), timeout=timeout)

    async def back(self) -> Acted:
        """Go back in the history of the page."""
        return await self._verbs.live.back(session=await self._live())

    async def forward(self) -> Acted:
        """Go forward in the history of the page."""
        return await self._verbs.live.forward(session=await self._live())

    async def reload(self) -> Acted:
        """Load the page anew."""
        return await self._verbs.live.reload(session=await self._live())

    async def click(
        self,
        ref: str,
        *,
        double: bool = False,
        button: Literal["left", "right"] = "left",
        accept: Literal["", "alert", "confirm", "prompt", "beforeunload"] = "",
        reply: str = "",
    ) -> Acted:
        """Click an element. accept: the kind of dialog that the click opens and that is accepted, with ``reply`` to a prompt."""
        return await self._verbs.live.click(
            ref, session=await self._live(), double=double, button=button, accept=accept, reply=reply
        )

    async def hover(self, ref: str) -> Acted:
        """Move the mouse over an element."""
        return await self._verbs.live.hover(ref, session=await self._live())

    async def fill(
        self, fields: Mapping[str, str], *, secret: Mapping[str, str] | None = None, submit: bool = False
    ) -> Acted:
        """Fill fields by id: a text, the option to choose, or on and off for a box. secret: names of secrets to type, by id."""
        return await self._verbs.live.fill(fields, session=await self._live(), secret=secret or {}, submit=submit)

    async def type(self, ref: str, text: str | None = None, *, secret: str = "", submit: bool = False) -> Acted:
        """Type a text, or the secret of this name, into a field."""
        return await self._verbs.live.type(ref, text, session=await self._live(), secret=secret, submit=submit)

    async def select(self, ref: str, *values: str) -> Acted:
        """Choose options of a list, each by its label or its value."""
        return await self._verbs.live.select(ref, values, session=await self._live())

    async def check(self, ref: str, *, off: bool = False) -> Acted:
        """Mark a box, or take its mark out."""
        return await self._verbs.live.check(ref, session=await self._live(), off=off)

    async def press(self, key: str, *, ref: str = "") -> Acted:
        """Press a key: ``Enter``, ``Control+A``. ref: in this element, and not in the one that has the focus."""
        return await self._verbs.live.press(key, session=await self._live(), ref=ref)

    async def drag(self, ref: str, onto: str) -> Acted:
        """Drag an element onto another one."""
        return await self._verbs.live.drag(ref, onto, session=await self._live())

    async def upload(self, ref: str, *files: str) -> Acted:
        """Choose files of the folders in ``browser.upload_folders`` of the node."""
        return await self._verbs.live.upload(ref, files, session=await self._live())

    async def scroll(self, to: str = "down", *, amount: int = 600) -> Acted:
        """Scroll up or down by ``amount`` pixels, or bring an element into view."""
        return await self._verbs.live.scroll(to, session=await self._live(), amount=amount)

    async def wait(
        self, *, text: str = "", ref: str = "", gone: bool = False, address: str = "", seconds: float = 5.0
    ) -> Acted:
        """Wait for a text, an element or an address; without one, until the page stops changing."""
        return await self._verbs.live.wait(
            session=await self._live(), text=text, ref=ref, gone=gone, address=address, time=seconds
        )

    # --- keeping -----------------------------------------------------------------------------------------------------

    async def extract(self, name: str, ref: str = "", *, kind: Extracted = "text") -> str:
        """The value of an element, which the recording keeps under ``name``; without an element, of the whole page."""
        return (await self._verbs.live.extract(name, session=await self._live(), ref=ref, kind=kind)).extracted

    async def check_that(self, what: Checked, expected: str = "", *, ref: str = "", whole: bool = False) -> Acted:
        """Check the page or an element; a replay of the recording checks it again. Errors: ``assert.failed``."""
        return await self._verbs.live.assert_(what, expected, session=await self._live(), ref=ref, whole=whole)

    async def tabs(
        self, action: Literal["list", "new", "close", "select"] = "list", *, index: int | None = None, url: str = ""
    ) -> PageList:
        """List the pages of the live session, open one, close one, or make one the current page."""
        return await self._verbs.live.pages(action=action, session=await self._live(), index=index, url=url)

    async def close(self) -> tuple[RecordedPage, ...]:
        """Close the live session. Returns its signed recordings; those of one that has ended by itself too."""
        if not self.session or self.recorded:
            return self.recorded
        try:
            self.recorded = (await self._verbs.live.close(session=self.session)).recorded
        except MeshError as error:
            if error.code not in _OVER:
                raise
            self.recorded = (await self._verbs.live.show(self.session)).recorded
        return self.recorded


def _elements(lines: Sequence[str], role: str) -> list[tuple[str, str, str]]:
    """Id, name and line of the elements in ``lines``."""
    matches = [(line, _ELEMENT.match(line)) for line in lines]
    return [(at[1], at[3] or "", line) for line, at in matches if at is not None and role in ("", at[2])]
