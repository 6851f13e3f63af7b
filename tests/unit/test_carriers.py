"""A secret, and personal data, that a page says in everything a page can say, is in nothing that is stored or told."""

from __future__ import annotations

import json

import pytest

from protocol.page.secrets.personal import TOKEN
from protocol.page.secrets.secrets import GivenSecret
from tests.carriers import CARRIERS, leaks_of, visit
from tests.unit.test_secret_search import MADE, VALUES
from tests.unit.test_sessions_room import ORIGIN

VALUE = VALUES[0]
PERSON = "alice.canary@example.org"
SAMPLE = ("as it is", "reversed upper", "zero width", "percent twice", "base64", "dashed")


@pytest.mark.parametrize("form", SAMPLE)
def test_a_secret_is_in_nothing_that_is_stored_or_told_of_a_site_that_says_it_everywhere(form: str) -> None:
    assert leaks_of(VALUE, MADE[form](VALUE)) == []


def test_an_element_whose_name_holds_a_secret_is_found_again_by_a_replay() -> None:
    """Guard: node/live/finding/personal.py, shown_name."""
    left = visit(VALUE, {"word": GivenSecret(value=VALUE, origins=(ORIGIN,), text=True)})
    replayed = json.loads(left.told["replayed"])["report"]["steps"]
    assert [step.get("error", "") for step in replayed] == [""] * 9


def test_personal_data_is_in_nothing_that_is_stored_of_a_site_that_says_it_everywhere() -> None:
    left = visit(PERSON, {})
    # The owner is asked about what stands on the page.
    del left.kept["asked"]
    assert left.places("alice.canary", "example.org", told=False) == []
    marked = {token[0] for text in left.kept.values() for token in TOKEN.finditer(text)}
    assert len(marked) == 1, "the same person has the same token everywhere"


def test_what_is_said_is_said_where_nobody_gave_it_as_a_secret() -> None:
    """Or the tests above would find nothing in anything."""
    left = visit(VALUE, {})
    assert {"session 2", "exported.bundle", "session.html", "replayed.html"} <= set(left.places(VALUE, told=False))
    assert {"shown", "printed", "events", "error 0", "error 2", "error 9"} <= set(left.places(VALUE, told=True))
    assert len(CARRIERS) >= 15
