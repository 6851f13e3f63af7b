"""Content of uploaded files in requests that otherwise would count as reads."""

from __future__ import annotations

import base64
import random
import time
from urllib.parse import quote, quote_plus

from protocol import limits
from protocol.page.actions.action import Locator, Upload
from protocol.page.seen.observation import BLANK, Element, Traits
from protocol.risk.pressing.classes import classify
from protocol.risk.pressing.pressing import MANY, needs_yes
from protocol.risk.requests.handed import HandedFile, carries_file
from protocol.risk.requests.refused import FILE
from protocol.risk.requests.requests import GuardPolicy, judge_request

TEXT = b"Dear Ann, the offer is 4,711 for all of it. Yours, Bob\n" * 4
BYTES = bytes(range(256)) * 2
FILES = tuple(map(HandedFile, (TEXT, BYTES)))


def test_an_address_that_holds_a_part_of_a_file_is_known_in_every_usual_form() -> None:
    """Guard: protocol/risk/requests/handed.py, carries_file."""
    part = TEXT[7:60]
    forms = [quote(part), quote_plus(part), part.hex(), BYTES[40:90].hex()]
    for data in (part, BYTES[50:101]):
        forms += [base64.b64encode(data).decode(), base64.urlsafe_b64encode(data).decode().rstrip("=")]
        forms += [quote(base64.b64encode(data).decode(), safe="")]
    for form in forms:
        for url in (
            f"https://x.example/p?a=1&q={form}",
            f"https://x.example/log/{form}",
            f"https://x.example/?{form}#x",
        ):
            assert carries_file(url, FILES), url
        assert carries_file(f'{{"query": "{form}"}}', FILES), form
    others = (
        "https://x.example/assets/index-3f9a1c2b77d0e6a5.js",
        "https://x.example/offers/dear-ann?page=2&sort=price-ascending",
        "https://x.example/img?u=" + base64.b64encode(b"another picture, which nobody has handed over").decode(),
        "https://x.example/search?q=the+offer+for+all",
    )
    for url in others:
        assert not carries_file(url, FILES), url
        assert not carries_file(url, ()), url


def test_no_file_however_large_makes_a_request_slow_to_judge() -> None:
    """Guard: protocol/risk/requests/handed.py, carries_file."""
    large = (HandedFile(random.Random(1).randbytes(limits.UPLOAD_BYTES_MAX)),)
    began = time.process_time()
    many = "&".join(
        f"k{number}=" + base64.b64encode(random.Random(1_000 + number).randbytes(30)).decode() for number in range(600)
    )
    assert not carries_file(f"https://x.example/?{many}", large)
    assert time.process_time() - began < 1
    # A page could hide it behind more than is looked at.
    assert carries_file("https://x.example/" + "a/" * 20_000, large)
    assert not carries_file("https://x.example/" + "a/" * 10_000, ())


def test_a_short_file_and_one_that_is_cut_into_the_values_of_a_query_are_known() -> None:
    """Guard: protocol/risk/requests/handed.py, carries_file."""
    short = b"PIN 4821190\n"
    plain = short.strip()
    files = (HandedFile(TEXT), *map(HandedFile, (short, b"no", b"")))
    forms = [quote(plain), quote_plus(plain), quote(short), plain.hex(), plain.hex().upper()]
    forms += [base64.b64encode(each).decode() for each in (plain, short)]
    for form in forms:
        for place in ("p?a=1&q=", "log/", "?"):
            assert carries_file(f"https://x.example/{place}{form}", files), (place, form)
    cut = "&".join(f"a{at}={quote(TEXT[at : at + 9])}" for at in range(0, 90, 9))
    assert carries_file(f"https://x.example/p?{cut}", files)
    for url in (f"https://x.example/p?{cut[:20]}", "https://x.example/pin/4821", "https://x.example/p?q=PIN&r=48211"):
        assert not carries_file(url, files), url


def test_what_carries_a_file_is_no_read_by_whatever_method() -> None:
    """Guard: protocol/risk/requests/requests.py, _hidden_order."""
    url, form = "https://x.example/search?q=x", "application/x-www-form-urlencoded"
    for carries, get, post in ((False, None, None), (True, FILE, "method")):
        assert judge_request("GET", url, "fetch", False, None, GuardPolicy(), carries=carries) == get
        assert (
            judge_request(
                "POST",
                "https://x.example/search",
                "fetch",
                False,
                "q=x",
                GuardPolicy(),
                content_type=form,
                carries=carries,
            )
            == post
        )
    allowed = GuardPolicy(allow=("GET https://x.example/search*",))
    assert judge_request("GET", url, "fetch", False, None, allowed, carries=True) is None


def test_a_file_is_given_without_a_yes_where_nothing_but_reads_can_leave() -> None:
    """Guard: protocol/risk/pressing/pressing.py, needs_yes."""
    field = Element(ref="e1", role="button", name="Photo", traits=Traits(tag="input", input_type="file"))
    upload = Upload(target=Locator(), files=("a",))
    risk = classify(upload, field, BLANK)
    assert risk.level == 4, "what it causes has at least this class"
    assert needs_yes(upload, field, risk, GuardPolicy()) == ""
    assert needs_yes(upload, field, risk, GuardPolicy(allow=("POST https://x.example/files",))) == ""
    for many in (GuardPolicy(read_only=False), GuardPolicy(allow=("WS wss://x.example/live",))):
        assert needs_yes(upload, field, risk, many) == MANY
