"""The judgement of addresses on all tables, and by form."""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from hypothesis import given
from hypothesis import strategies as st

from protocol.risk.addresses.addresses import URL_CHARS_MAX, destructive_url, judge_address
from protocol.risk.addresses.known_applications import KNOWN, known_verdict
from tests.addresses import HERE, SITE, TABLES, rows

LOADED: Final = ("image", "script", "stylesheet", "font")
MISJUDGED: Final = {
    "developed": (13, 7),
    "second": (5, 6),
    "third": (4, 0),
    "fourth": (1, 0),
    "fifth": (5, 3),
    "sixth": (45, 5),
    "seventh": (5, 0),
    "eighth": (153, 15),
    "ninth": (479, 58),
}
"""By table: orders that pass, and what reads and is refused."""


def test_of_the_known_addresses_no_more_is_misjudged_than_is_published() -> None:
    """Guard: protocol/risk/addresses/addresses.py, Path._counts."""
    for table, bounds in MISJUDGED.items():
        half = rows(table)
        missed = [row.url for row in half if row.changes and not destructive_url(row.url)]
        refused = [row.url for row in half if not row.changes and destructive_url(row.url)]
        assert (len(missed) <= bounds[0], len(refused) <= bounds[1]) == (True, True), (table, missed, refused)


def misjudged(*, loads: bool) -> list[str]:
    """The lines of the table by kind that are judged otherwise. loads: those of what a page loads by itself."""
    wrong = []
    for line in (HERE / "loaded.txt").read_text("utf-8").splitlines():
        kind, _, path = line[2:].partition(" ")
        if line[:2] in ("+ ", "- ") and (kind in LOADED) is loads:
            url = path if path.startswith("http") else SITE + path
            if bool(destructive_url(url, kind.strip("-"))) is not (line[0] == "+"):
                wrong.append(line)
    return wrong


def test_what_a_page_loads_by_itself_is_a_file_or_an_order_by_its_place() -> None:
    """Guard: protocol/risk/addresses/addresses.py, Path._is_file."""
    assert misjudged(loads=True) == []


def test_addresses_order_or_read_by_their_words_and_their_place() -> None:
    """Guard: protocol/risk/addresses/addresses.py, Path._proved.
    Guard: protocol/risk/addresses/known_applications.py, known_verdict."""
    assert misjudged(loads=False) == []


def test_every_application_that_is_known_is_one_of_the_tables() -> None:
    loaded = (line.partition("/")[2] for line in (HERE / "loaded.txt").read_text("utf-8").splitlines())
    found = set()
    for url in (*(row.url for table in TABLES for row in rows(table)), *(f"{SITE}/{path}" for path in loaded)):
        parts = urlsplit(url.lower())
        known = known_verdict(unquote(parts.path).rstrip("/") or "/", parse_qsl(parts.query, keep_blank_values=True))
        found |= {known[0]} if known else set()
    assert [row.why for row in KNOWN if row not in found] == []


def test_there_are_hundreds_of_both_kinds_and_none_is_in_two_tables() -> None:
    every = [row for table in TABLES for row in rows(table)]
    assert len({row.url for row in every}) == len(every)
    assert sum(row.changes for row in every) >= 300
    assert sum(not row.changes for row in every) >= 300


_VERBS = st.sampled_from(["delete", "remove", "destroy", "logout", "unsubscribe", "loeschen", "supprimer", "eliminar"])
_IDS = st.one_of(st.integers(1, 10**9).map(str), st.uuids().map(str))
_NAMES = st.sampled_from(["items", "users", "posts", "a/b", "admin/shop", "x"])


@given(_NAMES, _IDS, _VERBS, st.booleans(), st.booleans(), st.sampled_from(["", "/", ".php", ".json", ";a=b", "?x=1"]))
def test_a_verb_beside_an_id_is_a_command_however_it_is_written(
    name: str, number: str, verb: str, first: bool, capital: bool, ending: str
) -> None:
    verb = verb.capitalize() if capital else verb
    path = f"{verb}/{number}" if first else f"{number}/{verb}"
    assert judge_address(f"https://a.example/{name}/{path}{ending}")
    escaped = "".join(f"%{ord(letter):02x}" for letter in verb)
    assert judge_address(f"https://a.example/{name}/{number}/{escaped}{ending}")
    assert judge_address(f"https://a.example/{name}/{number}/{quote(escaped)}{ending}")


@given(
    st.text(st.sampled_from("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"), min_size=11, max_size=43)
)
def test_an_id_is_no_command_by_chance(text: str) -> None:
    assert judge_address(f"https://a.example/v/{text}") is None or any(
        verb in text.lower() for verb in ("delet", "remov", "logout", "erase", "purge", "unsub")
    )


def test_evidence_names_the_word_and_its_class() -> None:
    deletes, publishes = judge_address("/items/7/delete"), judge_address("/posts/7/publish")
    assert deletes and publishes
    assert (deletes.level, deletes.certain) == (7, True)
    assert deletes.says == "its address says “delete”"
    assert publishes.level == 4


def test_so_much_of_an_address_is_read_as_servers_take() -> None:
    path = "/" + "a" * (URL_CHARS_MAX - 40) + "/7/"
    assert destructive_url(f"https://a.example{path}delete")
    assert not destructive_url(f"https://a.example{path}{'a' * 40}/7/delete")
