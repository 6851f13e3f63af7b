"""How the values of options are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from node.cli.base.build import READERS, given
from node.verbs.sessions.session_upkeep import FORK
from protocol import limits
from protocol.errors import MeshError
from tests.tables import each


def read(reader: str, typed: Any, name: str = "option") -> Any:
    return READERS[reader](name, typed)


def refused(reader: str, typed: Any, name: str = "option", *, code: str = "input.invalid") -> str:
    """The message of the refusal."""
    with pytest.raises(MeshError) as caught:
        read(reader, typed, name)
    assert caught.value.code == code
    return caught.value.message


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with two files."""
    monkeypatch.chdir(tmp_path)
    Path("word").write_text("hunter 2 \n\n")
    Path("picture").write_bytes(b"\xff\xfe")
    return tmp_path


@each(
    ("typed", "secrets"),
    [
        ((), {}),
        (("a=@word",), {"a": {"value": "hunter 2 ", "origins": [], "text": False}}),
        (("a:text=@word",), {"a": {"value": "hunter 2 ", "origins": [], "text": True}}),
        (
            ("a@https://x.example=@word",),
            {"a": {"value": "hunter 2 ", "origins": ["https://x.example"], "text": False}},
        ),
        (
            ("a:text@https://x.example:8443,https://y.example=@word", "b=@word"),
            {
                "a": {"value": "hunter 2 ", "origins": ["https://x.example:8443", "https://y.example"], "text": True},
                "b": {"value": "hunter 2 ", "origins": [], "text": False},
            },
        ),
    ],
)
def test_a_secret_has_a_name_a_file_and_perhaps_its_sites(typed: tuple[str, ...], secrets: dict[str, Any]) -> None:
    assert read("secrets", typed) == secrets


@each(
    "typed",
    ["a", "a=@", "=@word", "@https://x.example=@word", "a:=@word", "a:html=@word", ":text=@word", "", "a=env:1x"],
)
def test_a_secret_without_a_name_or_a_place_is_refused(typed: str) -> None:
    assert refused("secrets", (typed,)).startswith("--secret needs NAME@https://shop.example=SOURCE")


@each("file", ["none", "picture", "."])
def test_a_secret_that_cannot_be_read_is_refused_by_its_name(file: str) -> None:
    assert refused("secrets", (f"a=@{file}",)) == "the file of the secret a cannot be read"


def test_a_file_is_read_and_a_path_made_absolute(here: Path) -> None:
    assert read("file", "word") == "hunter 2 \n\n"
    for wrong, code, said in (
        ("none", "input.no_file", "none cannot be read: No such file or directory"),
        (".", "input.no_file", ". cannot be read: Is a directory"),
        ("picture", "input.invalid", "picture is not text in UTF-8"),
        ("/dev/zero", "input.too_large", f"/dev/zero: at most {limits.ACTION_FILE_BYTES_MAX} bytes are read"),
    ):
        assert refused("file", wrong, code=code) == said
    assert (read("path", "word"), read("path", "")) == (str(here / "word"), "")


def test_what_begins_like_a_session_is_one_unless_it_is_a_file(here: Path) -> None:
    Path("ses-file").touch()
    told = {text: read("id-or-path", text) for text in ("ses-abc", "SES-ABC", "ses-file", "ses-a.tmsession", "other")}
    assert told == {
        "ses-abc": "ses-abc",
        "SES-ABC": "SES-ABC",
        "ses-file": str(here / "ses-file"),
        "ses-a.tmsession": str(here / "ses-a.tmsession"),
        "other": str(here / "other"),
    }


def test_a_duration_is_a_number_from_1_with_a_unit() -> None:
    assert [read("duration", typed) for typed in ("1s", "1m", "1h", "1d", "999999999s")] == [
        1,
        60,
        3_600,
        86_400,
        999_999_999,
    ]
    assert (read("duration", ""), read("duration", None)) == (0, 0)
    for wrong in ("0s", "s", "1", "-1s", "1w", "1000000000s", "٣s", "1.5h"):
        assert refused("duration", wrong, "retry_after_s") == (
            f"--retry-after needs a duration such as 90m, 12h or 30d, not {wrong!r}"
        )


def test_pairs_have_a_key_and_may_have_an_empty_value() -> None:
    assert read("pairs", ("a=b=c", "d=")) == {"a": "b=c", "d": ""}
    for wrong in ("a", "=b", ""):
        assert refused("pairs", (wrong,), "profile") == f"--profile needs KEY=VALUE, not {wrong!r}"
    assert refused("pairs", ("x" * 100,)).endswith(f"not '{'x' * 80}'")


def test_a_command_is_split_into_words_as_a_shell_would() -> None:
    assert read("words", ("say 'it is done'", "now")) == ["say", "it is done", "now"]
    assert refused("words", ("say 'it",), "notify_command").startswith("--notify-command: ")


def test_a_time_is_utc_unless_it_says_otherwise_and_never_before_1970() -> None:
    told = {text: read("utc", text, "since_s") for text in ("1970-01-01T00:02", "1970-01-01T00:02+00:01", "1960-01-01")}
    assert list(told.values()) == [120, 60, 1]
    assert (read("utc", ""), read("utc", None)) == (0, 0)
    assert refused("utc", "soon", "since_s") == "--since needs a time such as 2025-03-01T12:00, not 'soon'"


def test_an_option_that_is_not_given_is_not_read(here: Path) -> None:
    assert given(FORK, {"session": "ses-A", "actions": None})["actions"] == ""
    assert given(FORK, {"session": "ses-A", "actions": "word"})["actions"] == "hunter 2 \n\n"
