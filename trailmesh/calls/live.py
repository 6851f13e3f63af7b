# Written by `make client` from node/verbs/; change the declarations instead.
"""The verbs ``live.*`` as methods (docs/verbs.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from trailmesh.client.calling import NOTHING, BlockingCalls, Calls, Progress
from trailmesh.records.live import (
    Acted,
    Chosen,
    GivenSecret,
    LiveClosed,
    LiveList,
    LiveShown,
    Observed,
    Opened,
    PageList,
    Pictured,
)


class LiveVerbs(Calls):
    """The verbs ``live.*``."""

    async def open(
        self,
        url: str,
        *,
        title: str = "",
        profile: Mapping[str, Any] = NOTHING,
        ttl: int = 1200,
        idle: int = 600,
        actions: int = 200,
        pages: int = 4,
        secrets: Mapping[str, GivenSecret | Mapping[str, Any]] = NOTHING,
        allow: Sequence[str] = (),
        approve_class: int = 0,
        capsule: str = "",
        proxy: str = "",
        hold: int = 20,
        progress: Progress | None = None,
    ) -> Opened:
        """Open a live browser session and show the page at URL.

        url: Start address.
        title: Title of the recording. [default: the address]
        profile: width_px, height_px, locale, timezone, reduced_motion, color_scheme or mobile of the browser.
        Repeat for more.
        ttl: Seconds until the live session ends.
        idle: Seconds without a call until the live session ends.
        actions: Number of actions until the live session ends.
        pages: Number of pages that may be open at a time.
        secrets: A secret that actions may name, for the password fields of a site, and its source
        (docs/secrets.md). Repeat for more.
        allow: A request other than GET that may be sent, for example 'POST https://shop.example/login'.
        approve_class: Approve risk classes up to N for the whole live session (docs/risk.md).
        capsule: Begin with the login of this capsule. Only its origins are contacted then (docs/capsules.md).
        proxy: Contact all sites through this proxy of `browser.proxies`, in a browser of its own.
        hold: Seconds that a request which changes something waits for the owner's yes; 0 refuses it at once
        (docs/approvals.md). At a terminal the default is 60.
        progress: is told what happens meanwhile.
        """
        found: Opened = await self._call(
            "live.open",
            {
                "url": url,
                "title": title,
                "profile": profile,
                "ttl": ttl,
                "idle": idle,
                "actions": actions,
                "pages": pages,
                "secrets": secrets,
                "allow": allow,
                "approve_class": approve_class,
                "capsule": capsule,
                "proxy": proxy,
                "hold": hold,
            },
            progress,
            Opened,
        )
        return found

    async def table(self, *, session: str = "", part: int = 1, progress: Progress | None = None) -> Observed:
        """Show what can be done on the current page: one line for each control.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        part: Which part to show, of a page with more lines than one part holds.
        progress: is told what happens meanwhile.
        """
        found: Observed = await self._call("live.table", {"session": session, "part": part}, progress, Observed)
        return found

    async def find(self, text: str, *, session: str = "", part: int = 1, progress: Progress | None = None) -> Observed:
        """Show the lines of the current page that contain TEXT, or the elements of a role.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        text: A text of the page, in any case of letters, or a role such as button.
        part: Which part to show, of a page with more lines than one part holds.
        progress: is told what happens meanwhile.
        """
        found: Observed = await self._call(
            "live.find", {"session": session, "text": text, "part": part}, progress, Observed
        )
        return found

    async def choose(self, goal: str, *, session: str = "", progress: Progress | None = None) -> Chosen:
        """Name the element of the current page that leads to GOAL, by the rule of searches, and say why.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        goal: The goal as a sentence, as for a search: 'the cheapest blue mug'.
        progress: is told what happens meanwhile.
        """
        found: Chosen = await self._call("live.choose", {"session": session, "goal": goal}, progress, Chosen)
        return found

    async def snapshot(
        self,
        *,
        session: str = "",
        part: int = 1,
        delta: bool = False,
        focus: str = "",
        interactive: bool = False,
        progress: Progress | None = None,
    ) -> Observed:
        """Show the whole current page as lines, or what has changed, or the content of one element.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        part: Which part to show, of a page with more lines than one part holds.
        delta: Show only what has changed since the page was shown last.
        focus: Show only this element and its content.
        interactive: Show only what can be acted on, as `live table` does.
        progress: is told what happens meanwhile.
        """
        found: Observed = await self._call(
            "live.snapshot",
            {"session": session, "part": part, "delta": delta, "focus": focus, "interactive": interactive},
            progress,
            Observed,
        )
        return found

    async def act(
        self, action: str, *, session: str = "", approve_class: int = 0, progress: Progress | None = None
    ) -> Acted:
        """Perform one or several actions on the current page and show what has changed.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        approve_class: Approve risk classes up to N for this action (docs/risk.md).
        action: One step as in an action file, or a list of them, with elements given by id or locator: 'click:
        {ref: e17}'.
        progress: is told what happens meanwhile.
        """
        found: Acted = await self._call(
            "live.act", {"session": session, "approve_class": approve_class, "action": action}, progress, Acted
        )
        return found

    async def navigate(
        self,
        url: str,
        *,
        session: str = "",
        approve_class: int = 0,
        timeout: float = 0,
        progress: Progress | None = None,
    ) -> Acted:
        """Open an address in the current page.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        approve_class: Approve risk classes up to N for this action (docs/risk.md).
        timeout: Seconds that the element and the page may take. [default: as configured]
        url: The address to open.
        progress: is told what happens meanwhile.
        """
        found: Acted = await self._call(
            "live.navigate",
            {"session": session, "approve_class": approve_class, "timeout": timeout, "url": url},
            progress,
            Acted,
        )
        return found

    async def back(self, *, session: str = "", progress: Progress | None = None) -> Acted:
        """Go back to the page before, in the current page.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        progress: is told what happens meanwhile.
        """
        found: Acted = await self._call("live.back", {"session": session}, progress, Acted)
        return found

    async def forward(self, *, session: str = "", progress: Progress | None = None) -> Acted:
        """Go forward again, in the current page.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        progress: is told what happens meanwhile.
        """
        found: Acted = await self._call("live.forward", {"session": session}, progress, Acted)
        return found

    async def reload(self, *, session: str = "", progress: Progress | None = None) -> Acted:
        """Load the current page again.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        progress: is told what happens meanwhile.
        """
        found: Acted = await self._call("live.reload", {"session": session}, progress, Acted)
        return found

    async def click(
        self,
        ref: str,
        *,
        session: str = "",
        approve_class: int = 0,
        timeout: float = 0,
        element: str = "",
        double: bool = False,
        button: Literal["left", "right"] = "left",
        accept: Literal["", "alert", "beforeunload", "confirm", "prompt"] = "",
        reply: str = "",
        progress: Progress | None = None,
    ) -> Acted:
        """Click an element.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        approve_class: Approve risk classes up to N for this action (docs/risk.md).
        timeout: Seconds that the element and the page may take. [default: as configured]
        ref: The element, by its id, for example e17.
        element: Description of the element by the caller; stored in the audit trail.
        double: Click twice.
        button: The button of the mouse.
        accept: The click opens a dialog of this kind: accept it. Every other dialog is dismissed.
        reply: The text to enter in the accepted prompt.
        progress: is told what happens meanwhile.
        """
        found: Acted = await self._call(
            "live.click",
            {
                "session": session,
                "approve_class": approve_class,
                "timeout": timeout,
                "ref": ref,
                "element": element,
                "double": double,
                "button": button,
                "accept": accept,
                "reply": reply,
            },
            progress,
            Acted,
        )
        return found

    async def hover(
        self,
        ref: str,
        *,
        session: str = "",
        approve_class: int = 0,
        timeout: float = 0,
        element: str = "",
        progress: Progress | None = None,
    ) -> Acted:
        """Move the pointer over an element.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        approve_class: Approve risk classes up to N for this action (docs/risk.md).
        timeout: Seconds that the element and the page may take. [default: as configured]
        ref: The element, by its id, for example e17.
        element: Description of the element by the caller; stored in the audit trail.
        progress: is told what happens meanwhile.
        """
        found: Acted = await self._call(
            "live.hover",
            {"session": session, "approve_class": approve_class, "timeout": timeout, "ref": ref, "element": element},
            progress,
            Acted,
        )
        return found

    async def type(
        self,
        ref: str,
        text: str | None = None,
        *,
        session: str = "",
        approve_class: int = 0,
        timeout: float = 0,
        element: str = "",
        secret: str = "",
        submit: bool = False,
        progress: Progress | None = None,
    ) -> Acted:
        """Replace the content of a text field. A password field takes a secret by its name, never a text.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        approve_class: Approve risk classes up to N for this action (docs/risk.md).
        timeout: Seconds that the element and the page may take. [default: as configured]
        ref: The element, by its id, for example e17.
        element: Description of the element by the caller; stored in the audit trail.
        text: The new content of the field; an empty text clears it.
        secret: Type the secret of this name instead of a text.
        submit: Press Enter in the field afterwards.
        progress: is told what happens meanwhile.
        """
        found: Acted = await self._call(
            "live.type",
            {
                "session": session,
                "approve_class": approve_class,
                "timeout": timeout,
                "ref": ref,
                "element": element,
                "text": text,
                "secret": secret,
                "submit": submit,
            },
            progress,
            Acted,
        )
        return found

    async def fill(
        self,
        fields: Mapping[str, str],
        *,
        session: str = "",
        approve_class: int = 0,
        timeout: float = 0,
        secret: Mapping[str, str] = NOTHING,
        submit: bool = False,
        progress: Progress | None = None,
    ) -> Acted:
        """Fill several fields of a form: texts, lists and boxes. It ends with the first field that cannot be
        filled.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        approve_class: Approve risk classes up to N for this action (docs/risk.md).
        timeout: Seconds that the element and the page may take. [default: as configured]
        fields: Fields by id, each with its new content: a text, the option to choose, or on and off for a box.
        secret: Fields by id, each with the name of the secret to type. Repeat for more.
        submit: Press Enter in the last field afterwards.
        progress: is told what happens meanwhile.
        """
        found: Acted = await self._call(
            "live.fill",
            {
                "session": session,
                "approve_class": approve_class,
                "timeout": timeout,
                "fields": fields,
                "secret": secret,
                "submit": submit,
            },
            progress,
            Acted,
        )
        return found

    async def select(
        self,
        ref: str,
        values: Sequence[str],
        *,
        session: str = "",
        approve_class: int = 0,
        timeout: float = 0,
        element: str = "",
        progress: Progress | None = None,
    ) -> Acted:
        """Choose options of a list.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        approve_class: Approve risk classes up to N for this action (docs/risk.md).
        timeout: Seconds that the element and the page may take. [default: as configured]
        ref: The element, by its id, for example e17.
        element: Description of the element by the caller; stored in the audit trail.
        values: The options to choose, each by its label or its value.
        progress: is told what happens meanwhile.
        """
        found: Acted = await self._call(
            "live.select",
            {
                "session": session,
                "approve_class": approve_class,
                "timeout": timeout,
                "ref": ref,
                "element": element,
                "values": values,
            },
            progress,
            Acted,
        )
        return found

    async def check(
        self,
        ref: str,
        *,
        session: str = "",
        approve_class: int = 0,
        timeout: float = 0,
        element: str = "",
        off: bool = False,
        progress: Progress | None = None,
    ) -> Acted:
        """Mark a check box, switch or radio button.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        approve_class: Approve risk classes up to N for this action (docs/risk.md).
        timeout: Seconds that the element and the page may take. [default: as configured]
        ref: The element, by its id, for example e17.
        element: Description of the element by the caller; stored in the audit trail.
        off: Take the mark out instead.
        progress: is told what happens meanwhile.
        """
        found: Acted = await self._call(
            "live.check",
            {
                "session": session,
                "approve_class": approve_class,
                "timeout": timeout,
                "ref": ref,
                "element": element,
                "off": off,
            },
            progress,
            Acted,
        )
        return found

    async def drag(
        self,
        ref: str,
        onto: str,
        *,
        session: str = "",
        approve_class: int = 0,
        timeout: float = 0,
        element: str = "",
        progress: Progress | None = None,
    ) -> Acted:
        """Drag an element onto another one.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        approve_class: Approve risk classes up to N for this action (docs/risk.md).
        timeout: Seconds that the element and the page may take. [default: as configured]
        ref: The element, by its id, for example e17.
        element: Description of the element by the caller; stored in the audit trail.
        onto: The element on which it is dropped, by its id.
        progress: is told what happens meanwhile.
        """
        found: Acted = await self._call(
            "live.drag",
            {
                "session": session,
                "approve_class": approve_class,
                "timeout": timeout,
                "ref": ref,
                "element": element,
                "onto": onto,
            },
            progress,
            Acted,
        )
        return found

    async def upload(
        self,
        ref: str,
        files: Sequence[str],
        *,
        session: str = "",
        approve_class: int = 0,
        timeout: float = 0,
        element: str = "",
        progress: Progress | None = None,
    ) -> Acted:
        """Give files to a file field, or to the button that asks for them.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        approve_class: Approve risk classes up to N for this action (docs/risk.md).
        timeout: Seconds that the element and the page may take. [default: as configured]
        ref: The element, by its id, for example e17.
        element: Description of the element by the caller; stored in the audit trail.
        files: Names of files inside the folders of `browser.upload_folders`; as a command also files of yours,
        which it hands over.
        progress: is told what happens meanwhile.
        """
        found: Acted = await self._call(
            "live.upload",
            {
                "session": session,
                "approve_class": approve_class,
                "timeout": timeout,
                "ref": ref,
                "element": element,
                "files": files,
            },
            progress,
            Acted,
        )
        return found

    async def press(
        self,
        key: str,
        *,
        session: str = "",
        approve_class: int = 0,
        timeout: float = 0,
        ref: str = "",
        progress: Progress | None = None,
    ) -> Acted:
        """Press a key.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        approve_class: Approve risk classes up to N for this action (docs/risk.md).
        timeout: Seconds that the element and the page may take. [default: as configured]
        key: Enter, Escape, Control+A …; sent to the element that has the focus.
        ref: Send it to this element instead.
        progress: is told what happens meanwhile.
        """
        found: Acted = await self._call(
            "live.press",
            {"session": session, "approve_class": approve_class, "timeout": timeout, "key": key, "ref": ref},
            progress,
            Acted,
        )
        return found

    async def scroll(
        self, to: str = "down", *, session: str = "", amount: int = 600, progress: Progress | None = None
    ) -> Acted:
        """Scroll the page, or an element into view.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        to: up, down, or the element to bring into view, by its id.
        amount: By how many pixels up or down.
        progress: is told what happens meanwhile.
        """
        found: Acted = await self._call(
            "live.scroll", {"session": session, "to": to, "amount": amount}, progress, Acted
        )
        return found

    async def wait(
        self,
        *,
        session: str = "",
        text: str = "",
        ref: str = "",
        gone: bool = False,
        address: str = "",
        time: float = 5.0,
        progress: Progress | None = None,
    ) -> Acted:
        """Wait for a text, an element or an address, or until the page stops changing.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        text: Wait until this text is visible. [default: wait until the page stops changing]
        ref: Wait until this element is visible.
        gone: Wait until it is not visible any more.
        address: Wait until the address contains this text.
        time: At most this many seconds.
        progress: is told what happens meanwhile.
        """
        found: Acted = await self._call(
            "live.wait",
            {"session": session, "text": text, "ref": ref, "gone": gone, "address": address, "time": time},
            progress,
            Acted,
        )
        return found

    async def extract(
        self,
        name: str,
        *,
        session: str = "",
        ref: str = "",
        kind: Literal["ago", "date", "money", "number", "pattern", "text"] = "text",
        progress: Progress | None = None,
    ) -> Acted:
        """Read a value into the recording under a name.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        name: Name of the value in the recording.
        ref: Read this element. [default: the whole page]
        kind: The type of value to read from the text.
        progress: is told what happens meanwhile.
        """
        found: Acted = await self._call(
            "live.extract", {"session": session, "name": name, "ref": ref, "kind": kind}, progress, Acted
        )
        return found

    async def emulate(
        self,
        *,
        session: str = "",
        approve_class: int = 0,
        timeout: float = 0,
        width: int = 0,
        height: int = 0,
        color_scheme: Literal["", "dark", "light"] = "",
        reduced_motion: Literal["", "no", "yes"] = "",
        offline: Literal["", "no", "yes"] = "",
        location: str = "",
        progress: Progress | None = None,
    ) -> Acted:
        """Change what pages are told of their browser: screen, preferences, network, place.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        approve_class: Approve risk classes up to N for this action (docs/risk.md).
        timeout: Seconds that the element and the page may take. [default: as configured]
        width: Width of the viewport.
        height: Height of the viewport.
        color_scheme: The preferred colours.
        reduced_motion: Ask pages to leave out animations.
        offline: Cut all pages of the live session off from the network.
        location: Latitude and longitude in degrees. The site of the page is then allowed to ask for it.
        progress: is told what happens meanwhile.
        """
        found: Acted = await self._call(
            "live.emulate",
            {
                "session": session,
                "approve_class": approve_class,
                "timeout": timeout,
                "width": width,
                "height": height,
                "color_scheme": color_scheme,
                "reduced_motion": reduced_motion,
                "offline": offline,
                "location": location,
            },
            progress,
            Acted,
        )
        return found

    async def evaluate(
        self,
        script: str,
        *,
        session: str = "",
        approve_class: int = 0,
        timeout: float = 0,
        ref: str = "",
        progress: Progress | None = None,
    ) -> Acted:
        """Run a script on the current page, apart from the page's own scripts, and show its value as JSON.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        approve_class: Approve risk classes up to N for this action (docs/risk.md).
        timeout: Seconds that the element and the page may take. [default: as configured]
        script: JavaScript: an expression, a function that gets the element, or statements with `return`.
        ref: The element that the script gets.
        progress: is told what happens meanwhile.
        """
        found: Acted = await self._call(
            "live.evaluate",
            {"session": session, "approve_class": approve_class, "timeout": timeout, "script": script, "ref": ref},
            progress,
            Acted,
        )
        return found

    async def assert_(
        self,
        what: Literal[
            "address", "checked", "disabled", "enabled", "hidden", "text", "title", "unchecked", "value", "visible"
        ],
        expected: str = "",
        *,
        session: str = "",
        ref: str = "",
        whole: bool = False,
        progress: Progress | None = None,
    ) -> Acted:
        """Check the page or an element. A replay of the recording checks it again.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        what: What to check.
        expected: The expected text, for text, title, address and value.
        ref: Check this element. [default: the page]
        whole: The whole text must be equal. [default: a part of it]
        progress: is told what happens meanwhile.
        """
        found: Acted = await self._call(
            "live.assert",
            {"session": session, "what": what, "expected": expected, "ref": ref, "whole": whole},
            progress,
            Acted,
        )
        return found

    async def screenshot(self, *, session: str = "", out: str = "", progress: Progress | None = None) -> Pictured:
        """Take a screenshot of the current page.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        out: Write the PNG to this file. The command does so with the rights of its caller; without --out it
        writes a new file in the current directory.
        progress: is told what happens meanwhile.
        """
        found: Pictured = await self._call("live.screenshot", {"session": session, "out": out}, progress, Pictured)
        return found

    async def pages(
        self,
        *,
        session: str = "",
        action: Literal["close", "list", "new", "select"] = "list",
        index: int | None = None,
        url: str = "",
        progress: Progress | None = None,
    ) -> PageList:
        """List the pages, open a new one, close one, or make one the current page.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        action: What to do with the pages.
        index: Index of the page, from 0. [default for close: the current page]
        url: Address that a new page opens.
        progress: is told what happens meanwhile.
        """
        found: PageList = await self._call(
            "live.pages", {"session": session, "action": action, "index": index, "url": url}, progress, PageList
        )
        return found

    async def close(self, *, session: str = "", progress: Progress | None = None) -> LiveClosed:
        """Close a live session: sign its recordings and close its pages.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        progress: is told what happens meanwhile.
        """
        found: LiveClosed = await self._call("live.close", {"session": session}, progress, LiveClosed)
        return found

    async def list(self, *, all: bool = False, limit: int = 50, progress: Progress | None = None) -> LiveList:
        """List live sessions, newest first: the caller's own, or all for the owner of the node.

        all: Include live sessions that have ended.
        limit: At most this many.
        progress: is told what happens meanwhile.
        """
        found: LiveList = await self._call("live.list", {"all": all, "limit": limit}, progress, LiveList)
        return found

    async def show(self, session: str, *, progress: Progress | None = None) -> LiveShown:
        """Show a live session: limits, pages, recorded sessions, and the reason why it ended.

        session: Id of the live session.
        progress: is told what happens meanwhile.
        """
        found: LiveShown = await self._call("live.show", {"session": session}, progress, LiveShown)
        return found


class BlockingLiveVerbs(BlockingCalls):
    """The verbs ``live.*``, each of which waits until it is done."""

    def open(
        self,
        url: str,
        *,
        title: str = "",
        profile: Mapping[str, Any] = NOTHING,
        ttl: int = 1200,
        idle: int = 600,
        actions: int = 200,
        pages: int = 4,
        secrets: Mapping[str, GivenSecret | Mapping[str, Any]] = NOTHING,
        allow: Sequence[str] = (),
        approve_class: int = 0,
        capsule: str = "",
        proxy: str = "",
        hold: int = 20,
        progress: Progress | None = None,
    ) -> Opened:
        """Open a live browser session and show the page at URL.

        url: Start address.
        title: Title of the recording. [default: the address]
        profile: width_px, height_px, locale, timezone, reduced_motion, color_scheme or mobile of the browser.
        Repeat for more.
        ttl: Seconds until the live session ends.
        idle: Seconds without a call until the live session ends.
        actions: Number of actions until the live session ends.
        pages: Number of pages that may be open at a time.
        secrets: A secret that actions may name, for the password fields of a site, and its source
        (docs/secrets.md). Repeat for more.
        allow: A request other than GET that may be sent, for example 'POST https://shop.example/login'.
        approve_class: Approve risk classes up to N for the whole live session (docs/risk.md).
        capsule: Begin with the login of this capsule. Only its origins are contacted then (docs/capsules.md).
        proxy: Contact all sites through this proxy of `browser.proxies`, in a browser of its own.
        hold: Seconds that a request which changes something waits for the owner's yes; 0 refuses it at once
        (docs/approvals.md). At a terminal the default is 60.
        progress: is told what happens meanwhile.
        """
        found: Opened = self._call(
            "live.open",
            {
                "url": url,
                "title": title,
                "profile": profile,
                "ttl": ttl,
                "idle": idle,
                "actions": actions,
                "pages": pages,
                "secrets": secrets,
                "allow": allow,
                "approve_class": approve_class,
                "capsule": capsule,
                "proxy": proxy,
                "hold": hold,
            },
            progress,
            Opened,
        )
        return found

    def table(self, *, session: str = "", part: int = 1, progress: Progress | None = None) -> Observed:
        """Show what can be done on the current page: one line for each control.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        part: Which part to show, of a page with more lines than one part holds.
        progress: is told what happens meanwhile.
        """
        found: Observed = self._call("live.table", {"session": session, "part": part}, progress, Observed)
        return found

    def find(self, text: str, *, session: str = "", part: int = 1, progress: Progress | None = None) -> Observed:
        """Show the lines of the current page that contain TEXT, or the elements of a role.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        text: A text of the page, in any case of letters, or a role such as button.
        part: Which part to show, of a page with more lines than one part holds.
        progress: is told what happens meanwhile.
        """
        found: Observed = self._call("live.find", {"session": session, "text": text, "part": part}, progress, Observed)
        return found

    def choose(self, goal: str, *, session: str = "", progress: Progress | None = None) -> Chosen:
        """Name the element of the current page that leads to GOAL, by the rule of searches, and say why.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        goal: The goal as a sentence, as for a search: 'the cheapest blue mug'.
        progress: is told what happens meanwhile.
        """
        found: Chosen = self._call("live.choose", {"session": session, "goal": goal}, progress, Chosen)
        return found

    def snapshot(
        self,
        *,
        session: str = "",
        part: int = 1,
        delta: bool = False,
        focus: str = "",
        interactive: bool = False,
        progress: Progress | None = None,
    ) -> Observed:
        """Show the whole current page as lines, or what has changed, or the content of one element.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        part: Which part to show, of a page with more lines than one part holds.
        delta: Show only what has changed since the page was shown last.
        focus: Show only this element and its content.
        interactive: Show only what can be acted on, as `live table` does.
        progress: is told what happens meanwhile.
        """
        found: Observed = self._call(
            "live.snapshot",
            {"session": session, "part": part, "delta": delta, "focus": focus, "interactive": interactive},
            progress,
            Observed,
        )
        return found

    def act(self, action: str, *, session: str = "", approve_class: int = 0, progress: Progress | None = None) -> Acted:
        """Perform one or several actions on the current page and show what has changed.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        approve_class: Approve risk classes up to N for this action (docs/risk.md).
        action: One step as in an action file, or a list of them, with elements given by id or locator: 'click:
        {ref: e17}'.
        progress: is told what happens meanwhile.
        """
        found: Acted = self._call(
            "live.act", {"session": session, "approve_class": approve_class, "action": action}, progress, Acted
        )
        return found

    def navigate(
        self,
        url: str,
        *,
        session: str = "",
        approve_class: int = 0,
        timeout: float = 0,
        progress: Progress | None = None,
    ) -> Acted:
        """Open an address in the current page.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        approve_class: Approve risk classes up to N for this action (docs/risk.md).
        timeout: Seconds that the element and the page may take. [default: as configured]
        url: The address to open.
        progress: is told what happens meanwhile.
        """
        found: Acted = self._call(
            "live.navigate",
            {"session": session, "approve_class": approve_class, "timeout": timeout, "url": url},
            progress,
            Acted,
        )
        return found

    def back(self, *, session: str = "", progress: Progress | None = None) -> Acted:
        """Go back to the page before, in the current page.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        progress: is told what happens meanwhile.
        """
        found: Acted = self._call("live.back", {"session": session}, progress, Acted)
        return found

    def forward(self, *, session: str = "", progress: Progress | None = None) -> Acted:
        """Go forward again, in the current page.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        progress: is told what happens meanwhile.
        """
        found: Acted = self._call("live.forward", {"session": session}, progress, Acted)
        return found

    def reload(self, *, session: str = "", progress: Progress | None = None) -> Acted:
        """Load the current page again.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        progress: is told what happens meanwhile.
        """
        found: Acted = self._call("live.reload", {"session": session}, progress, Acted)
        return found

    def click(
        self,
        ref: str,
        *,
        session: str = "",
        approve_class: int = 0,
        timeout: float = 0,
        element: str = "",
        double: bool = False,
        button: Literal["left", "right"] = "left",
        accept: Literal["", "alert", "beforeunload", "confirm", "prompt"] = "",
        reply: str = "",
        progress: Progress | None = None,
    ) -> Acted:
        """Click an element.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        approve_class: Approve risk classes up to N for this action (docs/risk.md).
        timeout: Seconds that the element and the page may take. [default: as configured]
        ref: The element, by its id, for example e17.
        element: Description of the element by the caller; stored in the audit trail.
        double: Click twice.
        button: The button of the mouse.
        accept: The click opens a dialog of this kind: accept it. Every other dialog is dismissed.
        reply: The text to enter in the accepted prompt.
        progress: is told what happens meanwhile.
        """
        found: Acted = self._call(
            "live.click",
            {
                "session": session,
                "approve_class": approve_class,
                "timeout": timeout,
                "ref": ref,
                "element": element,
                "double": double,
                "button": button,
                "accept": accept,
                "reply": reply,
            },
            progress,
            Acted,
        )
        return found

    def hover(
        self,
        ref: str,
        *,
        session: str = "",
        approve_class: int = 0,
        timeout: float = 0,
        element: str = "",
        progress: Progress | None = None,
    ) -> Acted:
        """Move the pointer over an element.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        approve_class: Approve risk classes up to N for this action (docs/risk.md).
        timeout: Seconds that the element and the page may take. [default: as configured]
        ref: The element, by its id, for example e17.
        element: Description of the element by the caller; stored in the audit trail.
        progress: is told what happens meanwhile.
        """
        found: Acted = self._call(
            "live.hover",
            {"session": session, "approve_class": approve_class, "timeout": timeout, "ref": ref, "element": element},
            progress,
            Acted,
        )
        return found

    def type(
        self,
        ref: str,
        text: str | None = None,
        *,
        session: str = "",
        approve_class: int = 0,
        timeout: float = 0,
        element: str = "",
        secret: str = "",
        submit: bool = False,
        progress: Progress | None = None,
    ) -> Acted:
        """Replace the content of a text field. A password field takes a secret by its name, never a text.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        approve_class: Approve risk classes up to N for this action (docs/risk.md).
        timeout: Seconds that the element and the page may take. [default: as configured]
        ref: The element, by its id, for example e17.
        element: Description of the element by the caller; stored in the audit trail.
        text: The new content of the field; an empty text clears it.
        secret: Type the secret of this name instead of a text.
        submit: Press Enter in the field afterwards.
        progress: is told what happens meanwhile.
        """
        found: Acted = self._call(
            "live.type",
            {
                "session": session,
                "approve_class": approve_class,
                "timeout": timeout,
                "ref": ref,
                "element": element,
                "text": text,
                "secret": secret,
                "submit": submit,
            },
            progress,
            Acted,
        )
        return found

    def fill(
        self,
        fields: Mapping[str, str],
        *,
        session: str = "",
        approve_class: int = 0,
        timeout: float = 0,
        secret: Mapping[str, str] = NOTHING,
        submit: bool = False,
        progress: Progress | None = None,
    ) -> Acted:
        """Fill several fields of a form: texts, lists and boxes. It ends with the first field that cannot be
        filled.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        approve_class: Approve risk classes up to N for this action (docs/risk.md).
        timeout: Seconds that the element and the page may take. [default: as configured]
        fields: Fields by id, each with its new content: a text, the option to choose, or on and off for a box.
        secret: Fields by id, each with the name of the secret to type. Repeat for more.
        submit: Press Enter in the last field afterwards.
        progress: is told what happens meanwhile.
        """
        found: Acted = self._call(
            "live.fill",
            {
                "session": session,
                "approve_class": approve_class,
                "timeout": timeout,
                "fields": fields,
                "secret": secret,
                "submit": submit,
            },
            progress,
            Acted,
        )
        return found

    def select(
        self,
        ref: str,
        values: Sequence[str],
        *,
        session: str = "",
        approve_class: int = 0,
        timeout: float = 0,
        element: str = "",
        progress: Progress | None = None,
    ) -> Acted:
        """Choose options of a list.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        approve_class: Approve risk classes up to N for this action (docs/risk.md).
        timeout: Seconds that the element and the page may take. [default: as configured]
        ref: The element, by its id, for example e17.
        element: Description of the element by the caller; stored in the audit trail.
        values: The options to choose, each by its label or its value.
        progress: is told what happens meanwhile.
        """
        found: Acted = self._call(
            "live.select",
            {
                "session": session,
                "approve_class": approve_class,
                "timeout": timeout,
                "ref": ref,
                "element": element,
                "values": values,
            },
            progress,
            Acted,
        )
        return found

    def check(
        self,
        ref: str,
        *,
        session: str = "",
        approve_class: int = 0,
        timeout: float = 0,
        element: str = "",
        off: bool = False,
        progress: Progress | None = None,
    ) -> Acted:
        """Mark a check box, switch or radio button.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        approve_class: Approve risk classes up to N for this action (docs/risk.md).
        timeout: Seconds that the element and the page may take. [default: as configured]
        ref: The element, by its id, for example e17.
        element: Description of the element by the caller; stored in the audit trail.
        off: Take the mark out instead.
        progress: is told what happens meanwhile.
        """
        found: Acted = self._call(
            "live.check",
            {
                "session": session,
                "approve_class": approve_class,
                "timeout": timeout,
                "ref": ref,
                "element": element,
                "off": off,
            },
            progress,
            Acted,
        )
        return found

    def drag(
        self,
        ref: str,
        onto: str,
        *,
        session: str = "",
        approve_class: int = 0,
        timeout: float = 0,
        element: str = "",
        progress: Progress | None = None,
    ) -> Acted:
        """Drag an element onto another one.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        approve_class: Approve risk classes up to N for this action (docs/risk.md).
        timeout: Seconds that the element and the page may take. [default: as configured]
        ref: The element, by its id, for example e17.
        element: Description of the element by the caller; stored in the audit trail.
        onto: The element on which it is dropped, by its id.
        progress: is told what happens meanwhile.
        """
        found: Acted = self._call(
            "live.drag",
            {
                "session": session,
                "approve_class": approve_class,
                "timeout": timeout,
                "ref": ref,
                "element": element,
                "onto": onto,
            },
            progress,
            Acted,
        )
        return found

    def upload(
        self,
        ref: str,
        files: Sequence[str],
        *,
        session: str = "",
        approve_class: int = 0,
        timeout: float = 0,
        element: str = "",
        progress: Progress | None = None,
    ) -> Acted:
        """Give files to a file field, or to the button that asks for them.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        approve_class: Approve risk classes up to N for this action (docs/risk.md).
        timeout: Seconds that the element and the page may take. [default: as configured]
        ref: The element, by its id, for example e17.
        element: Description of the element by the caller; stored in the audit trail.
        files: Names of files inside the folders of `browser.upload_folders`; as a command also files of yours,
        which it hands over.
        progress: is told what happens meanwhile.
        """
        found: Acted = self._call(
            "live.upload",
            {
                "session": session,
                "approve_class": approve_class,
                "timeout": timeout,
                "ref": ref,
                "element": element,
                "files": files,
            },
            progress,
            Acted,
        )
        return found

    def press(
        self,
        key: str,
        *,
        session: str = "",
        approve_class: int = 0,
        timeout: float = 0,
        ref: str = "",
        progress: Progress | None = None,
    ) -> Acted:
        """Press a key.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        approve_class: Approve risk classes up to N for this action (docs/risk.md).
        timeout: Seconds that the element and the page may take. [default: as configured]
        key: Enter, Escape, Control+A …; sent to the element that has the focus.
        ref: Send it to this element instead.
        progress: is told what happens meanwhile.
        """
        found: Acted = self._call(
            "live.press",
            {"session": session, "approve_class": approve_class, "timeout": timeout, "key": key, "ref": ref},
            progress,
            Acted,
        )
        return found

    def scroll(
        self, to: str = "down", *, session: str = "", amount: int = 600, progress: Progress | None = None
    ) -> Acted:
        """Scroll the page, or an element into view.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        to: up, down, or the element to bring into view, by its id.
        amount: By how many pixels up or down.
        progress: is told what happens meanwhile.
        """
        found: Acted = self._call("live.scroll", {"session": session, "to": to, "amount": amount}, progress, Acted)
        return found

    def wait(
        self,
        *,
        session: str = "",
        text: str = "",
        ref: str = "",
        gone: bool = False,
        address: str = "",
        time: float = 5.0,
        progress: Progress | None = None,
    ) -> Acted:
        """Wait for a text, an element or an address, or until the page stops changing.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        text: Wait until this text is visible. [default: wait until the page stops changing]
        ref: Wait until this element is visible.
        gone: Wait until it is not visible any more.
        address: Wait until the address contains this text.
        time: At most this many seconds.
        progress: is told what happens meanwhile.
        """
        found: Acted = self._call(
            "live.wait",
            {"session": session, "text": text, "ref": ref, "gone": gone, "address": address, "time": time},
            progress,
            Acted,
        )
        return found

    def extract(
        self,
        name: str,
        *,
        session: str = "",
        ref: str = "",
        kind: Literal["ago", "date", "money", "number", "pattern", "text"] = "text",
        progress: Progress | None = None,
    ) -> Acted:
        """Read a value into the recording under a name.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        name: Name of the value in the recording.
        ref: Read this element. [default: the whole page]
        kind: The type of value to read from the text.
        progress: is told what happens meanwhile.
        """
        found: Acted = self._call(
            "live.extract", {"session": session, "name": name, "ref": ref, "kind": kind}, progress, Acted
        )
        return found

    def emulate(
        self,
        *,
        session: str = "",
        approve_class: int = 0,
        timeout: float = 0,
        width: int = 0,
        height: int = 0,
        color_scheme: Literal["", "dark", "light"] = "",
        reduced_motion: Literal["", "no", "yes"] = "",
        offline: Literal["", "no", "yes"] = "",
        location: str = "",
        progress: Progress | None = None,
    ) -> Acted:
        """Change what pages are told of their browser: screen, preferences, network, place.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        approve_class: Approve risk classes up to N for this action (docs/risk.md).
        timeout: Seconds that the element and the page may take. [default: as configured]
        width: Width of the viewport.
        height: Height of the viewport.
        color_scheme: The preferred colours.
        reduced_motion: Ask pages to leave out animations.
        offline: Cut all pages of the live session off from the network.
        location: Latitude and longitude in degrees. The site of the page is then allowed to ask for it.
        progress: is told what happens meanwhile.
        """
        found: Acted = self._call(
            "live.emulate",
            {
                "session": session,
                "approve_class": approve_class,
                "timeout": timeout,
                "width": width,
                "height": height,
                "color_scheme": color_scheme,
                "reduced_motion": reduced_motion,
                "offline": offline,
                "location": location,
            },
            progress,
            Acted,
        )
        return found

    def evaluate(
        self,
        script: str,
        *,
        session: str = "",
        approve_class: int = 0,
        timeout: float = 0,
        ref: str = "",
        progress: Progress | None = None,
    ) -> Acted:
        """Run a script on the current page, apart from the page's own scripts, and show its value as JSON.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        approve_class: Approve risk classes up to N for this action (docs/risk.md).
        timeout: Seconds that the element and the page may take. [default: as configured]
        script: JavaScript: an expression, a function that gets the element, or statements with `return`.
        ref: The element that the script gets.
        progress: is told what happens meanwhile.
        """
        found: Acted = self._call(
            "live.evaluate",
            {"session": session, "approve_class": approve_class, "timeout": timeout, "script": script, "ref": ref},
            progress,
            Acted,
        )
        return found

    def assert_(
        self,
        what: Literal[
            "address", "checked", "disabled", "enabled", "hidden", "text", "title", "unchecked", "value", "visible"
        ],
        expected: str = "",
        *,
        session: str = "",
        ref: str = "",
        whole: bool = False,
        progress: Progress | None = None,
    ) -> Acted:
        """Check the page or an element. A replay of the recording checks it again.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        what: What to check.
        expected: The expected text, for text, title, address and value.
        ref: Check this element. [default: the page]
        whole: The whole text must be equal. [default: a part of it]
        progress: is told what happens meanwhile.
        """
        found: Acted = self._call(
            "live.assert",
            {"session": session, "what": what, "expected": expected, "ref": ref, "whole": whole},
            progress,
            Acted,
        )
        return found

    def screenshot(self, *, session: str = "", out: str = "", progress: Progress | None = None) -> Pictured:
        """Take a screenshot of the current page.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        out: Write the PNG to this file. The command does so with the rights of its caller; without --out it
        writes a new file in the current directory.
        progress: is told what happens meanwhile.
        """
        found: Pictured = self._call("live.screenshot", {"session": session, "out": out}, progress, Pictured)
        return found

    def pages(
        self,
        *,
        session: str = "",
        action: Literal["close", "list", "new", "select"] = "list",
        index: int | None = None,
        url: str = "",
        progress: Progress | None = None,
    ) -> PageList:
        """List the pages, open a new one, close one, or make one the current page.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        action: What to do with the pages.
        index: Index of the page, from 0. [default for close: the current page]
        url: Address that a new page opens.
        progress: is told what happens meanwhile.
        """
        found: PageList = self._call(
            "live.pages", {"session": session, "action": action, "index": index, "url": url}, progress, PageList
        )
        return found

    def close(self, *, session: str = "", progress: Progress | None = None) -> LiveClosed:
        """Close a live session: sign its recordings and close its pages.

        session: Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only
        one that is open]
        progress: is told what happens meanwhile.
        """
        found: LiveClosed = self._call("live.close", {"session": session}, progress, LiveClosed)
        return found

    def list(self, *, all: bool = False, limit: int = 50, progress: Progress | None = None) -> LiveList:
        """List live sessions, newest first: the caller's own, or all for the owner of the node.

        all: Include live sessions that have ended.
        limit: At most this many.
        progress: is told what happens meanwhile.
        """
        found: LiveList = self._call("live.list", {"all": all, "limit": limit}, progress, LiveList)
        return found

    def show(self, session: str, *, progress: Progress | None = None) -> LiveShown:
        """Show a live session: limits, pages, recorded sessions, and the reason why it ended.

        session: Id of the live session.
        progress: is told what happens meanwhile.
        """
        found: LiveShown = self._call("live.show", {"session": session}, progress, LiveShown)
        return found
