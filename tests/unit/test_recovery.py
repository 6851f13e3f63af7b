"""The recovery key as a file and as words."""

from __future__ import annotations

import hashlib

import pytest

from adapters.keys.words import fingerprint, from_words, to_words
from protocol import ids, limits
from protocol.errors import MeshError
from protocol.keys import recovery
from tests.key_logs import FIRST, SECOND, public

SEED = hashlib.sha256(b"recovery").digest()
NODE = ids.node_id(public(FIRST))
TEXT = recovery.render(NODE, SEED)
WORDS = to_words(SEED)


def test_file_and_words_give_the_key_back() -> None:
    assert recovery.parse(TEXT, NODE) == SEED
    assert from_words(WORDS) == SEED
    assert len(WORDS.split()) == 24


def test_words_are_those_of_bip_39() -> None:
    """The first vector of 256 bits in the reference list (trezor/python-mnemonic, vectors.json)."""
    assert to_words(bytes(32)) == "abandon " * 23 + "art"


@pytest.mark.parametrize(
    "text",
    [
        WORDS.upper(),
        WORDS.replace(" ", "\n"),
        "\n".join(f"{number}. {word}" for number, word in enumerate(WORDS.split(), 1)),
        "  ".join(f"{number}) {word}" for number, word in enumerate(WORDS.split(), 1)),
    ],
    ids=["capitals", "lines", "numbered", "numbered otherwise"],
)
def test_words_are_read_as_people_write_them(text: str) -> None:
    assert from_words(text) == SEED


def words_with(place: int, word: str) -> str:
    words = WORDS.split()
    words[place] = word
    return " ".join(words)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ".join(WORDS.split()[:-1]),
        WORDS + " abandon",
        words_with(3, "trailmesh"),
        words_with(3, "abandon"),
        " ".join([WORDS.split()[1], WORDS.split()[0], *WORDS.split()[2:]]),
    ],
    ids=["none", "23", "25", "not on the list", "another word", "two swapped"],
)
def test_mistyped_words_are_refused_and_not_repeated(text: str) -> None:
    """Guards: count, list, checksum."""
    with pytest.raises(MeshError) as error:
        from_words(text)
    assert error.value.code == "recovery.invalid"
    assert not set(text.split()) & set(str(error.value.message).replace(":", "").split()) - {
        "that",
        "is",
        "word",
        "list",
    }
    assert error.value.__cause__ is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        TEXT.replace("seed ", "sead "),
        TEXT.replace(SEED.hex(), SEED.hex()[:-1] + ("0" if SEED.hex()[-1] != "0" else "1")),
        TEXT.replace(SEED.hex(), SEED.hex()[:-2]),
        TEXT + TEXT,
        TEXT.replace(NODE, ids.node_id(public(SECOND))),
        recovery.render(ids.node_id(public(SECOND)), SEED),
        "x" * 5_000,
        TEXT + "x" * limits.RECOVERY_FILE_CHARS_MAX,
        TEXT.replace("seed ", "swap ").replace("check ", "seed ").replace("swap ", "check "),
        recovery.render(NODE, SEED + SEED),
    ],
    ids=[
        "empty",
        "a field missing",
        "mistyped",
        "cut",
        "twice",
        "another node written in",
        "of another node",
        "long",
        "long, and right at its beginning",
        "fields with each other's names",
        "twice as long a seed",
    ],
)
def test_a_file_that_is_not_the_recovery_key_of_this_node_is_refused_and_not_quoted(text: str) -> None:
    """Guards: the checks of ``parse``, in order."""
    with pytest.raises(MeshError) as error:
        recovery.parse(text, NODE)
    assert error.value.code == "recovery.invalid"
    assert SEED.hex()[:16] not in str(error.value.to_dict())
    assert error.value.__cause__ is None


def test_six_words_tell_nodes_apart() -> None:
    one, other = (fingerprint(recovery.fingerprint(ids.node_id(public(of)))) for of in (FIRST, SECOND))
    assert len(one.split()) == 6
    assert one != other
