"""Makes the pages. A handler takes a request and its caller, and knows nothing of sockets and cookies."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final, Protocol

import msgspec

from node.base.statuses import http_status
from node.doors.page.exchange import Given, Wanted
from node.doors.page.html import asset, environment, parts_of
from node.doors.page.steps import blob, picture_type, step_view
from node.doors.page.views import VIEWS, View
from node.explorer import BOX_HEIGHT, BOX_WIDTH, Picture
from node.verbs import Caller, Verb
from node.verbs.live import live
from node.verbs.nodes import approve, events, node
from node.verbs.sessions import session
from node.verbs.sessions.session_results import ShownSession
from protocol import limits
from protocol.errors import MeshError
from protocol.recording.records.session import Session, Step

Dispatch = Callable[[str, bytes, Callable[[dict[str, Any]], None], Caller], Awaitable[Any]]
"""``(verb, JSON body, tell, caller) -> result record``."""
_HOME_SESSIONS: Final = 6


class Sources(Protocol):
    """Everything that is shown and is no result of a verb: pictures, texts of pages, the tree of a search."""

    async def steps(self, session_id: str) -> list[Step]:
        """The steps of a session; empty if there is no such session."""

    async def blob(self, digest: bytes) -> bytes:
        """Errors: ``blob.missing``."""

    async def tree(self, search_id: str) -> Picture:
        """Errors: ``input.not_found``."""


class Cover(msgspec.Struct, frozen=True, kw_only=True):
    """The last page of a recorded session."""

    session: str
    title: str = ""
    url: str = ""
    picture: str = ""
    """The address of its picture; empty if it has none."""


class Pages:
    """Answers requests for pages."""

    def __init__(self, name: str, dispatch: Dispatch, sources: Sources) -> None:
        """name: that of the node."""
        self._name, self._dispatch, self._sources = name, dispatch, sources

    async def answer(self, wanted: Wanted, caller: Caller) -> Given:
        """The answer to one request. An error becomes a page that says it, with its remedy."""
        asking = _Asking(self._name, self._dispatch, self._sources, wanted, caller)
        try:
            return await asking.answer()
        except MeshError as error:
            shown = error.shown
            values = {"code": shown.code, "message": shown.message, "remedy": shown.remedy}
            return asking.page("error.html.j2", "Not shown", http_status(shown.code), **values)


class _Asking:
    """One request."""

    def __init__(self, name: str, dispatch: Dispatch, sources: Sources, wanted: Wanted, caller: Caller) -> None:
        self._name, self._dispatch, self._sources = name, dispatch, sources
        self._wanted, self._caller = wanted, caller
        self._since = 0
        self._asked: tuple[approve.Asked, ...] = ()
        """The questions that are open."""

    async def answer(self) -> Given:
        """The page. Errors: ``input.not_found``, those of the verbs."""
        match self._wanted.path:
            case ("changes",):
                return await self._changes()
            case ("sessions", session_id, "steps", number, "picture"):
                return await self._picture(session_id, number)
            case _:
                return await self._framed()

    async def _framed(self) -> Given:
        # Before anything is read: a change meanwhile is then told once more, not missed.
        self._since = (await self._ask(events.LIST, limit=1)).last
        self._asked = tuple(one for one in (await self._ask(approve.LIST)).questions if one.state == "open")
        match self._wanted.path:
            case ():
                return await self._home()
            case (path,) if path in VIEWS:
                return await self._listed(VIEWS[path])
            case (path, one) if path in VIEWS and VIEWS[path].about is not None:
                return await self._one(VIEWS[path], one)
            case _:
                return self.page("error.html.j2", "Not here", 404, code="", message="There is no such page.", remedy="")

    def page(self, template: str, title: str, status: int = 200, **values: Any) -> Given:
        """A page with its frame."""
        text = (
            environment()
            .get_template(template)
            .render(
                root=self._wanted.root,
                node=self._name,
                views=VIEWS.values(),
                here=self._wanted.path[0] if self._wanted.path else "",
                title=title,
                since=self._since,
                waiting=len(self._asked),
                **values,
            )
        )
        return Given(body=text.encode(), status=status)

    async def _ask(self, verb: Verb, **given: Any) -> Any:
        return await self._dispatch(verb.name, msgspec.json.encode(given), lambda event: None, self._caller)

    # --- pages -------------------------------------------------------------------------------------------------------

    async def _home(self) -> Given:
        running = [one for one in (await self._ask(live.LIST, all=False)).sessions if not one.reason]
        newest = (await self._ask(session.LIST, limit=_HOME_SESSIONS)).sessions
        status = await self._ask(node.STATUS)
        return self.page(
            "home.html.j2",
            self._name,
            questions=await self._questions(),
            running=[(one, await self._covers(one.sessions)) for one in running],
            sessions=await self._covered(newest),
            facts=parts_of(node.STATUS, status),
        )

    async def _listed(self, view: View) -> Given:
        result = await self._ask(view.verb, **view.given)
        more: dict[str, Any] = {}
        match view.path:
            case "sessions":
                more = {"sessions": await self._covered(result.sessions)}
            case "live":
                open_now = [one for one in result.sessions if not one.reason]
                more = {"running": [(one, await self._covers(one.sessions)) for one in open_now]}
                result = msgspec.structs.replace(result, sessions=[one for one in result.sessions if one.reason])
            case "questions":
                more = {"questions": await self._questions()}
                answered = tuple(one for one in result.questions if one.state != "open")
                result = msgspec.structs.replace(result, questions=answered)
            case "audit":
                result = msgspec.structs.replace(result, rows=tuple(reversed(result.rows)))
        return self.page(view.template, view.title, view=view, parts=parts_of(view.verb, result), **more)

    async def _one(self, view: View, named: str) -> Given:
        assert view.about is not None
        result = await self._ask(view.about, **{view.named: named})
        more: dict[str, Any] = {}
        template = view.one
        match view.path:
            case "sessions" if isinstance(result, ShownSession):
                return await self._session(view, result)
            case "sessions":
                template = "one.html.j2"
            case "questions":
                more = {"question": result, "picture": await self._pictured(result.session, result.step)}
            case "live":
                more = {"live": result.live, "covers": await self._covers(result.live.sessions)}
            case "searches":
                tree = await self._sources.tree(result.search)
                more = {"search": result, "picture": tree, "box_width": BOX_WIDTH, "box_height": BOX_HEIGHT}
        return self.page(template, named, view=view, parts=parts_of(view.about, result), **more)

    async def _session(self, view: View, shown: ShownSession) -> Given:
        number = self._number(shown)
        chosen = await step_view(shown, number, self._sources.blob) if shown.steps else None
        if shown.steps and chosen is None:
            raise MeshError("input.not_found", f"this session has no step {number}")
        numbers = [step.index for step in shown.steps]
        place = numbers.index(number) if chosen else 0
        # The player shows the steps; the facts below leave them out.
        rest = msgspec.structs.replace(shown, steps=(), described=())
        return self.page(
            view.one,
            shown.session.title or shown.session.id,
            view=view,
            shown=shown,
            steps=list(zip(shown.steps, shown.described, strict=True)),
            chosen=chosen,
            before=numbers[place - 1] if place > 0 else 0,
            after=numbers[place + 1] if place + 1 < len(numbers) else 0,
            parts=parts_of(session.SHOW, rest),
        )

    def _number(self, shown: ShownSession) -> int:
        """The step that is asked for; without one the first that failed, else the first."""
        asked = self._wanted.query.get("step", "")
        if asked.isdecimal() and len(asked) < 10:
            return int(asked)
        failed = (step.index for step in shown.steps if not step.ok)
        return next(failed, shown.steps[0].index if shown.steps else 0)

    # --- pictures and changes ----------------------------------------------------------------------------------------

    async def _changes(self) -> Given:
        """Waits for a change of the node; says the number of the last one."""
        since = self._wanted.query.get("since", "")
        wait = {"since": int(since), "wait_s": limits.PAGE_WAIT_S} if since.isdecimal() and len(since) < 16 else {}
        try:
            found = await self._ask(events.LIST, limit=1, **wait)
        except MeshError as error:
            if error.code != "feed.gap":
                raise
            found = await self._ask(events.LIST, limit=1)
        return Given(body=msgspec.json.encode({"last": found.last}), content_type="application/json")

    async def _picture(self, session_id: str, number: str) -> Given:
        steps = await self._sources.steps(session_id)
        step = next((step for step in steps if str(step.index) == number), None)
        data = await blob(step.screenshot, self._sources.blob) if step else None
        kind = picture_type(data)
        if data is None or not kind:
            raise MeshError("input.not_found", "this step has no picture")
        return Given(body=data, content_type=kind)

    async def _pictured(self, session_id: str, number: int) -> str:
        """The address of the picture of a step; empty if it has none."""
        steps = await self._sources.steps(session_id) if session_id else []
        found = any(step.index == number and step.screenshot for step in steps)
        return self._address(session_id, number) if found else ""

    async def _questions(self) -> list[tuple[approve.Asked, str]]:
        """The open questions, each with the address of its picture."""
        return [(one, await self._pictured(one.session, one.step)) for one in self._asked]

    async def _cover(self, session_id: str) -> Cover:
        steps = await self._sources.steps(session_id)
        last = next((step for step in reversed(steps) if step.screenshot), None)
        if last is None:
            return Cover(session=session_id, title=steps[-1].title if steps else "")
        return Cover(session=session_id, title=last.title, url=last.url, picture=self._address(session_id, last.index))

    async def _covers(self, sessions: Iterable[str]) -> list[Cover]:
        return [await self._cover(one) for one in sessions]

    async def _covered(self, sessions: Iterable[Session]) -> list[tuple[Session, Cover]]:
        return [(one, await self._cover(one.id)) for one in sessions]

    def _address(self, session_id: str, number: int) -> str:
        return f"{self._wanted.root}sessions/{session_id}/steps/{number}/picture"


def asset_of(name: str, types: Mapping[str, str]) -> Given | None:
    """A file that every page uses; None if there is none of this name."""
    return Given(body=asset(name), content_type=f"{types[name]}; charset=utf-8") if name in types else None
