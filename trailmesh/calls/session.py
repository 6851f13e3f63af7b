# Written by `make client` from node/verbs/; change the declarations instead.
"""The verbs ``session.*`` as methods (docs/verbs.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from trailmesh.client.calling import NOTHING, BlockingCalls, Calls, Progress
from trailmesh.records.session import (
    Answered,
    Archived,
    ExportedFile,
    GivenSecret,
    LearnedSession,
    Needs,
    Purged,
    RecordedSession,
    ReplayedSession,
    RunDiff,
    SessionDiff,
    SessionList,
    SessionVerification,
    ShownSession,
    TrustKey,
    WasRemoved,
)


class SessionVerbs(Calls):
    """The verbs ``session.*``."""

    async def record(
        self,
        actions: str,
        *,
        lenient: bool = False,
        name: str = "",
        secrets: Mapping[str, GivenSecret | Mapping[str, Any]] = NOTHING,
        allow: Sequence[str] = (),
        approve_class: int = 0,
        inputs: Mapping[str, str] = NOTHING,
        junit: str = "",
        html: str = "",
        capsule: str = "",
        ask: bool = False,
        plan: bool = False,
        progress: Progress | None = None,
    ) -> RecordedSession:
        """Perform the actions of a file in a browser and record them as a signed session.

        actions: Content of the action file.
        lenient: Of a recording of another tool, leave out the steps that cannot be performed here. They are
        listed and kept with the session, which is then at most partial, as is every replay of it.
        name: Title of the recording if the action file has none.
        secrets: A secret that the actions name, for the password fields of a site, and its source
        (docs/secrets.md). Repeat for more.
        allow: A request other than GET that may be sent, for example 'POST https://shop.example/login'.
        approve_class: Approve risk classes up to N for this run (docs/risk.md).
        inputs: Another value for an input of the action file. Never a secret. Repeat for more.
        junit: Also write the result as JUnit XML: one test case a step.
        html: Also write it as one HTML file that needs no network: steps, pictures, differences, signatures. An
        existing file is replaced.
        capsule: Begin with the login of this capsule. Only its origins are contacted then (docs/capsules.md).
        ask: Send an event with a question about each form of request that a step wants to send; the request
        waits, and a yes (`session.answer`) sends it and allows others like it in this recording.
        plan: Send nothing that changes something, try each step all the same, and print all that the file needs:
        secrets, requests to allow, classes to approve. What is recorded meanwhile does not pass.
        progress: is told what happens meanwhile.
        """
        found: RecordedSession = await self._call(
            "session.record",
            {
                "actions": actions,
                "lenient": lenient,
                "name": name,
                "secrets": secrets,
                "allow": allow,
                "approve_class": approve_class,
                "inputs": inputs,
                "junit": junit,
                "html": html,
                "capsule": capsule,
                "ask": ask,
                "plan": plan,
            },
            progress,
            RecordedSession,
        )
        return found

    async def list(
        self, text: str = "", *, archived: bool = False, limit: int = 50, progress: Progress | None = None
    ) -> SessionList:
        """List sessions, newest first, without archived ones. With TEXT: only those with this text in title,
        address or id.

        text: Only sessions with this text in title, address or id.
        archived: List archived sessions instead of the others.
        limit: At most this many.
        progress: is told what happens meanwhile.
        """
        found: SessionList = await self._call(
            "session.list", {"text": text, "archived": archived, "limit": limit}, progress, SessionList
        )
        return found

    async def show(
        self, session: str, *, html: str = "", progress: Progress | None = None
    ) -> ShownSession | WasRemoved:
        """Show a session: its steps, signer and replays. For a removed session, show what is still stored.

        session: Id of the session.
        html: Also write it as one HTML file that needs no network: steps, pictures, differences, signatures. An
        existing file is replaced.
        progress: is told what happens meanwhile.
        """
        found: ShownSession | WasRemoved = await self._call(
            "session.show", {"session": session, "html": html}, progress, ShownSession, WasRemoved
        )
        return found

    async def verify(self, target: str, *, progress: Progress | None = None) -> SessionVerification:
        """Verify signatures and content of a session (id), a bundle or a replay report (file).

        target: Id of a session, or the absolute path of a bundle or report.
        progress: is told what happens meanwhile.
        """
        found: SessionVerification = await self._call(
            "session.verify", {"target": target}, progress, SessionVerification
        )
        return found

    async def export(
        self,
        session: str,
        *,
        form: Literal["bundle", "playwright", "recorder"] = "bundle",
        out: str = "",
        force: bool = False,
        progress: Progress | None = None,
    ) -> ExportedFile:
        """Write a session to one signed file, which another node can verify and replay.

        session: Id of the session.
        form: What to write: the signed bundle; a recording of the Chrome DevTools Recorder; a Playwright test in
        Python.
        out: Where to write it. [default: session.tmsession, .json or .py]
        force: Replace the file if it exists.
        progress: is told what happens meanwhile.
        """
        found: ExportedFile = await self._call(
            "session.export", {"session": session, "form": form, "out": out, "force": force}, progress, ExportedFile
        )
        return found

    async def import_(self, path: str, *, progress: Progress | None = None) -> SessionVerification:
        """Verify a bundle and store it. Its signer must be a peer of this node.

        path: Absolute path of the bundle.
        progress: is told what happens meanwhile.
        """
        found: SessionVerification = await self._call("session.import", {"path": path}, progress, SessionVerification)
        return found

    async def replay(
        self,
        session: str,
        *,
        base_url: str = "",
        out: str = "",
        on_mismatch: Literal["ask", "go", "stop"] = "stop",
        level: Literal["", "asserted", "performed", "structure", "text"] = "",
        strict: Literal["", "text"] = "",
        secrets: Mapping[str, GivenSecret | Mapping[str, Any]] = NOTHING,
        allow: Sequence[str] = (),
        approve_class: int = 0,
        writes: Sequence[str] = (),
        junit: str = "",
        markdown: str = "",
        html: str = "",
        inputs: Mapping[str, str] = NOTHING,
        capsule: str = "",
        progress: Progress | None = None,
    ) -> ReplayedSession:
        """Replay a session in a new browser context and sign a report of which steps matched.

        session: Id of the session.
        base_url: Replay at another origin, for example that of a staging server.
        out: Write the signed replay report to this file, so that the recording node can verify it.
        on_mismatch: After a step that did not match: stop before the next step that writes (risk class 3 or
        higher); go on and perform it; or ask before each such step. Without a terminal ask is stop.
        level: What of each step must hold: that it was performed, its assertions and extracts, the structure of
        the page (address, controls, headings), or its text. Each includes those before it, and what differs
        beyond it is told beside the verdict. [default: asserted if the session asserts something, else text]
        strict: Require the text to be the same to the letter: compare also what changes by itself, such as
        times.
        secrets: A secret that the actions name, for the password fields of a site, and its source
        (docs/secrets.md). Repeat for more.
        allow: A request other than GET that may be sent, for example 'POST https://shop.example/login'.
        approve_class: Approve risk classes up to N for this run (docs/risk.md).
        writes: Which listed writes of the session may be sent again, each once and in its step: none; as-
        recorded, for a session that you recorded on this node; or those of the list with this digest (`session
        show` prints it). Repeat for more. [default: none]
        junit: Also write the result as JUnit XML: one test case a step.
        markdown: Also write a summary in Markdown.
        html: Also write it as one HTML file that needs no network: steps, pictures, differences, signatures. An
        existing file is replaced.
        inputs: Another value for an input of the session, or for the text that the step with this number types
        or chooses (`session show` lists them). Never a secret. Repeat for more.
        capsule: Begin with the login of this capsule. Only its origins are contacted then (docs/capsules.md).
        progress: is told what happens meanwhile.
        """
        found: ReplayedSession = await self._call(
            "session.replay",
            {
                "session": session,
                "base_url": base_url,
                "out": out,
                "on_mismatch": on_mismatch,
                "level": level,
                "strict": strict,
                "secrets": secrets,
                "allow": allow,
                "approve_class": approve_class,
                "writes": writes,
                "junit": junit,
                "markdown": markdown,
                "html": html,
                "inputs": inputs,
                "capsule": capsule,
            },
            progress,
            ReplayedSession,
        )
        return found

    async def plan(self, session: str, *, progress: Progress | None = None) -> Needs:
        """Say what a replay of a session needs: secrets, files, the login, classes to approve, and the writes that
        it lists.

        session: Id of the session.
        progress: is told what happens meanwhile.
        """
        found: Needs = await self._call("session.plan", {"session": session}, progress, Needs)
        return found

    async def diff(
        self, first: str, second: str, *, html: str = "", progress: Progress | None = None
    ) -> SessionDiff | RunDiff:
        """Compare two recordings: steps that only one of them has, and what differs after each step that both have.

        first: Id of a session or of a replay report.
        second: Id of the session or the replay report that is compared with it.
        html: Also write it as one HTML file that needs no network: steps, pictures, differences, signatures. An
        existing file is replaced.
        progress: is told what happens meanwhile.
        """
        found: SessionDiff | RunDiff = await self._call(
            "session.diff", {"first": first, "second": second, "html": html}, progress, SessionDiff, RunDiff
        )
        return found

    async def trust_key(self, *, progress: Progress | None = None) -> TrustKey:
        """Print the key of this node in the form that --trust of `session verify` and `session replay` takes.

        progress: is told what happens meanwhile.
        """
        found: TrustKey = await self._call("session.trust_key", {}, progress, TrustKey)
        return found

    async def answer(self, *, question: str, yes: bool = False, progress: Progress | None = None) -> Answered:
        """Answer the question of a replay or a recording that waits.

        question: Id of the question, from the event of `session.replay` or `session.record` that asks it.
        yes: Whether this one step shall be performed, or requests of this form be sent.
        progress: is told what happens meanwhile.
        """
        found: Answered = await self._call("session.answer", {"question": question, "yes": yes}, progress, Answered)
        return found

    async def fork(
        self,
        session: str,
        *,
        until: int = 0,
        actions: str = "",
        secrets: Mapping[str, GivenSecret | Mapping[str, Any]] = NOTHING,
        allow: Sequence[str] = (),
        approve_class: int = 0,
        capsule: str = "",
        inputs: Mapping[str, str] = NOTHING,
        progress: Progress | None = None,
    ) -> RecordedSession:
        """Perform the steps of a session anew up to one of them, go on from there, and record all of it as a new
        session.

        session: Id of the session.
        until: Perform the steps up to this one. [default: all]
        actions: Then perform the actions of this file: an action file without `start`.
        secrets: A secret that the actions name, for the password fields of a site, and its source
        (docs/secrets.md). Repeat for more.
        allow: A request other than GET that may be sent, for example 'POST https://shop.example/login'.
        approve_class: Approve risk classes up to N for this run (docs/risk.md).
        capsule: Begin with the login of this capsule. Only its origins are contacted then (docs/capsules.md).
        inputs: Another value for an input of the session, or for the text that the step with this number types
        or chooses (`session show` lists them). Never a secret. Repeat for more.
        progress: is told what happens meanwhile.
        """
        found: RecordedSession = await self._call(
            "session.fork",
            {
                "session": session,
                "until": until,
                "actions": actions,
                "secrets": secrets,
                "allow": allow,
                "approve_class": approve_class,
                "capsule": capsule,
                "inputs": inputs,
            },
            progress,
            RecordedSession,
        )
        return found

    async def learn(
        self,
        session: str,
        *,
        secrets: Mapping[str, GivenSecret | Mapping[str, Any]] = NOTHING,
        allow: Sequence[str] = (),
        approve_class: int = 0,
        capsule: str = "",
        progress: Progress | None = None,
    ) -> LearnedSession:
        """Perform the steps of a session again on unchanged data, to learn which numbers change by themselves.

        session: Id of the session.
        secrets: A secret that the actions name, for the password fields of a site, and its source
        (docs/secrets.md). Repeat for more.
        allow: A request other than GET that may be sent, for example 'POST https://shop.example/login'.
        approve_class: Approve risk classes up to N for this run (docs/risk.md).
        capsule: Begin with the login of this capsule. Only its origins are contacted then (docs/capsules.md).
        progress: is told what happens meanwhile.
        """
        found: LearnedSession = await self._call(
            "session.learn",
            {
                "session": session,
                "secrets": secrets,
                "allow": allow,
                "approve_class": approve_class,
                "capsule": capsule,
            },
            progress,
            LearnedSession,
        )
        return found

    async def archive(self, session: str, *, progress: Progress | None = None) -> Archived:
        """Keep a session, and leave it out of `session ls`.

        session: Id of the session.
        progress: is told what happens meanwhile.
        """
        found: Archived = await self._call("session.archive", {"session": session}, progress, Archived)
        return found

    async def unarchive(self, session: str, *, progress: Progress | None = None) -> Archived:
        """List an archived session again in `session ls`.

        session: Id of the session.
        progress: is told what happens meanwhile.
        """
        found: Archived = await self._call("session.unarchive", {"session": session}, progress, Archived)
        return found

    async def purge(self, session: str, *, referenced: bool = False, progress: Progress | None = None) -> Purged:
        """Delete a session with its steps, screenshots, signatures and replay reports, and each file that no other
        session names.

        session: Id of the session.
        referenced: Purge it also if a search, a fork, a live session or a replay report of another node names
        it.
        progress: is told what happens meanwhile.
        """
        found: Purged = await self._call(
            "session.purge", {"session": session, "referenced": referenced}, progress, Purged
        )
        return found


class BlockingSessionVerbs(BlockingCalls):
    """The verbs ``session.*``, each of which waits until it is done."""

    def record(
        self,
        actions: str,
        *,
        lenient: bool = False,
        name: str = "",
        secrets: Mapping[str, GivenSecret | Mapping[str, Any]] = NOTHING,
        allow: Sequence[str] = (),
        approve_class: int = 0,
        inputs: Mapping[str, str] = NOTHING,
        junit: str = "",
        html: str = "",
        capsule: str = "",
        ask: bool = False,
        plan: bool = False,
        progress: Progress | None = None,
    ) -> RecordedSession:
        """Perform the actions of a file in a browser and record them as a signed session.

        actions: Content of the action file.
        lenient: Of a recording of another tool, leave out the steps that cannot be performed here. They are
        listed and kept with the session, which is then at most partial, as is every replay of it.
        name: Title of the recording if the action file has none.
        secrets: A secret that the actions name, for the password fields of a site, and its source
        (docs/secrets.md). Repeat for more.
        allow: A request other than GET that may be sent, for example 'POST https://shop.example/login'.
        approve_class: Approve risk classes up to N for this run (docs/risk.md).
        inputs: Another value for an input of the action file. Never a secret. Repeat for more.
        junit: Also write the result as JUnit XML: one test case a step.
        html: Also write it as one HTML file that needs no network: steps, pictures, differences, signatures. An
        existing file is replaced.
        capsule: Begin with the login of this capsule. Only its origins are contacted then (docs/capsules.md).
        ask: Send an event with a question about each form of request that a step wants to send; the request
        waits, and a yes (`session.answer`) sends it and allows others like it in this recording.
        plan: Send nothing that changes something, try each step all the same, and print all that the file needs:
        secrets, requests to allow, classes to approve. What is recorded meanwhile does not pass.
        progress: is told what happens meanwhile.
        """
        found: RecordedSession = self._call(
            "session.record",
            {
                "actions": actions,
                "lenient": lenient,
                "name": name,
                "secrets": secrets,
                "allow": allow,
                "approve_class": approve_class,
                "inputs": inputs,
                "junit": junit,
                "html": html,
                "capsule": capsule,
                "ask": ask,
                "plan": plan,
            },
            progress,
            RecordedSession,
        )
        return found

    def list(
        self, text: str = "", *, archived: bool = False, limit: int = 50, progress: Progress | None = None
    ) -> SessionList:
        """List sessions, newest first, without archived ones. With TEXT: only those with this text in title,
        address or id.

        text: Only sessions with this text in title, address or id.
        archived: List archived sessions instead of the others.
        limit: At most this many.
        progress: is told what happens meanwhile.
        """
        found: SessionList = self._call(
            "session.list", {"text": text, "archived": archived, "limit": limit}, progress, SessionList
        )
        return found

    def show(self, session: str, *, html: str = "", progress: Progress | None = None) -> ShownSession | WasRemoved:
        """Show a session: its steps, signer and replays. For a removed session, show what is still stored.

        session: Id of the session.
        html: Also write it as one HTML file that needs no network: steps, pictures, differences, signatures. An
        existing file is replaced.
        progress: is told what happens meanwhile.
        """
        found: ShownSession | WasRemoved = self._call(
            "session.show", {"session": session, "html": html}, progress, ShownSession, WasRemoved
        )
        return found

    def verify(self, target: str, *, progress: Progress | None = None) -> SessionVerification:
        """Verify signatures and content of a session (id), a bundle or a replay report (file).

        target: Id of a session, or the absolute path of a bundle or report.
        progress: is told what happens meanwhile.
        """
        found: SessionVerification = self._call("session.verify", {"target": target}, progress, SessionVerification)
        return found

    def export(
        self,
        session: str,
        *,
        form: Literal["bundle", "playwright", "recorder"] = "bundle",
        out: str = "",
        force: bool = False,
        progress: Progress | None = None,
    ) -> ExportedFile:
        """Write a session to one signed file, which another node can verify and replay.

        session: Id of the session.
        form: What to write: the signed bundle; a recording of the Chrome DevTools Recorder; a Playwright test in
        Python.
        out: Where to write it. [default: session.tmsession, .json or .py]
        force: Replace the file if it exists.
        progress: is told what happens meanwhile.
        """
        found: ExportedFile = self._call(
            "session.export", {"session": session, "form": form, "out": out, "force": force}, progress, ExportedFile
        )
        return found

    def import_(self, path: str, *, progress: Progress | None = None) -> SessionVerification:
        """Verify a bundle and store it. Its signer must be a peer of this node.

        path: Absolute path of the bundle.
        progress: is told what happens meanwhile.
        """
        found: SessionVerification = self._call("session.import", {"path": path}, progress, SessionVerification)
        return found

    def replay(
        self,
        session: str,
        *,
        base_url: str = "",
        out: str = "",
        on_mismatch: Literal["ask", "go", "stop"] = "stop",
        level: Literal["", "asserted", "performed", "structure", "text"] = "",
        strict: Literal["", "text"] = "",
        secrets: Mapping[str, GivenSecret | Mapping[str, Any]] = NOTHING,
        allow: Sequence[str] = (),
        approve_class: int = 0,
        writes: Sequence[str] = (),
        junit: str = "",
        markdown: str = "",
        html: str = "",
        inputs: Mapping[str, str] = NOTHING,
        capsule: str = "",
        progress: Progress | None = None,
    ) -> ReplayedSession:
        """Replay a session in a new browser context and sign a report of which steps matched.

        session: Id of the session.
        base_url: Replay at another origin, for example that of a staging server.
        out: Write the signed replay report to this file, so that the recording node can verify it.
        on_mismatch: After a step that did not match: stop before the next step that writes (risk class 3 or
        higher); go on and perform it; or ask before each such step. Without a terminal ask is stop.
        level: What of each step must hold: that it was performed, its assertions and extracts, the structure of
        the page (address, controls, headings), or its text. Each includes those before it, and what differs
        beyond it is told beside the verdict. [default: asserted if the session asserts something, else text]
        strict: Require the text to be the same to the letter: compare also what changes by itself, such as
        times.
        secrets: A secret that the actions name, for the password fields of a site, and its source
        (docs/secrets.md). Repeat for more.
        allow: A request other than GET that may be sent, for example 'POST https://shop.example/login'.
        approve_class: Approve risk classes up to N for this run (docs/risk.md).
        writes: Which listed writes of the session may be sent again, each once and in its step: none; as-
        recorded, for a session that you recorded on this node; or those of the list with this digest (`session
        show` prints it). Repeat for more. [default: none]
        junit: Also write the result as JUnit XML: one test case a step.
        markdown: Also write a summary in Markdown.
        html: Also write it as one HTML file that needs no network: steps, pictures, differences, signatures. An
        existing file is replaced.
        inputs: Another value for an input of the session, or for the text that the step with this number types
        or chooses (`session show` lists them). Never a secret. Repeat for more.
        capsule: Begin with the login of this capsule. Only its origins are contacted then (docs/capsules.md).
        progress: is told what happens meanwhile.
        """
        found: ReplayedSession = self._call(
            "session.replay",
            {
                "session": session,
                "base_url": base_url,
                "out": out,
                "on_mismatch": on_mismatch,
                "level": level,
                "strict": strict,
                "secrets": secrets,
                "allow": allow,
                "approve_class": approve_class,
                "writes": writes,
                "junit": junit,
                "markdown": markdown,
                "html": html,
                "inputs": inputs,
                "capsule": capsule,
            },
            progress,
            ReplayedSession,
        )
        return found

    def plan(self, session: str, *, progress: Progress | None = None) -> Needs:
        """Say what a replay of a session needs: secrets, files, the login, classes to approve, and the writes that
        it lists.

        session: Id of the session.
        progress: is told what happens meanwhile.
        """
        found: Needs = self._call("session.plan", {"session": session}, progress, Needs)
        return found

    def diff(
        self, first: str, second: str, *, html: str = "", progress: Progress | None = None
    ) -> SessionDiff | RunDiff:
        """Compare two recordings: steps that only one of them has, and what differs after each step that both have.

        first: Id of a session or of a replay report.
        second: Id of the session or the replay report that is compared with it.
        html: Also write it as one HTML file that needs no network: steps, pictures, differences, signatures. An
        existing file is replaced.
        progress: is told what happens meanwhile.
        """
        found: SessionDiff | RunDiff = self._call(
            "session.diff", {"first": first, "second": second, "html": html}, progress, SessionDiff, RunDiff
        )
        return found

    def trust_key(self, *, progress: Progress | None = None) -> TrustKey:
        """Print the key of this node in the form that --trust of `session verify` and `session replay` takes.

        progress: is told what happens meanwhile.
        """
        found: TrustKey = self._call("session.trust_key", {}, progress, TrustKey)
        return found

    def answer(self, *, question: str, yes: bool = False, progress: Progress | None = None) -> Answered:
        """Answer the question of a replay or a recording that waits.

        question: Id of the question, from the event of `session.replay` or `session.record` that asks it.
        yes: Whether this one step shall be performed, or requests of this form be sent.
        progress: is told what happens meanwhile.
        """
        found: Answered = self._call("session.answer", {"question": question, "yes": yes}, progress, Answered)
        return found

    def fork(
        self,
        session: str,
        *,
        until: int = 0,
        actions: str = "",
        secrets: Mapping[str, GivenSecret | Mapping[str, Any]] = NOTHING,
        allow: Sequence[str] = (),
        approve_class: int = 0,
        capsule: str = "",
        inputs: Mapping[str, str] = NOTHING,
        progress: Progress | None = None,
    ) -> RecordedSession:
        """Perform the steps of a session anew up to one of them, go on from there, and record all of it as a new
        session.

        session: Id of the session.
        until: Perform the steps up to this one. [default: all]
        actions: Then perform the actions of this file: an action file without `start`.
        secrets: A secret that the actions name, for the password fields of a site, and its source
        (docs/secrets.md). Repeat for more.
        allow: A request other than GET that may be sent, for example 'POST https://shop.example/login'.
        approve_class: Approve risk classes up to N for this run (docs/risk.md).
        capsule: Begin with the login of this capsule. Only its origins are contacted then (docs/capsules.md).
        inputs: Another value for an input of the session, or for the text that the step with this number types
        or chooses (`session show` lists them). Never a secret. Repeat for more.
        progress: is told what happens meanwhile.
        """
        found: RecordedSession = self._call(
            "session.fork",
            {
                "session": session,
                "until": until,
                "actions": actions,
                "secrets": secrets,
                "allow": allow,
                "approve_class": approve_class,
                "capsule": capsule,
                "inputs": inputs,
            },
            progress,
            RecordedSession,
        )
        return found

    def learn(
        self,
        session: str,
        *,
        secrets: Mapping[str, GivenSecret | Mapping[str, Any]] = NOTHING,
        allow: Sequence[str] = (),
        approve_class: int = 0,
        capsule: str = "",
        progress: Progress | None = None,
    ) -> LearnedSession:
        """Perform the steps of a session again on unchanged data, to learn which numbers change by themselves.

        session: Id of the session.
        secrets: A secret that the actions name, for the password fields of a site, and its source
        (docs/secrets.md). Repeat for more.
        allow: A request other than GET that may be sent, for example 'POST https://shop.example/login'.
        approve_class: Approve risk classes up to N for this run (docs/risk.md).
        capsule: Begin with the login of this capsule. Only its origins are contacted then (docs/capsules.md).
        progress: is told what happens meanwhile.
        """
        found: LearnedSession = self._call(
            "session.learn",
            {
                "session": session,
                "secrets": secrets,
                "allow": allow,
                "approve_class": approve_class,
                "capsule": capsule,
            },
            progress,
            LearnedSession,
        )
        return found

    def archive(self, session: str, *, progress: Progress | None = None) -> Archived:
        """Keep a session, and leave it out of `session ls`.

        session: Id of the session.
        progress: is told what happens meanwhile.
        """
        found: Archived = self._call("session.archive", {"session": session}, progress, Archived)
        return found

    def unarchive(self, session: str, *, progress: Progress | None = None) -> Archived:
        """List an archived session again in `session ls`.

        session: Id of the session.
        progress: is told what happens meanwhile.
        """
        found: Archived = self._call("session.unarchive", {"session": session}, progress, Archived)
        return found

    def purge(self, session: str, *, referenced: bool = False, progress: Progress | None = None) -> Purged:
        """Delete a session with its steps, screenshots, signatures and replay reports, and each file that no other
        session names.

        session: Id of the session.
        referenced: Purge it also if a search, a fork, a live session or a replay report of another node names
        it.
        progress: is told what happens meanwhile.
        """
        found: Purged = self._call("session.purge", {"session": session, "referenced": referenced}, progress, Purged)
        return found
