# Written by `make client` from node/verbs/; change the declarations instead.
"""The verbs ``task.*`` as methods (docs/verbs.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trailmesh.client.calling import NOTHING, BlockingCalls, Calls, Progress
from trailmesh.records.task import Task, TaskEvents, TaskList, TaskPicture, TaskShown


class TaskVerbs(Calls):
    """The verbs ``task.*``."""

    async def start(
        self,
        verb: str,
        params: Mapping[str, Any] = NOTHING,
        *,
        seconds: int = 0,
        pictures: int = 0,
        navigations: int = 0,
        with_secret: bool = False,
        progress: Progress | None = None,
    ) -> Task:
        """Begin a verb that takes long as a task, and return at once.

        verb: A verb that takes long, for example explore.run.
        params: Its parameters: KEY=VALUE for each, or all as one mapping in YAML, or @FILE with that.
        seconds: Time limit. [default: for an agent 5 minutes, else none]
        pictures: At most this many screenshots. [default: for an agent 50, else any number]
        navigations: Open at most this many addresses. [default: for an agent 20, else any number]
        with_secret: Start it although a secret stands in its texts. The task then keeps no parameters.
        progress: is told what happens meanwhile.
        """
        found: Task = await self._call(
            "task.start",
            {
                "verb": verb,
                "params": params,
                "seconds": seconds,
                "pictures": pictures,
                "navigations": navigations,
                "with_secret": with_secret,
            },
            progress,
            Task,
        )
        return found

    async def show(self, task: str, *, progress: Progress | None = None) -> TaskShown:
        """Show a task: its state, its last progress, and its result or error.

        task: Id of the task.
        progress: is told what happens meanwhile.
        """
        found: TaskShown = await self._call("task.show", {"task": task}, progress, TaskShown)
        return found

    async def list(self, *, open: bool = False, limit: int = 50, progress: Progress | None = None) -> TaskList:
        """List tasks, newest first: the caller's own, or all for the owner of the node.

        open: Only tasks that have not ended.
        limit: At most this many.
        progress: is told what happens meanwhile.
        """
        found: TaskList = await self._call("task.list", {"open": open, "limit": limit}, progress, TaskList)
        return found

    async def cancel(self, task: str, *, progress: Progress | None = None) -> Task:
        """Cancel a task, and wait until its work has ended and its browser is closed.

        task: Id of the task.
        progress: is told what happens meanwhile.
        """
        found: Task = await self._call("task.cancel", {"task": task}, progress, Task)
        return found

    async def more(
        self, task: str, *, seconds: int = 0, pictures: int = 0, navigations: int = 0, progress: Progress | None = None
    ) -> Task:
        """Let a task that waits or runs take longer, take more screenshots, or open more addresses.

        task: Id of the task.
        seconds: It may take so long in all.
        pictures: It may take so many screenshots in all.
        navigations: It may open so many addresses in all.
        progress: is told what happens meanwhile.
        """
        found: Task = await self._call(
            "task.more",
            {"task": task, "seconds": seconds, "pictures": pictures, "navigations": navigations},
            progress,
            Task,
        )
        return found

    async def resume(self, task: str, *, as_it_is: bool = False, progress: Progress | None = None) -> Task:
        """Let a task go on that waits for a person: a site has asked it to prove that one is there.

        task: Id of the task.
        as_it_is: Take the pages of this site as they are, and ask no more. [default: the page is tried again]
        progress: is told what happens meanwhile.
        """
        found: Task = await self._call("task.resume", {"task": task, "as_it_is": as_it_is}, progress, Task)
        return found

    async def picture(self, task: str, *, out: str = "", progress: Progress | None = None) -> TaskPicture:
        """Show the page before which a task waits for a person, without secrets and personal data.

        task: Id of the task.
        out: Write the PNG to this file. The command does so with the rights of its caller; without --out it
        writes a new file in the current directory.
        progress: is told what happens meanwhile.
        """
        found: TaskPicture = await self._call("task.picture", {"task": task, "out": out}, progress, TaskPicture)
        return found

    async def events(
        self, task: str, *, after: int = 0, wait_s: int = 0, progress: Progress | None = None
    ) -> TaskEvents:
        """List the events of a task: its states and its progress.

        task: Id of the task.
        after: Events after the one with this number; 0 for all.
        wait_s: If there is no event yet, wait up to this many seconds for one.
        progress: is told what happens meanwhile.
        """
        found: TaskEvents = await self._call(
            "task.events", {"task": task, "after": after, "wait_s": wait_s}, progress, TaskEvents
        )
        return found


class BlockingTaskVerbs(BlockingCalls):
    """The verbs ``task.*``, each of which waits until it is done."""

    def start(
        self,
        verb: str,
        params: Mapping[str, Any] = NOTHING,
        *,
        seconds: int = 0,
        pictures: int = 0,
        navigations: int = 0,
        with_secret: bool = False,
        progress: Progress | None = None,
    ) -> Task:
        """Begin a verb that takes long as a task, and return at once.

        verb: A verb that takes long, for example explore.run.
        params: Its parameters: KEY=VALUE for each, or all as one mapping in YAML, or @FILE with that.
        seconds: Time limit. [default: for an agent 5 minutes, else none]
        pictures: At most this many screenshots. [default: for an agent 50, else any number]
        navigations: Open at most this many addresses. [default: for an agent 20, else any number]
        with_secret: Start it although a secret stands in its texts. The task then keeps no parameters.
        progress: is told what happens meanwhile.
        """
        found: Task = self._call(
            "task.start",
            {
                "verb": verb,
                "params": params,
                "seconds": seconds,
                "pictures": pictures,
                "navigations": navigations,
                "with_secret": with_secret,
            },
            progress,
            Task,
        )
        return found

    def show(self, task: str, *, progress: Progress | None = None) -> TaskShown:
        """Show a task: its state, its last progress, and its result or error.

        task: Id of the task.
        progress: is told what happens meanwhile.
        """
        found: TaskShown = self._call("task.show", {"task": task}, progress, TaskShown)
        return found

    def list(self, *, open: bool = False, limit: int = 50, progress: Progress | None = None) -> TaskList:
        """List tasks, newest first: the caller's own, or all for the owner of the node.

        open: Only tasks that have not ended.
        limit: At most this many.
        progress: is told what happens meanwhile.
        """
        found: TaskList = self._call("task.list", {"open": open, "limit": limit}, progress, TaskList)
        return found

    def cancel(self, task: str, *, progress: Progress | None = None) -> Task:
        """Cancel a task, and wait until its work has ended and its browser is closed.

        task: Id of the task.
        progress: is told what happens meanwhile.
        """
        found: Task = self._call("task.cancel", {"task": task}, progress, Task)
        return found

    def more(
        self, task: str, *, seconds: int = 0, pictures: int = 0, navigations: int = 0, progress: Progress | None = None
    ) -> Task:
        """Let a task that waits or runs take longer, take more screenshots, or open more addresses.

        task: Id of the task.
        seconds: It may take so long in all.
        pictures: It may take so many screenshots in all.
        navigations: It may open so many addresses in all.
        progress: is told what happens meanwhile.
        """
        found: Task = self._call(
            "task.more",
            {"task": task, "seconds": seconds, "pictures": pictures, "navigations": navigations},
            progress,
            Task,
        )
        return found

    def resume(self, task: str, *, as_it_is: bool = False, progress: Progress | None = None) -> Task:
        """Let a task go on that waits for a person: a site has asked it to prove that one is there.

        task: Id of the task.
        as_it_is: Take the pages of this site as they are, and ask no more. [default: the page is tried again]
        progress: is told what happens meanwhile.
        """
        found: Task = self._call("task.resume", {"task": task, "as_it_is": as_it_is}, progress, Task)
        return found

    def picture(self, task: str, *, out: str = "", progress: Progress | None = None) -> TaskPicture:
        """Show the page before which a task waits for a person, without secrets and personal data.

        task: Id of the task.
        out: Write the PNG to this file. The command does so with the rights of its caller; without --out it
        writes a new file in the current directory.
        progress: is told what happens meanwhile.
        """
        found: TaskPicture = self._call("task.picture", {"task": task, "out": out}, progress, TaskPicture)
        return found

    def events(self, task: str, *, after: int = 0, wait_s: int = 0, progress: Progress | None = None) -> TaskEvents:
        """List the events of a task: its states and its progress.

        task: Id of the task.
        after: Events after the one with this number; 0 for all.
        wait_s: If there is no event yet, wait up to this many seconds for one.
        progress: is told what happens meanwhile.
        """
        found: TaskEvents = self._call(
            "task.events", {"task": task, "after": after, "wait_s": wait_s}, progress, TaskEvents
        )
        return found
