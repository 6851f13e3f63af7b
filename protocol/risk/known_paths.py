"""Segments of paths that are no verb by themselves, and order something where they stand: in applications that many sites run.

Each rule says which address it is made for. A rule that needs nothing but a word belongs to ``address_words.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from protocol.risk.address_words import (
    ADDS,
    BEFORE_CODE,
    BEHIND_RECORD,
    CARTS,
    IMPLIED,
    ON_OFF,
    OPERATIONS,
    PAGING,
    SWITCHED,
    word_set,
)
from protocol.risk.segments import Order, is_id, words_in


class Place(NamedTuple):
    """Where a segment stands."""

    segments: Sequence[str]
    """As they are written, without parameters."""
    names: Sequence[str]
    """The same in the form in which words are compared, without extensions."""
    at: int
    asked: bool
    """Whether the address has parameters."""
    titled: bool
    """Whether titles of texts stand here."""

    @property
    def name(self) -> str:
        """Its own name."""
        return self.names[self.at]

    @property
    def behind(self) -> str:
        """The name of the segment before it."""
        return self.names[self.at - 1] if self.at else ""

    @property
    def left(self) -> int:
        """How many segments come after it."""
        return len(self.segments) - self.at - 1


def known_order(place: Place) -> Order | None:
    """What the segment at ``place`` orders by one of the rules below."""
    if place.left and place.name not in _INNER:
        return None  # of an address with thousands of segments each is looked at
    return next((found for rule in _RULES if (found := rule(place))), None)


def _order(word: str) -> Order:
    """An order that names what it is done to."""
    return Order(word, "changing", whole=False, object_within=True)


def _of_cart(place: Place) -> Order | None:
    """``/cart/add``, ``/wishlist/index/add``."""
    if place.name not in ADDS:
        return None
    behind = [place.behind, place.names[place.at - 2] if place.behind == "index" and place.at > 1 else ""]
    cart = next((words[-1] for each in behind if (words := words_in(each)) and words[-1] in CARTS), "")
    return Order(f"add to {cart}", "changing", whole=False) if cart else None


def _of_switch(place: Place) -> Order | None:
    """``/relay/on``, ``/lights/kitchen/off``, ``/led1/on``, ``/26/on``, ``/arduino/digital/13/1``."""
    named = place.behind.rstrip("0123456789")
    if place.name in ON_OFF and named in SWITCHED:
        return _order(f"{place.behind} {place.name}")
    if place.left or not place.at:
        return None
    before = place.names[place.at - 2] if place.at > 1 else ""
    numbered = place.behind.isdecimal() and place.at == 1
    if place.name in ON_OFF and (numbered or before in _SWITCHED_ROOMS or named in _SWITCHED_ROOMS):
        return _order(place.name)
    return _order("digital") if place.name in ("0", "1") and before == "digital" and place.behind.isdecimal() else None


_SWITCHED_ROOMS: Final = SWITCHED | word_set(
    "lights lamps plugs relays switch switches outlets leds devices rooms scene scenes"
)


def _of_door(place: Place) -> Order | None:
    """``/gate/open``."""
    moves = not place.left and place.name in ("open", "close", "unlock", "lock") and place.behind in _DOORS
    return _order(f"{place.name} {place.behind}") if moves else None


_DOORS: Final = word_set("door gate garage shutter shutters blind blinds barrier")


def _behind_record(place: Place) -> Order | None:
    """``/orders/7/refund``, ``/users/7/masquerade``; Magento's ``/order/hold/order_id/7``."""
    if place.name not in BEHIND_RECORD or place.titled or not place.at:
        return None
    if not place.left and is_id(place.segments[place.at - 1]):
        return Order(place.name, "changing", whole=True)
    pair = place.left >= 2 and place.names[place.at + 1].endswith("_id") and is_id(place.segments[place.at + 2])
    return _order(place.name) if pair else None


def _before_code(place: Place) -> Order | None:
    """``/bookings/cancel/ABC123``."""
    fits = place.name in BEFORE_CODE and place.left == 1 and not place.titled and _CODE.fullmatch(place.segments[-1])
    return _order(place.name) if fits else None


