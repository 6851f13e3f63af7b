"""Judges recordings and replays: when they pass, at which level a step holds, and the reason if it does not.

Everything here follows from signed data, so every reader of a report comes to the same verdict and reason.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from protocol import limits
from protocol.page.actions.action import Extract, describe
from protocol.page.actions.dialogs import Dialog, describe_dialog, unexpected
from protocol.page.actions.downloads import Download, describe_download
from protocol.page.secrets.written import LOST, LOST_TEXT
from protocol.recording.records.session import Expect, Level, RequestFault, Session, Skipped, Step, StepMatch
from protocol.recording.records.verdict import Verdict

_DIGITS: Final = re.compile("[0-9]+")
LEVELS: Final[tuple[Level, ...]] = ("performed", "asserted", "structure", "text")


class Judged(NamedTuple):
    """A verdict, and the reason if it is not ``pass``."""

    verdict: Verdict
    reason: str


def default_level(steps: Sequence[Step]) -> Level:
    """The default level: ``asserted`` if the author asserted something, otherwise ``text``. An ``extract`` counts at both
    levels.
    """
    return "asserted" if any(step.held for step in steps) else "text"


def holds(match: StepMatch, level: Level, *, strict: bool = False) -> bool:
    """True if a step of a replay equals the recording at ``level`` and at the levels before it.

    strict: at level ``text``, masked parts must be equal too.
    """
    if not match.performed:
        return False
    exact = match.text in ("", "same")
    text = exact or (match.text == "masked" and not strict)
    place = LEVELS.index(level)
    return (
        (place < 1 or (match.held and not match.alert))
        # The text contains role, name and states of every element, so with equal text the structure is equal too, except for
        # wrappers, which only the state hash contains. Numbers are not in the state hash.
        and (place < 2 or (match.url and (match.state or match.text == "numbers" or (bool(match.text) and text))))
        and (place < 3 or (match.title and match.extracted and text))
    )


def matches(match: StepMatch, step: Step, level: Level, *, strict: bool = False) -> bool:
    """True if a step counts as matched: it holds at ``level``, and nothing else failed that succeeded in the recording."""
    if level == "text" and (
        not same_content(step.downloads, match.downloads) or other_dialogs(step.dialogs, match.dialogs)
    ):
        return False
    return holds(match, level, strict=strict) and not new_faults(match, step)


def new_faults(match: StepMatch, step: Step) -> tuple[str, ...]:
    """Faults in the requests and dialogs of a replayed step that the recording does not have. Missing requests come first."""
    before, met = set(_wrong(step, step.expect)), _wrong(match, step.expect)
    lacks = f"it sent {len(step.effects) - len(match.unsent)} of {len(step.effects)} requests that change something"
    unsent = (lacks,) if match.unsent else ()
    return (*unsent, *(said for said in met if said not in before), *other_downloads(step.downloads, match.downloads))


def wrong_requests(faults: Sequence[RequestFault], expect: Expect | None) -> tuple[str, ...]:
    """Faults in the requests of a step, in words: those that failed unexpectedly, and expected failures that did not occur."""
    wrong = [_said(fault) for fault in faults if not _expected(fault, expect)]
    return (*wrong, *_absent(faults, expect))


def _wrong(seen: Step | StepMatch, expect: Expect | None) -> tuple[str, ...]:
    """The unexpected effects of a step, and its missing expected effects, in words."""
    tab = ("no new tab was opened, as expected",) if expect and expect.tab and not seen.tab else ()
    return (*wrong_requests(seen.faults, expect), *wrong_dialogs(seen.dialogs, expect), *tab)


def wrong_dialogs(dialogs: Sequence[Dialog], expect: Expect | None) -> tuple[str, ...]:
    """The unexpected dialogs of a step, in words."""
    answer = expect.dialog if expect else None
    return tuple(f"unexpected dialog: {describe_dialog(dialog)}" for dialog in unexpected(dialogs, answer))


def other_downloads(recorded: Sequence[Download], met: Sequence[Download]) -> tuple[str, ...]:
    """The missing and the additional downloads of a replayed step, in words. Digits in names are ignored."""
    names = [[_DIGITS.sub("#", one.name) for one in downloads if not one.fault] for downloads in (recorded, met)]
    gone, new = Counter(names[0]) - Counter(names[1]), Counter(names[1]) - Counter(names[0])
    return (*(f"no download of “{name}”" for name in gone), *(f"unexpected download of “{name}”" for name in new))


def other_dialogs(recorded: Sequence[Dialog], met: Sequence[Dialog]) -> tuple[str, ...]:
    """The dialogs of a replay whose text differs from the recorded one, in words. White space is folded."""
    said = [[(one.kind, " ".join(one.message.split())) for one in dialogs] for dialogs in (recorded, met)]
    if said[0] == said[1]:
        return ()
    other = (one for place, one in enumerate(met) if said[1][place] not in said[0][place : place + 1])
    return tuple(f"another dialog: {describe_dialog(one)}" for one in other) or ("no dialog, as recorded",)


def same_content(recorded: Sequence[Download], met: Sequence[Download]) -> bool:
    """True if the downloads of a step have the recorded contents."""
    return sorted(one.sha256 for one in recorded) == sorted(one.sha256 for one in met)


def judge_recording(steps: Sequence[Step], skipped: Sequence[Skipped] = ()) -> Judged:
    """``pass`` if every step was performed, every assertion held, no request failed unexpectedly and no unexpected dialog came.

    skipped: steps of an imported recording that were left out. If there are any, the recording does not pass.
    """
    reason = next(_speaking_against(steps, skipped), "") if steps else "no step was performed"
    return _judged(reason, any(step.ok for step in steps))


def judge_replay(
    session: Session, steps: Sequence[Step], met: Sequence[StepMatch], level: Level, *, strict: bool = False
) -> Judged:
    """``pass`` if the recording passed and every replayable step matched at ``level``.

    steps: the steps that a replay performs, in order; ``met`` begins with the same steps.
    """
    reason = ""
    for step, match in zip(steps, met, strict=False):
        if not matches(match, step, level, strict=strict):
            reason = f"step {step.index}: {_difference(match, step, level, strict=strict)}"
            break
    if not reason and len(met) < len(steps):
        reason = "not every step was performed"
    if not reason and not steps:
        reason = "the recording has no step to perform"
    # Even if its signer claims that it passed: a recording with left-out steps does not pass.
    if not reason and (session.verdict is not Verdict.PASS or session.skipped):
        reason = f"the recording did not pass: {session.reason}" if session.reason else "the recording did not pass"
    return _judged(reason, any(match.performed for match in met))


def _judged(reason: str, any_performed: bool) -> Judged:
    if not reason:
        return Judged(Verdict.PASS, "")
    return Judged(Verdict.PARTIAL if any_performed else Verdict.FAIL, reason[: limits.REASON_CHARS_MAX])


def doubts(step: Step) -> tuple[str, ...]:
    """Remarks about a step for its author, in words. They do not change the verdict."""
    said = []
    if step.unseen:
        said.append(f"it was never there, on no page before: “{describe(step.action)}” holds of a misspelt name too")
    if step.ok and isinstance(step.action, Extract) and step.action.compare == "value" and not step.extracted:
        said.append(f"it read nothing: a replay of “{describe(step.action)}” compares nothing with nothing")
    return (*said, *step.notes)


def _speaking_against(steps: Sequence[Step], skipped: Sequence[Skipped]) -> Iterator[str]:
    for step in steps:
        # A step left out before a failed step may be the reason for the failure.
        yield from (_left_out(one) for one in skipped if one.before == step.index)
        if step.held == "failed" and step.error in ("", "action.assertion_failed"):
            yield f"step {step.index}: the assertion did not hold"
        elif not step.ok:
            yield f"step {step.index}: not performed ({step.error})"
        if step.ok and step.written == LOST:
            yield f"step {step.index}: {LOST_TEXT}"
        broken = (f"download of {describe_download(one)}" for one in step.downloads if one.fault)
        for said in (*_wrong(step, step.expect), *broken):
            yield f"step {step.index}: {said}"
    yield from map(_left_out, skipped)


def _left_out(skipped: Skipped) -> str:
    return f"{skipped.place} of the imported file was skipped ({skipped.what}): {skipped.reason}"


def _difference(match: StepMatch, step: Step, level: Level, *, strict: bool) -> str:
    """The first level at which a step does not hold, in words."""
    if not match.performed:
        return f"not performed ({match.error})"
    wrong = new_faults(match, step)
    if wrong:
        return wrong[0]
    if holds(match, level, strict=strict):
        return next(iter(other_dialogs(step.dialogs, match.dialogs)), "another content of the download")
    first = next((each for each in LEVELS if not holds(match, each, strict=strict)), level)
    if first == "asserted" and match.alert:
        return f"a new {match.alert} on the page"
    if first == "asserted":
        return "the assertion did not hold" if match.extracted else "another extracted value"
    if first == "structure":
        return "other address" if not match.url else "other controls or headings"
    if match.text not in ("", "same", "masked") or (strict and match.text == "masked"):
        return "other numbers in the text" if match.text == "numbers" else "other text"
    return "other title" if not match.title else "other extracted text"


def _expected(fault: RequestFault, expect: Expect | None) -> bool:
    if expect is None:
        return False
    if fault.fault == "status":
        return fault.status == expect.status
    return {"refused": expect.refused, "failed": expect.failed, "open": expect.open}[fault.fault]


def _absent(faults: Sequence[RequestFault], expect: Expect | None) -> tuple[str, ...]:
    """The expected effects that no request had."""
    if expect is None:
        return ()
    met = {fault.fault for fault in faults}
    absent = [
        f"no request was answered with {expect.status}, as expected"
        if expect.status and not any(_expected(fault, expect) for fault in faults if fault.fault == "status")
        else "",
        "no request was refused, as expected" if expect.refused and "refused" not in met else "",
        "no request failed, as expected" if expect.failed and "failed" not in met else "",
        "no request was left open, as expected" if expect.open and "open" not in met else "",
    ]
    return tuple(filter(None, absent))


def _said(fault: RequestFault) -> str:
    match fault.fault:
        case "refused":
            return f"the guard refused {fault.request}"
        case "status":
            return f"{fault.request} was answered with {fault.status}"
        case "failed":
            return f"{fault.request} failed"
        case "open":
            return f"{fault.request} was not answered by the end of the step"
