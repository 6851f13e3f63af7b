# Written by `make client` from node/verbs/; change the declarations instead.
"""The verbs ``approve.*`` as methods (docs/verbs.md)."""

from __future__ import annotations

from trailmesh.client.calling import BlockingCalls, Calls, Progress
from trailmesh.records.approve import AskedList, ShownQuestion, Stand


class ApproveVerbs(Calls):
    """The verbs ``approve.*``."""

    async def list(self, *, all: bool = False, progress: Progress | None = None) -> AskedList:
        """List the actions and requests that wait for an approval, newest first (docs/approvals.md).

        all: List answered questions too, and those whose time is over.
        progress: is told what happens meanwhile.
        """
        found: AskedList = await self._call("approve.list", {"all": all}, progress, AskedList)
        return found

    async def show(self, question: str, *, picture: str = "", progress: Progress | None = None) -> ShownQuestion:
        """Show a question: what would be done and sent, why it needs an approval, and who asked.

        question: Id of the question.
        picture: Write the picture of the page to this file, if one was stored.
        progress: is told what happens meanwhile.
        """
        found: ShownQuestion = await self._call(
            "approve.show", {"question": question, "picture": picture}, progress, ShownQuestion
        )
        return found

    async def answer(self, *, question: str, signed: str, progress: Progress | None = None) -> ShownQuestion:
        """Answer a question with a signed approval: `trailmesh approve yes` and `approve no` sign one and call
        this.

        question: Id of the question.
        signed: The signed approval: an envelope, in hexadecimal.
        progress: is told what happens meanwhile.
        """
        found: ShownQuestion = await self._call(
            "approve.answer", {"question": question, "signed": signed}, progress, ShownQuestion
        )
        return found

    async def state(self, question: str, *, wait: int = 0, progress: Progress | None = None) -> Stand:
        """Show the standing of a question, or wait for its answer.

        question: Id of the question.
        wait: Wait so many seconds for an answer.
        progress: is told what happens meanwhile.
        """
        found: Stand = await self._call("approve.state", {"question": question, "wait": wait}, progress, Stand)
        return found


class BlockingApproveVerbs(BlockingCalls):
    """The verbs ``approve.*``, each of which waits until it is done."""

    def list(self, *, all: bool = False, progress: Progress | None = None) -> AskedList:
        """List the actions and requests that wait for an approval, newest first (docs/approvals.md).

        all: List answered questions too, and those whose time is over.
        progress: is told what happens meanwhile.
        """
        found: AskedList = self._call("approve.list", {"all": all}, progress, AskedList)
        return found

    def show(self, question: str, *, picture: str = "", progress: Progress | None = None) -> ShownQuestion:
        """Show a question: what would be done and sent, why it needs an approval, and who asked.

        question: Id of the question.
        picture: Write the picture of the page to this file, if one was stored.
        progress: is told what happens meanwhile.
        """
        found: ShownQuestion = self._call(
            "approve.show", {"question": question, "picture": picture}, progress, ShownQuestion
        )
        return found

    def answer(self, *, question: str, signed: str, progress: Progress | None = None) -> ShownQuestion:
        """Answer a question with a signed approval: `trailmesh approve yes` and `approve no` sign one and call
        this.

        question: Id of the question.
        signed: The signed approval: an envelope, in hexadecimal.
        progress: is told what happens meanwhile.
        """
        found: ShownQuestion = self._call(
            "approve.answer", {"question": question, "signed": signed}, progress, ShownQuestion
        )
        return found

    def state(self, question: str, *, wait: int = 0, progress: Progress | None = None) -> Stand:
        """Show the standing of a question, or wait for its answer.

        question: Id of the question.
        wait: Wait so many seconds for an answer.
        progress: is told what happens meanwhile.
        """
        found: Stand = self._call("approve.state", {"question": question, "wait": wait}, progress, Stand)
        return found
