"""The traps that are pages of kinds of applications."""

from __future__ import annotations

import re
from urllib.parse import urljoin, urlsplit

from benchmarks.risk.traps.families import LANGUAGES, NAMES, TOPS, TRAPS, path_of
from benchmarks.risk.traps.site import page, writes


def test_pages_of_applications_hold_both_kinds() -> None:
    assert len(LANGUAGES) >= 24
    for family in LANGUAGES:
        kinds = [bool(trap.writes) for trap in TRAPS if trap.family == family]
        assert 8 <= len(kinds) <= 10
        assert min(kinds.count(True), kinds.count(False)) >= 4
    assert LANGUAGES.keys() <= NAMES.keys()


def test_a_page_is_in_the_language_of_its_family_below_its_heading() -> None:
    family = next(each for each in LANGUAGES if LANGUAGES[each] == "fr")
    assert "<html lang=fr>" in page(family)
    assert page(family).index(TOPS[family]) < page(family).index("<section>")
    assert "<html lang=en>" in page(1)
    assert "<header>" not in page(1)


def test_what_a_request_changes_is_told_by_its_body_where_a_trap_says_so() -> None:
    said, text = next(
        write.split(" ~ ") for trap in TRAPS for write in trap.writes if write.startswith("POST /graphql ~ ")
    )
    assert writes(said, f"{{{text}}}".encode())
    assert not writes(said, b"{}")
    assert not writes("GET /graphql", text.encode())


def test_no_link_of_a_page_of_an_application_leads_to_another_trap_page() -> None:
    for trap in TRAPS:
        if trap.family in LANGUAGES:
            found = re.findall('(?<![-a-z])(?:href|action)="([^"#][^"]*)"', trap.markup)
            paths = [urlsplit(urljoin(f"http://a.example{path_of(trap.family)}", each)).path for each in found]
            assert not [path for path in paths if path.startswith("/f/")], trap.markup
