"""What a step causes beside the page after it, dialogs and downloads, in the redacted form of a recording."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from protocol import limits
from protocol.page.actions.dialogs import Answer, Dialog
from protocol.page.actions.downloads import Download
from protocol.page.secrets.redaction import redact_text, reveal_text
from protocol.recording.records.session import Expect


def redact_dialogs(dialogs: Sequence[Dialog], secrets: Mapping[str, str]) -> tuple[Dialog, ...]:
    """The first ``DIALOGS_PER_STEP_MAX`` of ``dialogs``, with what they say redacted."""
    kept = dialogs[: limits.DIALOGS_PER_STEP_MAX]
    cut = limits.DIALOG_CHARS_MAX
    return tuple(msgspec.structs.replace(one, message=redact_text(one.message, secrets)[:cut]) for one in kept)


def redact_downloads(downloads: Sequence[Download], secrets: Mapping[str, str]) -> tuple[Download, ...]:
    """The first ``DOWNLOADS_PER_STEP_MAX`` of ``downloads``, with their names redacted."""
    kept, cut = downloads[: limits.DOWNLOADS_PER_STEP_MAX], limits.DOWNLOAD_NAME_CHARS_MAX
    return tuple(msgspec.structs.replace(one, name=redact_text(one.name, secrets)[:cut]) for one in kept)


def redact_notes(notes: Sequence[str], secrets: Mapping[str, str]) -> tuple[str, ...]:
    """The first ``NOTES_PER_STEP_MAX`` of ``notes``, redacted."""
    kept, cut = notes[: limits.NOTES_PER_STEP_MAX], limits.NOTE_CHARS_MAX
    return tuple(redact_text(note, secrets)[:cut] for note in kept)


def redact_expect(expect: Expect | None, secrets: Mapping[str, str]) -> Expect | None:
    """``expect`` with the texts of its dialog redacted, as those of an action are."""
    if expect is None or expect.dialog is None:
        return expect
    return msgspec.structs.replace(expect, dialog=redact_answer(expect.dialog, secrets))


def redact_answer(answer: Answer | None, secrets: Mapping[str, str]) -> Answer | None:
    """``answer`` with its texts redacted: as it is stored, and as it is compared with what a dialog said."""
    if answer is None:
        return None
    return msgspec.structs.replace(
        answer, text=redact_text(answer.text, secrets), reply=redact_text(answer.reply, secrets)
    )


def revealed_answer(answer: Answer | None, secrets: Mapping[str, str]) -> Answer | None:
    """A stored ``answer`` as a dialog is compared with it, which says what it says. What is entered is not revealed: only a field
    that was checked is given a secret.
    """
    return answer if answer is None else msgspec.structs.replace(answer, text=reveal_text(answer.text, secrets))
