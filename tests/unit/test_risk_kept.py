"""The truth of ``make bench-risk`` that is kept in the repository."""

from __future__ import annotations

import gzip
from pathlib import Path

import msgspec
import pytest

from benchmarks.risk.correcting import additions, corrections, fits, sent_nothing
from benchmarks.risk.kept import FOLDER, Collected, Head, read, reduced, write
from benchmarks.risk.records import Control, Place, Request, Truth
from benchmarks.risk.targets import TARGETS

ORIGIN = "http://127.0.0.1:18310"
FORM = "application/x-www-form-urlencoded"


def request(url: str = "/", body: str = "", content_type: str = "") -> Request:
    return Request(method="POST", url=f"{ORIGIN}{url}", kind="fetch", body=body, content_type=content_type)


def truth(name: str, *requests: Request) -> Truth:
    control = Control(selector=f"#{name}", kind="click", tag="button", label=name)
    return Truth(application="shop", place=Place(path="/"), control=control, kind="click", requests=requests)


def test_what_is_kept_is_read_as_if_it_had_been_served_at_another_port(tmp_path: Path) -> None:
    page = request("/rows")
    kept = Collected(
        head=Head(origin=ORIGIN, noise=("db:time",), loads=(page, page)), truths=(truth("b", page), truth("a"))
    )
    write("shop", kept, tmp_path)
    found = read("shop", "http://127.0.0.1:18999", tmp_path)
    assert found is not None
    assert (found.head.noise, [each.url for each in found.head.loads]) == (
        ("db:time",),
        ["http://127.0.0.1:18999/rows"],
    )
    assert [each.control.label for each in found.truths] == ["a", "b"]
    assert read("other", ORIGIN, tmp_path) is None


def test_the_same_truth_makes_the_same_file(tmp_path: Path) -> None:
    kept = Collected(head=Head(origin=ORIGIN), truths=(truth("a", request()),))
    assert write("one", kept, tmp_path).read_bytes() == write("two", kept, tmp_path).read_bytes()


@pytest.mark.parametrize(
    ("given", "url", "body"),
    [
        (request("/rows?csrf=ab12&id=7"), "/rows?csrf=x&id=7", ""),
        (request(body="csrfmiddlewaretoken=ab12&title=figs&new_password1=pears", content_type=FORM), "/", None),
        (request(body="------x\r\npears", content_type="multipart/form-data; boundary=x"), "/", ""),
        (
            request(body='{"method": "items.list"}', content_type="application/json"),
            "/",
            '{"method": "items.list"}',
        ),
        (
            msgspec.structs.replace(request(body='42["sign-out",{"token": "ab12", "all": true}]'), kind="websocket"),
            "/",
            '42["sign-out",{"token": "x", "all": true}]',
        ),
        (
            request(body=f'42["sign-out","{"0a" * 16}"]', content_type="text/plain;charset=UTF-8"),
            "/",
            '42["sign-out","x"]',
        ),
    ],
    ids=[
        "a token in the address",
        "secrets in a form",
        "a form with files",
        "a call",
        "a message",
        "a message by POST",
    ],
)
def test_no_secret_is_kept(given: Request, url: str, body: str | None) -> None:
    kept = reduced(given)
    expected = "csrfmiddlewaretoken=x&title=figs&new_password1=x" if body is None else body
    assert (kept.url, kept.body) == (ORIGIN + url, expected)


def test_each_application_has_its_truth() -> None:
    """A renamed one would silently be measured no more."""
    assert {file.name.removesuffix(".jsonl.gz") for file in FOLDER.iterdir()} == {each.name for each in TARGETS}
    for target in TARGETS:
        found = read(target.name, target.origin)
        assert found is not None and found.truths, target.name
        assert {each.application for each in found.truths} == {target.name}
        assert all(reduced(sent) == sent for each in found.truths for sent in each.requests)


def test_each_effect_of_an_action_that_sent_nothing_is_corrected_with_a_reason_and_no_other_one() -> None:
    """What is kept holds what was found; reading corrects it."""
    found, left = [], []
    for target in TARGETS:
        known = read(target.name, target.origin)
        assert known is not None
        _, *lines = gzip.decompress((FOLDER / f"{target.name}.jsonl.gz").read_bytes()).splitlines()
        before = [msgspec.json.decode(line, type=Truth) for line in lines]
        found += [
            (each.application, change)
            for each, now in zip(before, known.truths, strict=True)
            for change in each.effect
            if change not in now.effect
        ]
        counted = (each for each in known.truths if each.effect and not each.error)
        left += [each for each in counted if sent_nothing(each, known.head.loads)]
    assert not left
    assert {*found} == {(each.application, each.change) for each in corrections()}
    assert len(found) == 5


def test_each_effect_that_is_missing_is_added_to_the_actions_that_sent_its_request() -> None:
    for addition in additions():
        known = read(addition.application, ORIGIN)
        assert known is not None
        _, *lines = gzip.decompress((FOLDER / f"{addition.application}.jsonl.gz").read_bytes()).splitlines()
        before = (msgspec.json.decode(line, type=Truth) for line in lines)
        assert [now.effect for old, now in zip(before, known.truths, strict=True) if fits(addition, old)] == [
            (addition.change,)
        ]


def test_an_action_sent_something_unless_a_browser_asks_for_it_by_itself() -> None:
    icon = msgspec.structs.replace(request("/icon.ico"), method="GET", kind="other")
    acted = msgspec.structs.replace(icon, acted=True)
    assert sent_nothing(truth("a", request()), ())
    assert sent_nothing(truth("a", acted), (icon,))
    assert not sent_nothing(truth("a", acted), ())
    assert not sent_nothing(truth("a", msgspec.structs.replace(acted, kind="image")), (icon,))
