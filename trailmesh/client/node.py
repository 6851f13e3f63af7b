"""A running node, as a Python program uses it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from trailmesh.calls import Verbs
from trailmesh.client.base import Connection, asked
from trailmesh.client.calling import NOTHING, Progress, Running
from trailmesh.client.page import Page
from trailmesh.records.approve import Asked, Stand
from trailmesh.records.capsule import KeptCapsule
from trailmesh.records.events import FeedChange
from trailmesh.records.explore import Summary
from trailmesh.records.session import ReplayedSession, SessionVerification
from trailmesh.records.task import TaskEvent

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
    """The running node of ``home``: ``async with trailmesh.connect() as node``. Without a block it is looked for with the first
    call.

    A program calls as an agent: the one of ``token_file``, else of ``TRAILMESH_TOKEN_FILE``, else the agent ``python``, which is
    made with the first connection. One account is no boundary: as_owner is for what an agent may not do.

    home: the data directory; by default ``TRAILMESH_HOME``, else that of the user. start: start a node in the background if none
    runs, and make one if there is none. socket: where an agent reaches the node, if not in ``home``. origins: the only sites that
    the agent may visit, which can be in a private network; without them, all public sites and those of this machine.
    """
    return Node(home, start=start, as_owner=as_owner, token_file=token_file, socket=socket, origins=origins)


class Node(Connection):
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

    async def __aenter__(self) -> Self:
        await self._open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

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
        """A page at ``url``: ``async with node.open(url) as page`` closes it at the end. Every parameter of ``live.open`` can be
        given. Without a block, as in a notebook, it opens with its first call (or ``await node.open(url)``), until ``close``.
        """
        asked: dict[str, Any] = {"url": url, "title": title, "profile": profile, "secrets": secrets, "allow": allow}
        held = {} if hold is None else {"hold": hold}
        return Page(self.verbs, asked={**asked, "capsule": capsule, **held, **limits})

    def page(self, session: str) -> Page:
        """The live session of this id, which is open already; ``async with`` closes it at the end."""
        return Page(self.verbs, session=session)

    async def replay(
        self, session: str, *, base_url: str = "", capsule: str = "", progress: Progress | None = None
    ) -> ReplayedSession:
        """Replay a recorded session, and compare. ``node.verbs.session.replay`` takes every parameter."""
        return await self.verbs.session.replay(session, base_url=base_url, capsule=capsule, progress=progress)

    async def verify(self, subject: str) -> SessionVerification:
        """Check the signature and every element of a session by its id, or of a bundle or report by its file. For the owner."""
        return await self.verbs.session.verify(subject)

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
    ) -> Running[Summary]:
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

    async def capsules(self) -> tuple[KeptCapsule, ...]:
        """The capsules of the node. For the owner."""
        return (await self.verbs.capsule.list()).capsules

    async def questions(self, *, all: bool = False) -> tuple[Asked, ...]:
        """The questions that wait for a person, newest first. For the owner."""
        return (await self.verbs.approve.list(all=all)).questions

    async def question(self, question: str, *, wait: int = 0) -> Stand:
        """How a question stands that this caller has caused. wait: so many seconds for its answer."""
        return await self.verbs.approve.state(question, wait=wait)

    async def follow_task(self, task: str, *, after: int = 0) -> AsyncIterator[TaskEvent]:
        """The events of a task after the one with this number, each as it happens, until the task has ended."""
        while True:
            found = await self.verbs.task.events(task, after=after, wait_s=_FOLLOW_S)
            for event in found.events:
                yield event
            after = found.last
            if found.over:
                return

    async def events(
        self, *, after: int | None = None, kind: str = "", follow: bool = True
    ) -> AsyncIterator[FeedChange]:
        """The changes on the node after the one with this number, or from now on; each as it happens, with ``follow``."""
        since = (await self.verbs.events.list(limit=1)).last if after is None else after
        while True:
            page = await self.verbs.events.list(since=since, kind=kind, wait_s=_FOLLOW_S if follow else 0)
            for change in page.changes:
                yield change
            if not follow and page.last == since:
                return
            since = page.last
