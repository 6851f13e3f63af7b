"""The flows: action files as a user writes them, and what is known of each by hand."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec
import yaml

from benchmarks.drift.applications import HERE, PASSWORD, Application, Side, application
from benchmarks.drift.proxy import Sent

FLOWS: Final = HERE / "flows"
_READS: Final = frozenset({"GET", "HEAD", "OPTIONS", "PROPFIND", "REPORT"})
_PLACEHOLDER: Final = re.compile("^placeholder=(.*)$")
_NEWER_KEYS: Final = frozenset({"type", "pattern", "within", "match"})


class Flow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One flow of an application."""

    flow: str
    application: str
    sends: tuple[str, ...] = ()
    """Patterns of ``Sent.said``: what may be opened and written, in either version."""
    must: str = ""
    """Pattern of what is sent if every step is performed."""
    reads: dict[str, str] = {}
    """The values that the recording must read: a pattern of the whole value, by name."""
    approve: int = 0
    secret: str = ""
    allow: tuple[str, ...] = ()
    """``METHOD /path``, at the origin of the version."""
    stops: str = ""
    """Why a replay on the newer version may stop, judged by hand: the code and the reason. Empty if it should not."""

    @property
    def on(self) -> Application:
        """The application it runs on."""
        return application(self.application)

    @property
    def text(self) -> str:
        """The action file."""
        return (FLOWS / f"{self.flow}.yaml").read_text(encoding="utf-8")

    @property
    def acting(self) -> int:
        """How many of its steps are no assertions, with the one that opens the start."""
        file = yaml.load(self.text, Loader=yaml.BaseLoader)
        return sum("assert" not in step for step in file["steps"]) + ("start" in file)

    def options(self, side: Side, secret_file: str, *, plain_secret: bool = False) -> list[str]:
        """Approvals, requests and secrets for a run on one of the versions. plain_secret: as commit 5d4cf22 reads them."""
        origin = self.on.public(side)
        given = ["--approve-class", str(self.approve)] if self.approve else []
        for each in self.allow:
            method, _, path = each.partition(" ")
            given += ["--allow", f"{method} {origin}{path}"]
        if self.secret:
            where = "" if plain_secret else f":text@{origin}"
            given += ["--secret", f"{self.secret}{where}=@{secret_file}"]
        return given


def load() -> tuple[Flow, ...]:
    """All flows, in the order of their list."""
    listed = yaml.safe_load((HERE / "flows.yaml").read_text(encoding="utf-8"))
    return msgspec.convert(listed, tuple[Flow, ...])


def secret() -> str:
    """The text typed into password fields."""
    return PASSWORD


def without_newer_forms(text: str) -> str:
    """The action file without assertions, types and placeholders, which commit 5d4cf22 does not know."""
    file: dict[str, Any] = yaml.load(text, Loader=yaml.BaseLoader)
    steps = []
    for step in file["steps"]:
        ((action, body),) = ((key, value) for key, value in step.items() if key != "expect")
        if action == "assert":
            continue
        if isinstance(body, dict):
            body = {key: value for key, value in body.items() if key not in _NEWER_KEYS}
            if "selectors" in body:
                body["selectors"] = [_PLACEHOLDER.sub(r"css=[placeholder='\1']", each) for each in body["selectors"]]
        steps.append({action: body})
    return yaml.safe_dump({**file, "steps": steps}, allow_unicode=True)


def acts(sent: Iterable[Sent]) -> list[Sent]:
    """Those requests that show what was acted on: pages that were opened, and everything that writes."""
    return [each for each in sent if each.document or each.method not in _READS]


def wrong_acts(flow: Flow, sent: Iterable[Sent]) -> list[str]:
    """The sent requests that fit no pattern of the flow."""
    patterns = [re.compile(each) for each in flow.sends]
    return [each.said for each in acts(sent) if not any(pattern.match(each.said) for pattern in patterns)]


def had_effect(flow: Flow, sent: Iterable[Sent]) -> bool:
    """True if the request that proves the flow was sent."""
    return not flow.must or any(re.match(flow.must, each.said) for each in sent)
