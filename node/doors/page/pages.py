"""Makes the pages. A handler takes a request and its caller, and knows nothing of sockets and cookies."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final, Protocol

import msgspec

from node.base.statuses import http_status
from node.doors.page.exchange import Given, Wanted
from node.doors.page.html import asset, environment, in_words, parts_of
from node.doors.page.steps import blob, picture_type, step_view
from node.doors.page.views import VIEWS, View
from node.explorer import BOX_HEIGHT, BOX_WIDTH, Picture
from node.verbs import Caller, Verb
from node.verbs.live import live
from node.verbs.nodes import approve, events, node, owner
from node.verbs.sessions import session
from node.verbs.sessions.session_results import SessionVerification, ShownSession
from node.verbs.tasks import task
from protocol import limits
from protocol.errors import MeshError
from protocol.recording.records.session import Session, Step
from protocol.recording.records.verdict import Verdict

Dispatch = Callable[[str, bytes, Callable[[dict[str, Any]], None], Caller], Awaitable[Any]]
"""``(verb, JSON body, tell, caller) -> result record``."""
Turned = dict[tuple[str, int], ShownSession]
"""The ended session that was shown last, by its id and the last change of the node: who turns its steps reads it once."""
_HOME_SESSIONS: Final = 8
_FOUND_CHARS_MAX: Final = 200
_HOME_QUESTIONS: Final = 20
"""How many open questions are shown with everything about them; the others follow when these are answered."""


class Sources(Protocol):
    """Everything that is shown and is no result of a verb: pictures, texts of pages, the tree of a search."""

    async def session(self, session_id: str) -> Session | None: ...

    async def step(self, session_id: str, number: int) -> Step | None: ...

    async def last_seen(self, session_id: str) -> Step | None:
        """The last step that has a picture; the last one if none has."""

    async def blob(self, digest: bytes) -> bytes:
        """Errors: ``blob.missing``."""

    async def verified(self, session_id: str) -> SessionVerification:
        """Checks the signature of a session, and everything that was signed. Errors: ``bundle.*``, ``envelope.*``."""

    async def asking(self, task_id: str, caller: Caller) -> bytes:
        """The picture of the page before which a task waits for a person; empty if there is none. Errors: ``input.not_found``."""

    async def tree(self, search_id: str) -> Picture:
        """Errors: ``input.not_found``."""


class Cover(msgspec.Struct, frozen=True, kw_only=True):
    """The last page of a recorded session."""

    session: str
    title: str = ""
    url: str = ""
    picture: str = ""
    """The address of its picture; empty if it has none."""
    at_ms: int = 0
    """When it was taken."""


class Pages:
    """Answers requests for pages."""

    def __init__(self, name: str, dispatch: Dispatch, sources: Sources) -> None:
        """name: that of the node."""
        self._name, self._dispatch, self._sources = name, dispatch, sources
        self._turned: Turned = {}

    async def answer(self, wanted: Wanted, caller: Caller) -> Given:
        """The answer to one request. An error becomes a page that says it, with its remedy."""
        asking = _Asking(self._name, self._dispatch, self._sources, self._turned, wanted, caller)
        try:
            return await asking.answer()
        except MeshError as error:
            shown = error.shown
            values = {"code": shown.code, "message": shown.message, "remedy": shown.remedy}
            return asking.page("error.html.j2", "Not shown", http_status(shown.code), **values)


class _Asking:
    """One request."""

    def __init__(
        self, name: str, dispatch: Dispatch, sources: Sources, turned: Turned, wanted: Wanted, caller: Caller
    ) -> None:
        self._name, self._dispatch, self._sources = name, dispatch, sources
        self._turned, self._wanted, self._caller = turned, wanted, caller
        self._since = 0
        self._moves = False
        """True if it shows work that goes on, of which the feed does not tell each step."""
        self._asked: tuple[approve.Asked, ...] = ()
        """The questions that are open."""
        self._tasks: tuple[task.Task, ...] = ()
        """The tasks that have not ended."""

    async def answer(self) -> Given:
        """The page. Errors: ``input.not_found``, those of the verbs."""
        match self._wanted.path:
            case ("changes",):
                return await self._changes()
            case ("sessions", session_id, "steps", number, "picture"):
                return await self._picture(session_id, number)
            case ("tasks", task_id, "picture"):
                return _seen(await self._sources.asking(task_id, self._caller))
            case _:
                return await self._framed()

    async def _framed(self) -> Given:
        # Before anything is read: a change meanwhile is then told once more, not missed.
        self._since = (await self._ask(events.LIST, limit=1)).last
        self._asked = tuple(one for one in (await self._ask(approve.LIST)).questions if one.state == "open")
        self._tasks = (await self._ask(task.LIST, open=True)).tasks
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
                moves=self._moves,
                waiting=len(self._asked),
                paused=[one for one in self._tasks if one.asks],
                **values,
            )
        )
        return Given(body=text.encode(), status=status)

    async def _ask(self, verb: Verb, **given: Any) -> Any:
        return await self._dispatch(verb.name, msgspec.json.encode(given), lambda event: None, self._caller)

    # --- pages -------------------------------------------------------------------------------------------------------

    async def _home(self) -> Given:
        newest = (await self._ask(session.LIST, limit=_HOME_SESSIONS)).sessions
        status = await self._ask(node.STATUS)
        self._moves = bool(self._tasks)
        return self.page(
            "home.html.j2",
            self._name,
            questions=await self._questions(),
            enrolled=await self._enrolled(),
            running=await self._running(),
            tasks=self._tasks,
            sessions=await self._covered(one for one in newest if one.verdict is not Verdict.OPEN),
            about=status,
            facts=parts_of(node.STATUS, status),
        )

    async def _running(self) -> list[tuple[live.LiveSummary, list[Cover]]]:
        """The open live sessions, each with its last pages."""
        found = [one for one in (await self._ask(live.LIST, all=False)).sessions if not one.reason]
        self._moves = self._moves or bool(found)
        return [(one, await self._covers(one.sessions)) for one in found]

    async def _enrolled(self) -> bool:
        """True if a key can sign answers."""
        return any(not one.revoked_ms for one in (await self._ask(owner.LIST)).owners)

    async def _listed(self, view: View) -> Given:
        page = self._asked_number("page") or 1
        most = page * view.size + 1
        limit = {"limit": min(most, view.rows_max)} if "limit" in view.verb.takes.__struct_fields__ else {}
        text = self._wanted.query.get("text", "")[:_FOUND_CHARS_MAX] if view.path == "sessions" else ""
        result = await self._ask(view.verb, **view.given, **limit, **({"text": text} if text else {}))
        rows = list(getattr(result, view.rows))
        if view.path == "audit":
            rows.reverse()
        later = page + 1 if len(rows) > page * view.size else 0
        rows = rows[(page - 1) * view.size : page * view.size]
        more: dict[str, Any] = {}
        match view.path:
            case "live":
                more = {"running": await self._running() if page == 1 else ()}
                rows = [one for one in rows if one.reason]
            case "questions":
                more = {"questions": await self._questions() if page == 1 else (), "enrolled": await self._enrolled()}
                rows = [one for one in rows if one.state != "open"]
            case "sessions":
                more = {"sessions": await self._covered(rows)}
        kind = type(getattr(result, view.rows))
        parts = parts_of(view.verb, msgspec.structs.replace(result, **{view.rows: kind(rows)}))
        turns: dict[str, Any] = {"page": page, "later": later, "rows": len(rows), "text": text}
        return self.page(view.template, view.title, view=view, parts=parts, **turns, **more)

    async def _one(self, view: View, named: str) -> Given:
        assert view.about is not None
        at = (named, self._since)
        kept: Any = self._turned.get(at) if view.path == "sessions" else None
        result = kept or await self._ask(view.about, **{view.named: named})
        if isinstance(result, ShownSession) and result.session.verdict is not Verdict.OPEN:
            self._turned.clear()
            self._turned[at] = result
        more: dict[str, Any] = {}
        template = view.one
        match view.path:
            case "sessions" if isinstance(result, ShownSession):
                return await self._session(view, result)
            case "sessions":
                template = "one.html.j2"
            case "questions":
                more = {
                    "question": result,
                    "picture": await self._pictured(result.session, result.step),
                    "enrolled": await self._enrolled(),
                }
            case "live":
                self._moves = not result.live.reason
                more = {"live": result.live, "covers": await self._covers(result.live.sessions)}
            case "searches":
                self._moves = result.status == "running"
                tree = await self._sources.tree(result.search)
                more = {"search": result, "picture": tree, "box_width": BOX_WIDTH, "box_height": BOX_HEIGHT}
            case "tasks":
                self._moves = not result.ended_ms
                told = await self._ask(task.EVENTS, task=named)
                newest = msgspec.structs.replace(told, events=tuple(map(_readable, reversed(told.events))))
                result = msgspec.structs.replace(result, progress=in_words(result.progress))
                more = {"task": result, "events": parts_of(task.EVENTS, newest)}
        return self.page(template, named, view=view, parts=parts_of(view.about, result), **more)

    async def _session(self, view: View, shown: ShownSession) -> Given:
        self._moves = shown.session.verdict is Verdict.OPEN
        number = self._asked_number("step") or _first_to_see(shown)
        chosen = await step_view(shown, number, self._sources.blob) if shown.steps else None
        if shown.steps and chosen is None:
            raise MeshError("input.not_found", f"this session has no step {number}")
        numbers = [step.index for step in shown.steps]
        place = numbers.index(number) if chosen else 0
        # The player shows the steps; the facts below leave them out.
        rest = msgspec.structs.replace(shown, steps=(), described=())
        return self.page(
            view.one,
            _title(shown),
            view=view,
            shown=shown,
            steps=list(zip(shown.steps, shown.described, strict=True)),
            chosen=chosen,
            checked=await self._checked(shown) if "check" in self._wanted.query else None,
            look_before=bool(chosen and chosen.before and self._wanted.query.get("look") == "before"),
            before=numbers[place - 1] if place > 0 else 0,
            after=numbers[place + 1] if place + 1 < len(numbers) else 0,
            parts=parts_of(session.SHOW, rest),
        )

    async def _checked(self, shown: ShownSession) -> SessionVerification | MeshError:
        """The result of checking a session now, or the error that says why it does not hold."""
        try:
            return await self._sources.verified(shown.session.id)
        except MeshError as error:
            return error.shown

    def _asked_number(self, name: str) -> int:
        """A number of the query; 0 without one."""
        asked = self._wanted.query.get(name, "")
        return int(asked) if asked.isdecimal() and len(asked) < 10 else 0

    # --- pictures and changes ----------------------------------------------------------------------------------------

    async def _changes(self) -> Given:
        """Waits for a change of the node; says the number of the last one."""
        since = self._wanted.query.get("since", "")
        waits = {"moves": limits.PAGE_MOVES_S, "now": 0}
        wait_s = waits.get(self._wanted.query.get("when", ""), limits.PAGE_WAIT_S)
        wait = {"since": int(since), "wait_s": wait_s} if since.isdecimal() and len(since) < 16 else {}
        try:
            found = await self._ask(events.LIST, limit=1, **wait)
        except MeshError as error:
            if error.code != "feed.gap":
                raise
            found = await self._ask(events.LIST, limit=1)
        return Given(body=msgspec.json.encode({"last": found.last}), content_type="application/json")

    async def _picture(self, session_id: str, number: str) -> Given:
        step = await self._sources.step(session_id, int(number)) if number.isdecimal() and len(number) < 10 else None
        return _seen(await blob(step.screenshot, self._sources.blob) if step else None)

    async def _pictured(self, session_id: str, number: int) -> str:
        """The address of the picture of the page before a step, else of the step; empty if neither has one."""
        for each in (number - 1, number):
            step = await self._sources.step(session_id, each) if session_id else None
            if step is not None and step.screenshot:
                return self._address(session_id, each)
        return ""

    async def _questions(self) -> list[tuple[approve.ShownQuestion, str]]:
        """The open questions, each with the address of its picture."""
        shown = [await self._ask(approve.SHOW, question=one.id) for one in self._asked[:_HOME_QUESTIONS]]
        return [(one, await self._pictured(one.session, one.step)) for one in shown]

    async def _covered(self, sessions: Iterable[Session]) -> list[tuple[Session, Cover]]:
        return [(one, await self._cover(one)) for one in sessions]

    async def _covers(self, sessions: Iterable[str]) -> list[Cover]:
        """The last pages of the recordings of a live session."""
        found = [await self._sources.session(one) for one in sessions]
        return [await self._cover(one) for one in found if one is not None]

    async def _cover(self, one: Session) -> Cover:
        step = await self._sources.last_seen(one.id)
        if step is None:
            return Cover(session=one.id)
        return Cover(
            session=one.id,
            title=step.title,
            url=step.url,
            picture=self._address(one.id, step.index) if step.screenshot else "",
            at_ms=one.created_ms + step.started_ms + step.duration_ms,
        )

    def _address(self, session_id: str, number: int) -> str:
        return f"{self._wanted.root}sessions/{session_id}/steps/{number}/picture"


def _title(shown: ShownSession) -> str:
    """The title of a session; of one that was given none, that of its last page."""
    given, ends = shown.session.title, shown.steps[-1].title if shown.steps else ""
    return given if given and given != shown.session.start_url else ends or given or shown.session.id


def _readable(event: task.TaskEvent) -> task.TaskEvent:
    return msgspec.structs.replace(event, said=in_words(event.said)) if event.kind == "progress" else event


def _first_to_see(shown: ShownSession) -> int:
    """The first step that failed, else the first; 0 without steps."""
    failed = (step.index for step in shown.steps if not step.ok)
    return next(failed, shown.steps[0].index if shown.steps else 0)


def _seen(data: bytes | None) -> Given:
    """A picture. Errors: ``input.not_found`` (it is none)."""
    kind = picture_type(data)
    if data is None or not kind:
        raise MeshError("input.not_found", "there is no picture of this")
    return Given(body=data, content_type=kind)


def asset_of(name: str, types: Mapping[str, str]) -> Given | None:
    """A file that every page uses; None if there is none of this name."""
    return Given(body=asset(name), content_type=f"{types[name]}; charset=utf-8") if name in types else None
