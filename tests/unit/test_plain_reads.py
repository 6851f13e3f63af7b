"""Which requests Chromium sends without a pause: the patterns for ``Fetch``, and when they hold."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Any, Final, cast
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from playwright.async_api import CDPSession

from adapters.browser.egress import plain
from adapters.browser.egress.plain import PlainReads, doubtful
from protocol.risk.addresses.address_prefilter import DOUBTFUL_PARTS
from protocol.risk.addresses.addresses import destructive_url
from protocol.risk.requests.requests import GuardPolicy, judge_request
from tests.tables import each

ORIGIN: Final = "http://127.0.0.1:8080"
PATTERNS: Final = doubtful([ORIGIN, "https://shop.example"])
ALL: Final = [{"urlPattern": "*"}]


def expression(pattern: str) -> str:
    """A pattern as Chromium reads it: ``*`` any text, ``?`` one character or none, a backslash before a plain character."""
    parts = re.findall(r"\\.|.", pattern)
    return "".join({"*": ".*", "?": ".?"}.get(part, re.escape(part[-1])) for part in parts)


ADDRESSES: Final = re.compile(
    "|".join(expression(each["urlPattern"]) for each in PATTERNS if "resourceType" not in each)
)


def is_paused(url: str) -> bool:
    return ADDRESSES.fullmatch(url) is not None


@each(
    "path",
    ["", "assets/shop.css", "images/mugs/green.svg?v=12", "a/b.js?w=320&h=240&fit=crop,top", "font-bold_2.woff2"],
)
def test_a_plain_address_of_a_known_origin_is_not_paused(path: str) -> None:
    assert not is_paused(f"{ORIGIN}/{path}")
    assert not is_paused(f"https://shop.example/{path}")


@each(
    "url",
    [
        "http://127.0.0.1:80801/a.png",
        "http://127.0.0.1:808/a.png",
        "http://127.0.0.1/a.png",
        "https://127.0.0.1:8080/a.png",
        "http://127.0.0.1:8080@evil.example/a.png",
        "https://shop.example.evil.example/a.png",
        "https://shop.exampl/a.png",
        "http://169.254.169.254/a.png",
        "https://shop.example",
        "file:///etc/hostname",
        "h",
        "",
    ],
)
def test_every_address_of_another_origin_is_paused(url: str) -> None:
    """Guard: adapters/browser/egress/plain.py, _elsewhere."""
    assert is_paused(url)


@given(st.text(st.sampled_from([chr(code) for code in range(0x20, 0x7F)]), max_size=40))
def test_no_address_but_of_a_known_origin_is_sent_unasked(url: str) -> None:
    assert is_paused(url) or url.startswith((f"{ORIGIN}/", "https://shop.example/"))


PIECES: Final = st.one_of(
    st.sampled_from([*" ".join(DOUBTFUL_PARTS).split(), "my", "image", "Delete", "LogOut", "1", "yes"]),
    st.sampled_from(["/", "-", "_", ".", "?", "&", "=", "+", "%20", "%2F", ".png", "action", "confirm"]),
    st.text(st.sampled_from("abcdelmrtoxyz019"), max_size=5),
)


@given(st.lists(PIECES, max_size=8).map("".join), st.booleans())
@example("log+out", False)
@example("a?do=kill&b", False)
@example("x?confirm", False)
@example("%64elete", False)
def test_what_the_guard_could_refuse_is_paused(path: str, escaped: bool) -> None:
    """Guard: adapters/browser/egress/plain.py, doubtful."""
    url = f"{ORIGIN}/{quote(path, safe='/?&=.-_') if escaped else path}"
    refused = destructive_url(url, "image") or judge_request(
        "GET", url, "image", False, None, GuardPolicy(origins=(ORIGIN,))
    )
    assert is_paused(url) or not refused


class Told:
    """A CDP session that notes what is to be paused."""

    def __init__(self) -> None:
        self.patterns: list[list[dict[str, str]]] = []
        self.changed = asyncio.Event()

    async def send(self, method: str, params: Mapping[str, Any]) -> None:
        assert method == "Fetch.enable"
        self.patterns.append(params["patterns"])
        self.changed.set()

    async def next(self) -> list[dict[str, str]]:
        await asyncio.wait_for(self.changed.wait(), 120)
        self.changed.clear()
        return self.patterns[-1]


def document(path: str = "/") -> dict[str, Any]:
    return {"resourceType": "Document", "request": {"url": ORIGIN + path}}


def picture(origin: str) -> dict[str, Any]:
    return {"resourceType": "Image", "request": {"url": f"{origin}/a.png"}}


async def begun(policy: GuardPolicy) -> tuple[Told, PlainReads]:
    told = Told()
    reads = PlainReads(cast(CDPSession, told))
    await reads.start()
    await reads.admit(policy)
    assert await told.next() == ALL
    return told, reads


async def test_files_are_sent_unasked_once_a_document_of_their_origin_was_permitted() -> None:
    told, reads = await begun(GuardPolicy())
    reads.permitted(document("/a"), GuardPolicy())
    assert await told.next() == doubtful([ORIGIN])
    reads.permitted(document("/b"), GuardPolicy())
    reads.release(GuardPolicy())
    await reads.admit(GuardPolicy())
    await asyncio.sleep(0)
    assert len(told.patterns) == 2


async def test_what_was_learned_under_the_policy_of_a_page_that_is_gone_counts_for_no_other() -> None:
    """Guard: adapters/browser/egress/plain.py, PlainReads.admit."""
    told, reads = await begun(GuardPolicy())
    reads.permitted(document(), GuardPolicy())
    assert await told.next() == doubtful([ORIGIN])
    reads.release(GuardPolicy())
    await reads.admit(GuardPolicy(origins=("https://shop.example",)))
    assert told.patterns[-1] == ALL


async def test_files_of_an_origin_without_documents_are_sent_unasked_after_a_few() -> None:
    told, reads = await begun(GuardPolicy())
    for _ in range(3):
        assert told.patterns == [ALL]
        reads.permitted(picture("https://files.example"), GuardPolicy())
    assert await told.next() == doubtful(["https://files.example"])


async def test_no_origin_counts_for_a_page_under_another_policy() -> None:
    """Guard: adapters/browser/egress/plain.py, PlainReads.permitted."""
    told, reads = await begun(GuardPolicy())
    reads.permitted(document(), GuardPolicy())
    assert await told.next() == doubtful([ORIGIN])
    strict = GuardPolicy(origins=("https://shop.example",))
    await reads.admit(strict)
    assert await told.next() == ALL
    reads.permitted(document(), GuardPolicy())
    await asyncio.sleep(0)
    assert len(told.patterns) == 3
    reads.release(strict)
    reads.permitted(document(), GuardPolicy())
    assert await told.next() == doubtful([ORIGIN])


async def test_where_an_origin_leads_is_judged_again_after_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain, "_KEPT_S", 0.01)
    told, reads = await begun(GuardPolicy())
    reads.permitted(document(), GuardPolicy())
    while (patterns := await told.next()) != ALL:
        assert patterns == doubtful([ORIGIN])
