"""Where secrets are read from: each source, its limits, and that no refusal says anything of a value."""

from __future__ import annotations

import io
import shlex
import sys
import time
from pathlib import Path

import pytest

from adapters.keys.os_keyring import _guarded
from adapters.keys.values import from_command, from_keyring
from node.cli.base.secret_sources import only_needed, parse_source, read_secrets
from protocol import limits
from protocol.errors import MeshError
from tests.contract.test_keys import Keyring, LockedKeyring
from tests.tables import each

PYTHON = shlex.quote(sys.executable)


def script(directory: Path, text: str) -> list[str]:
    file = directory / "script.py"
    file.write_text(text)
    return [sys.executable, str(file)]


def refused(call: object, code: str) -> str:
    with pytest.raises(MeshError) as caught:
        call()  # type: ignore[operator]
    assert caught.value.code == code
    shown = f"{caught.value!r} {caught.value.to_dict()} {caught.value.__cause__!r}"
    assert "hunter2" not in shown
    return caught.value.message


def test_each_source_gives_its_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "word").write_text("of a file\n")
    monkeypatch.setenv("WORD", "of a variable")
    words = " ".join(map(shlex.quote, script(tmp_path, "print('of a program')")))
    given = read_secrets(
        (
            f"a@https://a.example=file:{tmp_path}/word",
            "b:text=env:WORD",
            f"c=cmd:{words}",
            f"d=totp:@{tmp_path}/word",
            f"e:basic=@{tmp_path}/word",
        )
    )
    assert given == {
        "a": {"value": "of a file", "origins": ["https://a.example"], "text": False},
        "b": {"value": "of a variable", "origins": [], "text": True},
        "c": {"value": "of a program", "origins": [], "text": False},
        "d": {"value": "of a file", "origins": [], "text": False, "totp": True},
        "e": {"value": "of a file", "origins": [], "text": False, "basic": True},
    }


def test_no_program_inherits_a_variable_that_was_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORD", "hunter2")
    words = " ".join(map(shlex.quote, script(tmp_path, "import os; print(os.environ.get('WORD', 'nothing'))")))
    given = read_secrets((f"a=cmd:{words}", "b=env:WORD", "c=env:WORD"))
    assert [given[name]["value"] for name in "abc"] == ["nothing", "hunter2", "hunter2"]


@each(
    "typed", ["word=hunter2", "word=hunter2:x", "word=totp:hunter2", "word@https://a.example=hunter2", "word=PROMPT:"]
)
def test_a_value_in_the_place_of_a_source_is_refused_and_quoted_nowhere(typed: str) -> None:
    """Guard: node/cli/base/secret_sources.py, parse_source."""
    refused(lambda: parse_source(typed), "secret.literal")


@each(
    "typed", ["hunter2", "a b=env:X", "a=env:hunter2 x", "a=keyring:hunter2", "a=cmd: ", "a=prompt:hunter2", "=env:X"]
)
def test_a_source_that_says_too_little_is_refused(typed: str) -> None:
    refused(lambda: parse_source(typed), "input.invalid")


def test_a_missing_variable_an_empty_value_and_a_pipe_are_told_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOT_THERE", raising=False)
    assert "no variable NOT_THERE" in refused(lambda: read_secrets(("a=env:NOT_THERE",)), "secret.unread")
    monkeypatch.setenv("EMPTY", "")
    assert "is empty" in refused(lambda: read_secrets(("a=env:EMPTY",)), "secret.unread")
    monkeypatch.setenv("LONG", "x" * (limits.SECRET_CHARS_MAX + 1))
    refused(lambda: read_secrets(("a=env:LONG",)), "secret.unread")
    monkeypatch.setattr(sys, "stdin", io.StringIO("hunter2\n"))
    assert "no terminal" in refused(lambda: read_secrets(("a=prompt:",)), "secret.unread")


def test_only_what_is_needed_is_asked_and_nobody_is_asked_what_is_needed_in_vain() -> None:
    """Guard: node/cli/base/secret_sources.py, only_needed."""
    asked: list[int] = []

    def needed() -> frozenset[str]:
        asked.append(1)
        return frozenset({"a"})

    plain = ["f=@word", "e=env:X"]
    assert only_needed(plain, needed) == plain and not asked
    assert only_needed([*plain, "a=prompt:", "b=prompt:", "c=keyring:s/u", "d=cmd:x"], needed) == [*plain, "a=prompt:"]
    assert only_needed(["b=prompt:"], lambda: None) == ["b=prompt:"]


def test_an_entry_of_the_keyring_is_read_and_a_locked_one_says_nothing() -> None:
    keyring = Keyring()
    keyring.set_password("shop", "anna", "hunter2")
    assert from_keyring("shop", "anna", keyring) == "hunter2"
    refused(lambda: from_keyring("shop", "bruno", keyring), "secret.unread")
    refused(lambda: from_keyring("shop", "anna", LockedKeyring()), "secret.unread")


class HangingKeyring(Keyring):
    """A keyring whose service does not answer."""

    def get_password(self, service: str, username: str) -> str | None:
        time.sleep(60)
        return "hunter2"


def test_a_keyring_that_does_not_answer_is_given_up_and_one_that_is_broken_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    began = time.monotonic()
    refused(lambda: from_keyring("shop", "anna", HangingKeyring(), wait_s=0.2), "secret.late")
    monkeypatch.setattr(limits, "SECRET_COMMAND_S", 0.2)
    with pytest.raises(MeshError) as caught:
        _guarded(lambda: HangingKeyring().get_password("shop", "anna"))
    assert caught.value.code == "key.keyring" and "not answered" in caught.value.message
    assert time.monotonic() - began < 30

    def broken() -> None:
        raise ModuleNotFoundError("no module hunter2")

    monkeypatch.setattr("keyring.get_keyring", broken)
    assert "cannot be used: ModuleNotFoundError" in refused(lambda: from_keyring("shop", "anna"), "secret.unread")


def test_a_program_is_run_without_a_shell(tmp_path: Path) -> None:
    words = script(tmp_path, "import sys; print(sys.argv[1])")
    assert from_command([*words, "$(id); `id` *"]) == "$(id); `id` *"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import sys; print('hunter2'); print('hunter2', file=sys.stderr); sys.exit(3)", "ended with status 3"),
        ("pass", "wrote nothing"),
        (f"print('hunter2' * {limits.SECRET_SOURCE_BYTES_MAX})", "writes more than"),
        ("import sys; sys.stdout.buffer.write(b'hunter2\\xff')", "is no text"),
    ],
)
def test_a_program_that_gives_no_value_is_told_without_its_words(
    tmp_path: Path, text: str, said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Guard: adapters/keys/values.py, from_command."""
    assert said in refused(lambda: from_command(script(tmp_path, text)), "secret.unread")
    assert "hunter2" not in "".join(capfd.readouterr())


def test_a_program_that_does_not_start_or_end_is_given_up(tmp_path: Path) -> None:
    assert "does not start" in refused(lambda: from_command(["/no/such/hunt"]), "secret.unread")
    hanging = script(tmp_path, "import time; print('hunter2', flush=True); time.sleep(60)")
    began = time.monotonic()
    refused(lambda: from_command(hanging, wait_s=0.5), "secret.late")
    closed = script(tmp_path, "import os, time; os.close(1); time.sleep(60)")
    refused(lambda: from_command(closed, wait_s=0.5), "secret.late")
    assert time.monotonic() - began < 30
