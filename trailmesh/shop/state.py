"""The state that the server keeps for each visitor, by session cookie."""

import secrets
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler

from trailmesh.shop.catalogue import find_product, load_catalogue
from trailmesh.shop.effects import CONFIG

COOKIE: Final = "shop_session"
MOST_SESSIONS: Final = 5000


@dataclass(slots=True)
class Account:
    """The customer's own data, fresh with each session so that visitors do not disturb one another."""

    name: str = "Robin Demo"
    email: str = ""
    phone: str = "01632 960001"
    api_key_active: bool = True
    addresses: list[str] = field(default_factory=lambda: ["12 Orchard Lane, Fernwick"])
    subscribed: bool = True


def _first_wishes() -> list[str]:
    return [product.slug for product in load_catalogue()[:3]]


@dataclass(slots=True)
class Session:
    """One visitor's cart, wish list, orders and, once signed in, account."""

    user: str = ""
    cart: dict[str, int] = field(default_factory=dict)
    wishlist: list[str] = field(default_factory=_first_wishes)
    orders: list[int] = field(default_factory=list)
    account: Account = field(default_factory=Account)

    @property
    def cart_count(self) -> int:
        """How many articles lie in the cart."""
        return sum(self.cart.values())

    @property
    def cart_total(self) -> int:
        """The price of the cart, in pence."""
        lines = ((find_product(slug), quantity) for slug, quantity in self.cart.items())
        return sum(product.price * quantity for product, quantity in lines if product is not None)

    def place_order(self) -> int:
        """Turn the cart into an order; its number counts up within the session, so pages stay the same each run."""
        self.orders.append(self.cart_total)
        self.cart.clear()
        return len(self.orders)

    def wipe(self) -> None:
        """Forget everything about the visitor."""
        self.user = ""
        self.cart.clear()
        self.wishlist.clear()
        self.orders.clear()
        self.account = Account()


class Sessions:
    """All sessions; the ones unused for longest make room for new ones."""

    def __init__(self) -> None:
        self._by_key: OrderedDict[str, Session] = OrderedDict()

    def get(self, key: str) -> Session | None:
        """The session of a cookie."""
        if key not in self._by_key:
            return None
        self._by_key.move_to_end(key)
        return self._by_key[key]

    def add(self, session: Session) -> str:
        """Store a session under a new key."""
        key = secrets.token_urlsafe(24)
        self._by_key[key] = session
        while len(self._by_key) > MOST_SESSIONS:
            self._by_key.popitem(last=False)
        return key

    def renew(self, key: str) -> str:
        """Move a session to a new key, as a sign-in must, lest somebody planted the old one."""
        return self.add(self._by_key.pop(key, Session()))


SESSIONS: Final = web.AppKey("sessions", Sessions)
SESSION: Final = web.RequestKey("session", Session)
SESSION_KEY: Final = web.RequestKey("session_key", str)


@web.middleware
async def session_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Give each request its session, and each new visitor a cookie."""
    sessions = request.app[SESSIONS]
    key = request.cookies.get(COOKIE, "")
    session = sessions.get(key)
    fresh = session is None
    if session is None:
        session = Session()
        session.account.email = request.app[CONFIG].user_email
        key = sessions.add(session)
    request[SESSION] = session
    request[SESSION_KEY] = key
    try:
        response = await handler(request)
    except web.HTTPException as answer:
        # Redirects are raised, and a visitor's very first request may be one.
        if fresh:
            _set_cookie(answer, key)
        raise
    if fresh or request[SESSION_KEY] != key:
        _set_cookie(response, request[SESSION_KEY])
    return response


def _set_cookie(response: web.StreamResponse, key: str) -> None:
    response.set_cookie(COOKIE, key, httponly=True, samesite="Lax", path="/")