_CODE: Final = re.compile(r"(?=[A-Z0-9-]*\d)(?=[A-Z0-9-]*[A-Z])[A-Z0-9-]{5,40}")
"""What a booking or a coupon is called by."""


def _operation(place: Place) -> Order | None:
    """``/admin/run-cron``, ``/db_seed``."""
    fits = not place.left and not place.titled and place.name.replace("_", "-") in OPERATIONS
    return _order(place.name) if fits else None


def _confirmed(place: Place) -> Order | None:
    """``/mailman/confirm/announce/8f14e45f``: a link of a mail."""
    ends = place.segments[-1]
    fits = place.name in _CONFIRMING and place.left and len(ends) >= _TOKEN_CHARS and is_id(ends)
    return _order(place.name) if fits else None


_CONFIRMING: Final = word_set("confirm confirm-email activate optin opt-in verify-email")
_TOKEN_CHARS: Final = 8


def _followed(place: Place) -> Order | None:
    """``/follow/susan``."""
    if place.name not in ("follow", "unfollow") or place.at or place.left != 1 or place.titled:
        return None
    return None if place.names[1] in PAGING | IMPLIED | {"us", "me"} else _order(place.name)


def _of_server(place: Place) -> Order | None:
    """``/manager/text/stop?path=/shop`` of Tomcat, ``/jolokia/exec/…``, ``/saml/slo``."""
    if place.behind == "jolokia" and place.name in ("exec", "write"):
        return Order(f"jolokia {place.name}", "clear", whole=False, object_within=True)
    if place.left:
        return None
    if place.behind == "saml" and place.name == "slo":
        return Order("log out", "clear", whole=True)
    runs = place.names[0] == "manager" and place.asked and place.name in _RUN
    return Order(place.name, "weak", whole=False, object_within=True) if runs else None


_RUN: Final = word_set("stop start reload deploy expire")


def _called(place: Place) -> Order | None:
    """``chat.postMessage`` of Slack, ``/rpc/Cover.Open`` of Shelly, ``/rest/createUser?…`` of Subsonic."""
    written = place.segments[place.at]
    if place.left or not place.at:
        return None
    if (place.asked and _METHOD.fullmatch(written)) or (place.behind == "rpc" and _DEVICE_METHOD.match(written)):
        return _order(place.name)
    called = place.asked and not _INTERFACES.isdisjoint(place.names[: place.at])
    table = "execute" not in place.names and _OF_TABLE.search(written)  # of PostgREST: ``/rest/v1/change_log``
    return _order(place.name) if called and not table and _FUNCTION.match(written) else None


_METHOD: Final = re.compile(r"[a-z]+\.(?:post|send|kick|archive)(?:[A-Z]\w*)?")
_DEVICE_METHOD: Final = re.compile(
    r"[A-Z][A-Za-z]*\.(?:Open|Close|Stop|Start|GoTo|Eval|Create|Update|Reset|Dim|Delete|Move|Trigger|Put|Add|Remove|Factory)"
)
_OF_TABLE: Final = re.compile(r"_|(?:[Ll]og|Info|History|Ons|Times?|Dates?)$")
_INTERFACES: Final = frozenset({"rest", "execute", "json-api"})
_FUNCTION: Final = re.compile(
    r"(?:create|change|update|start|add|set|enable|disable|edit|passwd|suspend|scrobble|star\b|unstar\b)(?:[A-Z_]\w*)?(?:\.view)?$"
    r"|(?:create|modify)acct$|restartservice$|killdns$"
)

_RULES: Final[tuple[Callable[[Place], Order | None], ...]] = (
    *(
        _of_cart,
        _of_switch,
        _of_door,
        _behind_record,
        _before_code,
        _operation,
        _confirmed,
        _followed,
        _of_server,
        _called,
    ),
)
_INNER: Final = (
    ADDS | ON_OFF | BEHIND_RECORD | BEFORE_CODE | _CONFIRMING | frozenset({"follow", "unfollow", "exec", "write"})
)
"""Names that order something where they are not the last."""
