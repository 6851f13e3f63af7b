"""Addresses that nobody can read, and those that hold a card number, and when a guard refuses them."""

from __future__ import annotations

from adapters.browser.egress.closely import Closely
from adapters.ports.browser import Given
from protocol.page.actions.action import Click, Fill, Locator, Secret
from protocol.page.secrets.secrets import GivenSecret, Secrets
from protocol.risk.addresses.opaque import is_opaque
from protocol.risk.requests.refused import CARD, OPAQUE, TYPED, may_be_allowed, meaning
from protocol.risk.requests.requests import GuardPolicy, judge_request
from tests.tables import each

SITE = "https://shop.example"
OPAQUE_ONES = """
/u/Zx81kq
/u/Zx81kqVb7TnQ
/x/7
/7
/u/9f8e7d6c5b4a
/e/c/8f14e45fceea167a
/l/550e8400-e29b-41d4-a716-446655440000
/r/xYqKdLmPQrStUvWx
/click?upn=Zx81kqVb7TnQ
/t?Zx81kqVb7TnQ
/?p=7
/a.php?n=7
/email/Zx81kqVb7TnQ
/o.gif?t=Zx81kqVb7TnQ
/%5aX81kq9
/ls/Zx81.kqVb7-TnQ~8
/welcome/Zx81kqVb7TnQ
/u/Zx81kq/
"""
READABLE = """
/
/items
/items/7
/items/550e8400-e29b-41d4-a716-446655440000
/orders/8f14e45fceea167a
/orders?page=2&sort=name
/account/goodbye
/en/help
/de/
/api/v2/products/mug-7
/search?q=mugs
/thanks?order=8f14e45fceea167a
/static/js/main.3f9a8c12.js
/assets/index-Zx81kq.css
/logo.png?v=3f9a8c12
/items?cursor=eyJpZCI6N30x1
/blog/2026/11/how-we-moved
/конто/7
/api/items/7/details
/news?lang=en&ts=1700000000000
"""


def paths(table: str) -> list[str]:
    return [SITE + line for line in table.split()]


def judged(url: str, *, grave: bool = False, tells: bool = False, allow: tuple[str, ...] = ()) -> str | None:
    return judge_request("GET", url, "image", False, "", GuardPolicy(allow=allow), grave=grave, tells=tells)


def test_an_address_without_a_readable_page_is_refused_while_a_grave_control_is_at_work_and_only_then() -> None:
    """Guard: protocol/risk/addresses/opaque.py, is_opaque."""
    wrong = [url for url in paths(OPAQUE_ONES) if judged(url, grave=True) != OPAQUE or judged(url)]
    wrong += [url for url in paths(READABLE) if judged(url, grave=True)]
    assert not wrong
    assert is_opaque("http://[broken")


def test_what_is_refused_so_can_be_allowed_by_its_address() -> None:
    url = f"{SITE}/u/Zx81kqVb7TnQ"
    assert judged(url, grave=True, allow=(f"GET {url}",)) is None
    for rule in (OPAQUE, TYPED, CARD):
        assert may_be_allowed(rule)
        assert "says “" not in meaning(rule)


@each(
    ("query", "refused"),
    [
        ("n=4111111111111111", True),
        ("cardnumber=4111+1111+1111+1111", True),
        ("card%5Bnumber%5D=4111-1111-1111-1111", True),
        ("cvc=123", True),
        ("card_cvv=1234", True),
        ("cc-csc=123", True),
        ("iban=DE89370400440532013000", True),
        ("card=7", False),
        ("id=4111111111111112", False),
        ("t=1700000000000", False),
        ("cvc=help", False),
        ("pan=left", False),
    ],
)
def test_a_card_is_not_sent_in_an_address(query: str, refused: bool) -> None:
    """Guard: protocol/risk/addresses/opaque.py, holds_card."""
    assert (judged(f"{SITE}/pay/check?{query}") == CARD) is refused


async def test_a_secret_that_was_typed_is_not_sent_in_an_address() -> None:
    """Guard: adapters/browser/egress/closely.py, Closely.says."""
    given = {
        "word": GivenSecret(value="correct horse 7", origins=(SITE,)),
        "user": GivenSecret(value="alice-1984", origins=(SITE,), text=True),
    }
    secrets, closely = Secrets(given), Closely()
    url = f"{SITE}/p?x=correct+horse%207"
    assert not closely.says(url)["tells"], "it was not typed"
    paused: list[None] = []

    async def pauses() -> None:
        paused.append(None)

    closely.pauses = pauses
    for name in given:
        await closely.begin(Fill(target=Locator(), value=Secret(secret=name)), secrets, Given())
        closely.end()
    assert len(paused) == len(given)
    encoded = "Y29ycmVjdCBob3JzZSA3"
    for carries in (url, f"{SITE}/correct%20horse%207.png", f"{SITE}/p?x={encoded}", "https://evil.example/alice-1984"):
        assert closely.says(carries)["tells"], carries
    for other in (f"{SITE}/p?x=1", f"{SITE}/people/alice-1984"):
        assert not closely.says(other)["tells"], other
    assert judged(url, tells=True) == TYPED


async def test_the_window_of_a_grave_press_stays_open_after_the_action() -> None:
    closely = Closely()
    assert not closely.looks
    await closely.begin(Click(target=Locator()), Secrets(), Given(grave=True))
    assert closely.says(SITE)["grave"]
    closely.end()
    assert closely.says(SITE)["grave"], "a timer of the page may send it now"
    await closely.begin(Click(target=Locator()), Secrets(), Given())
    closely.end()
    assert closely.looks, "another press does not end it"
