"""Which storage keys can be written again."""

from __future__ import annotations

from node.capsules.seal.browser_state import from_browser, to_browser
from protocol.capsule.flows.portability import findings
from protocol.capsule.state import CapsuleState, OriginStorage, StorageItem
from protocol.capsule.storage_key import site_on_top
from tests.tables import each

FRAME = "https://frame.example"
KEY = f"{FRAME}/^0https://shop.example"


@each(
    ("origin", "key", "site"),
    [
        (FRAME, KEY, "https://shop.example"),
        ("http://localhost:8080", "http://localhost:8080/^0http://127.0.0.1", "http://127.0.0.1"),
        (FRAME, "", ""),
        ("", "/^0https://shop.example", ""),
        (FRAME, f"{FRAME}/", ""),
        (FRAME, f"{FRAME}/^31", ""),
        (FRAME, f"{FRAME}/^11234^21", ""),
        (FRAME, "https://other.example/^0https://shop.example", ""),
        (FRAME, f"{FRAME}/^0https://shop.example:8443", ""),
        (FRAME, f"{FRAME}/^0https://shop.example/path", ""),
        (FRAME, f"{FRAME}/^0https://SHOP.example", ""),
        (FRAME, f"{FRAME}/^0https://u:p@shop.example", ""),
        (FRAME, f"{FRAME}/^0file:///etc/passwd", ""),
        (FRAME, f"{FRAME}/^0javascript:alert(1)", ""),
        (FRAME, f'{FRAME}/^0https://shop.example"><script>', ""),
    ],
)
def test_only_the_key_of_a_frame_below_a_site_has_a_site_on_top(origin: str, key: str, site: str) -> None:
    """Guard: protocol/capsule/storage_key.py, site_on_top."""
    assert site_on_top(origin, key) == site


def test_a_key_of_another_form_stays_in_the_capsule_is_named_and_is_given_to_no_browser() -> None:
    items = (StorageItem(name="x", value="y"),)
    odd = OriginStorage(origin=FRAME, key=f"{FRAME}/^31", local=items)
    state = CapsuleState(storage=(OriginStorage(origin=FRAME, key=KEY, local=items, session=items), odd))
    given = to_browser(state, now_s=0)
    assert given.storage.count(b"storageKey") == 1 and b"^31" not in given.storage and b"session" not in given.storage
    assert [(each.travels, each.what) for each in findings(state, now_s=0)] == [
        (False, f"{FRAME} within {odd.key}"),
        (True, f"{FRAME} within https://shop.example"),
    ]
    assert from_browser(given, state).storage == (OriginStorage(origin=FRAME, key=KEY, local=items), odd)
