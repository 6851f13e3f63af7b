"""The judgement of addresses on the tables of both halves, and by form."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.risk.addresses import URL_CHARS_MAX, destructive_url, judge_address
from tests.addresses import TABLES, Row, rows


def wrong(half: list[Row]) -> tuple[list[str], list[str]]:
    """Commands that pass, and what reads and is refused."""
    missed = [row.url for row in half if row.changes and not destructive_url(row.url)]
    return missed, [row.url for row in half if not row.changes and destructive_url(row.url)]


@pytest.mark.parametrize(
    ("table", "missed_max", "refused_max"),
    [
        ("developed", 12, 7),
        ("second", 5, 6),
        ("third", 3, 0),
        ("fourth", 1, 0),
        ("fifth", 2, 3),
        ("sixth", 58, 5),
        ("seventh", 3, 0),
        ("eighth", 160, 16),
        ("ninth", 498, 61),
    ],
)
def test_of_the_known_addresses_no_more_is_misjudged_than_is_published(
    table: str, missed_max: int, refused_max: int
) -> None:
    """Guard: protocol/risk/addresses.py, Path._counts."""
    missed, refused = wrong(rows(table))
    assert len(missed) <= missed_max, missed
    assert len(refused) <= refused_max, refused


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
    assert (deletes.source, deletes.level, deletes.certain) == ("request", 7, True)
    assert deletes.says == "its address says “delete”"
    assert publishes.level == 4


def test_so_much_of_an_address_is_read_as_servers_take() -> None:
    path = "/" + "a" * (URL_CHARS_MAX - 40) + "/7/"
    assert destructive_url(f"https://a.example{path}delete")
    assert not destructive_url(f"https://a.example{path}{'a' * 40}/7/delete")
