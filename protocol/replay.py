"""How a replay compares with its recording, step by step, and what verdict follows; pages come in as observations."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import urlsplit

import msgspec

from protocol.action import Action, Goto
from protocol.errors import CODES, Blame, MeshError
from protocol.observation import Observation
from protocol.redaction import redact_address, redact_text
from protocol.session import ReplayReport, Session, Step, StepMatch, Verdict

_ORIGIN: Final = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#]*", re.IGNORECASE)


class Rebase(msgspec.Struct, frozen=True):
    """Maps addresses between the origin a session was recorded on and the one it is replayed on."""

    recorded: str = ""
    """``https://host:port``; empty when nothing is mapped."""
    replayed: str = ""

    @property
    def active(self) -> bool:
        """Whether the replay runs on another origin."""
        return self.recorded != self.replayed

    def outward(self, url: str) -> str:
        """The address to open for a recorded one."""
        return _swap(url, self.recorded, self.replayed)

    def homeward(self, url: str) -> str:
        """The address the recording would show for one that was met."""
        return _swap(url, self.replayed, self.recorded)


def _swap(url: str, old: str, new: str) -> str:
    found = _ORIGIN.match(url)
    return new + url[found.end() :] if found and old and found[0].lower() == old else url


def rebase(start_url: str, base_url: str) -> Rebase:
    """The mapping for a session that began at ``start_url`` and is replayed at the origin ``base_url`` (empty: the
    same).

    Errors: ``input.invalid`` when ``base_url`` is more or less than an http(s) origin.
    """
    if not base_url:
        return Rebase()
    try:
        parts = urlsplit(base_url)
        plain = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        plain = False
    if not plain or "@" in parts.netloc or parts.path not in ("", "/") or parts.query or parts.fragment:
        raise MeshError(
            "input.invalid", "the base address must be http(s)://host:port and nothing more", field="base_url"
        )
    origin = _ORIGIN.match(start_url)
    return Rebase(origin[0].lower() if origin else "", f"{parts.scheme}://{parts.netloc}".lower())


def rebased(action: Action, mapping: Rebase) -> Action:
    """``action`` with its address mapped to the replayed origin."""
    match action:
        case Goto(url=url):
            return Goto(url=mapping.outward(url))
        case _:
            return action


def compare(
    step: Step,
    page: Observation,
    *,
    extracted: str = "",
    duration_ms: int,
    secrets: Mapping[str, str],
    mapping: Rebase = Rebase(),  # noqa: B008 - frozen, so sharing it is safe
) -> StepMatch:
    """How ``page``, met after the action of ``step``, compares with what was recorded.

    Compared, in order: state hash, address, title, extracted text; all after the redactions that the recording went
    through.
    """
    met = msgspec.structs.replace(page, url=mapping.homeward(page.url))
    state = met.state == step.state
    url = redact_address(met.url, secrets) == step.url
    title = redact_text(met.title, secrets) == step.title
    same_text = redact_text(extracted, secrets) == step.extracted
    return StepMatch(
        index=step.index,
        performed=True,
        state=state,
        url=url,
        title=title,
        extracted=same_text,
        matched=state and url and title and same_text,
        duration_ms=duration_ms,
    )


def not_performed(step: Step, error: str, duration_ms: int) -> StepMatch:
    """The entry of a step whose action could not be performed; ``error`` is the code."""
    return StepMatch(
        index=step.index,
        performed=False,
        state=False,
        url=False,
        title=False,
        extracted=False,
        matched=False,
        duration_ms=duration_ms,
        error=error,
    )


def differences(match: StepMatch) -> tuple[str, ...]:
    """What differs from the recording, in words: empty for a step that matched."""
    if not match.performed:
        return (f"not performed: {match.error}",)
    parts = (("page", match.state), ("address", match.url), ("title", match.title), ("extracted text", match.extracted))
    return tuple(name for name, same in parts if not same)


def verdict(done: int, total: int) -> Verdict:
    """``pass`` when all is done, ``fail`` when nothing is, ``partial`` between; doing nothing at all is no success."""
    if total and done == total:
        return Verdict.PASS
    return Verdict.PARTIAL if done else Verdict.FAIL


def unreached(matches: Sequence[StepMatch]) -> str:
    """The code of why no page was met at all, so that a replay says nothing about its recording; empty if one was."""
    code = matches[0].error if matches and not matches[0].performed else ""
    return code if code in CODES and CODES[code].blame is Blame.ENVIRONMENT else ""


def replayable(steps: Sequence[Step]) -> list[Step]:
    """The steps a replay drives: those that succeeded when they were recorded."""
    return [step for step in steps if step.ok]


def _is_other_origin(origin: str, start_url: str) -> bool:
    """Whether ``origin`` is empty, or the origin of a replay elsewhere, in the form ``rebase`` gives it."""
    try:
        mapping = rebase(start_url, origin)
    except MeshError:
        return False
    return mapping.replayed == origin and (mapping.active or not origin)


def check_report(report: ReplayReport, *, session: Session, manifest_digest: bytes, steps: Sequence[Step]) -> None:
    """Raise unless ``report`` fits the recording it names.

    Checks, in order: session id and manifest; its origin, if it names one; entries are the first of the replayable
    steps, in order; a step counts as matched only if all of it is; only the last entry may be one that was not
    performed; the count and the verdict follow from the entries. Errors: ``report.invalid``.
    """
    if report.session != session.id or report.manifest != manifest_digest:
        raise MeshError("report.invalid", "it is about another recording")
    if not _is_other_origin(report.origin, session.start_url):
        raise MeshError("report.invalid", "what it names as another origin is none")
    expected = [step.index for step in replayable(steps)]
    indices = [match.index for match in report.steps]
    if indices != expected[: len(indices)]:
        raise MeshError("report.invalid", "its steps are not those of the recording")
    for match in report.steps:
        whole = match.performed and match.state and match.url and match.title and match.extracted
        if match.matched != whole or match.performed == bool(match.error):
            raise MeshError("report.invalid", f"step {match.index} contradicts itself", index=match.index)
    stopped = any(not match.performed for match in report.steps[:-1])
    cut_short = len(indices) < len(expected) and (not report.steps or report.steps[-1].performed)
    if stopped or cut_short:
        raise MeshError("report.invalid", "it goes on after a step that failed, or ends without one")
    matched = sum(match.matched for match in report.steps)
    if report.matched != matched or report.verdict != verdict(matched, len(expected)):
        raise MeshError("report.invalid", "count or verdict do not follow from its steps")
