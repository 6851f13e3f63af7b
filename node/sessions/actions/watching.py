"""Writes an action file while a person works in a window: each act becomes a step whose locator fits only its element."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from adapters.ports.watching import ObservedAct
from node.base.files import write_atomic
from node.sessions.actions.action_writing import comment, write_file, write_step
from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import Action, Fill, Locator, Secret, Upload, describe, target_of
from protocol.page.secrets.redaction import redact_url
from protocol.page.secrets.secret_fields import name_for, secret_name
from protocol.page.seen.observation import Observation
from protocol.page.showing.naming import Naming
from protocol.page.showing.person import Act, ActKind, Script
from protocol.risk.pressing.classes import classify
from protocol.trust.origin import origin_of

_UNSURE: Final = "named without a look at the page, so check that only it is called so"
_UNSEEN: Final = "an act on an element that the page does not list: a person has to describe it"
_FILES: Final = "put the file into a folder of browser.upload_folders"
_CHOSEN_MAX: Final = {"file": limits.UPLOAD_FILES_MAX, "choice": limits.OPTIONS_CHOSEN_MAX + 1}


class SecretUse(msgspec.Struct, frozen=True, kw_only=True):
    """A secret that a file names, and the site where it was typed."""

    name: str
    origin: str
    is_text: bool
    """True if its field was no password field, so that it must be given as ``NAME:text``."""


class Notebook:
    """The action file of a person's acts so far."""

    def __init__(self, path: Path, start: str, title: str, told: Callable[[str], None]) -> None:
        """told: called with each step, in words."""
        self._path, self._start, self._title, self._told = path, start, title, told
        self._script = Script()
        self._notes: dict[int, str] = {}
        """Remarks after the line of a step, by the identity of the step."""
        self._naming: tuple[Observation | None, Naming | None] = (None, None)
        self._secrets: dict[str, SecretUse] = {}
        self._said = 0
        self._stale = False
        self._writing: asyncio.Task[None] | None = None
        self.risk = 1
        """The highest risk class among the steps."""

    @property
    def actions(self) -> tuple[Action, ...]:
        """The steps so far."""
        return self._script.actions

    @property
    def secrets(self) -> tuple[SecretUse, ...]:
        """The secrets that the steps name."""
        named = {
            step.value.secret for step in self.actions if isinstance(step, Fill) and isinstance(step.value, Secret)
        }
        return tuple(use for name, use in self._secrets.items() if name in named)

    async def heard(self, heard: ObservedAct) -> None:
        """Add an act of the person, and have the file written. Errors: ``input.invalid`` (the file could not be written
        before).
        """
        act = self._act(heard)
        if not self._script.take(act):
            return
        step = self._script.steps[-1] if self._script.steps else ""
        if not isinstance(step, str) and target_of(step) == act.target:
            self._weigh(step, heard)
        self._say(len(self._script.steps) - 1)
        self._stale = True
        if self._writing is None or self._writing.done():
            if self._writing is not None:
                self._writing.result()
            self._writing = asyncio.create_task(self._keep_written(), name="writing an action file")

    async def close(self) -> None:
        """End the notebook and write the last step. Errors: ``input.invalid``."""
        self._say(len(self._script.steps))
        if self._writing is not None:
            await self._writing
        await self.write()

    async def _keep_written(self) -> None:
        while self._stale:  # a person types many letters while the disk writes once
            self._stale = False
            await self.write()

    def _say(self, count: int) -> None:
        """Report the first ``count`` steps. The last one is not reported yet, because a further act may change it."""
        steps = self._script.steps
        self._said = min(self._said, len(steps))
        for step in steps[self._said : count]:
            self._told(step if isinstance(step, str) else describe(step))
        self._said = max(self._said, count)

    async def write(self) -> None:
        """Write the present steps to the file, atomically. Errors: ``input.invalid``."""
        lines = [
            comment(step) if isinstance(step, str) else write_step(step) + self._note(step)
            for step in self._script.steps
        ]
        if not self.actions:
            lines.append("wait:")  # an action file needs at least one step
        try:
            text = write_file(self._title, redact_url(self._start), lines)
            await asyncio.to_thread(write_atomic, self._path, text.encode())
        except OSError as error:
            raise MeshError("input.invalid", f"{self._path} cannot be written: {error.strerror}") from error

    def _note(self, step: Action) -> str:
        remark = self._notes.get(id(step)) or (_FILES if isinstance(step, Upload) else "")
        return f"  {comment(remark)}" if remark else ""

    # --- one act ---

    def _act(self, heard: ObservedAct) -> Act:
        kind: ActKind = "files" if heard.kind == "file" else heard.kind
        target = self._target(heard)
        text, secret = heard.text, self._secret(heard) if heard.is_secret else ""
        if heard.kind == "file" and not (heard.element and heard.element.traits.input_type == "file"):
            target = None  # The field is hidden: the clicked element opened its file chooser.
        if heard.kind in ("file", "choice") and not 0 < len(heard.texts) <= _CHOSEN_MAX[heard.kind]:
            kind, text = "other", f"nothing was left chosen in “{heard.name[:80]}”, or too much: no step for that"
        elif target is None and heard.kind in ("click", "double", "right", "text", "choice", "check"):
            kind, text = "other", _UNSEEN
        return Act(
            kind=kind,
            target=None if heard.key == "Escape" else target,
            node=heard.node,
            text=text,
            texts=heard.texts,
            secret=secret,
            checked=heard.checked,
            key=heard.key,
            by_key=heard.by_key,
            field=heard.field,
            at_ms=heard.at_ms,
        )

    def _target(self, heard: ObservedAct) -> Locator | None:
        if heard.element is not None and heard.observation is not None:
            naming = self._naming_of(heard.observation)
            return naming.locator(heard.element)
        if heard.role not in ("", "generic"):
            return Locator(role=heard.role, name=heard.name)
        return None

    def _naming_of(self, observation: Observation) -> Naming:
        known, naming = self._naming
        if naming is None or known is not observation:
            naming = Naming(observation)
            self._naming = observation, naming
        return naming

    def _secret(self, heard: ObservedAct) -> str:
        """The name of the secret that was typed into this field. It is kept with the site for which it is meant."""
        named = (secret_name(heard.element) if heard.element else "") or name_for(heard.name)
        is_text = heard.element is None or heard.element.traits.input_type != "password"
        origin = origin_of(heard.observation.url if heard.observation else self._start) or ""
        self._secrets.setdefault(named, SecretUse(name=named, origin=origin, is_text=is_text))
        return named

    def _weigh(self, step: Action, heard: ObservedAct) -> None:
        if heard.element is not None and heard.observation is not None:
            self.risk = max(self.risk, classify(step, heard.element, heard.observation).level)
            if self._naming_of(heard.observation).is_place(
                self._naming_of(heard.observation).locator(heard.element), heard.element
            ):
                self._notes[id(step)] = "only its place tells it from others"
        elif heard.kind not in ("goto", "back", "forward", "reload", "close", "key"):
            self._notes[id(step)] = _UNSURE
