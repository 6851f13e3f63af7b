"""Cart, wish list, checkout and orders."""

from typing import Final

from aiohttp import web

from trailmesh.shop.catalogue import Product, find_product
from trailmesh.shop.effects import record
from trailmesh.shop.render import show
from trailmesh.shop.state import SESSION, Session
from trailmesh.shop.views_products import product_or_404

routes = web.RouteTableDef()

ADDRESS_FIELDS: Final = (
    ("name", "Full name", "name", "text"),
    ("street", "Street and number", "street-address", "text"),
    ("city", "Town", "address-level2", "text"),
    ("postcode", "Postcode", "postal-code", "text"),
)
CARD_FIELDS: Final = (
    ("card_number", "Card number", "cc-number", "numeric"),
    ("card_expiry", "Expiry (MM/YY)", "cc-exp", "numeric"),
    ("card_code", "Security code", "cc-csc", "numeric"),
)
FIRST_ORDER: Final = 1001


async def field(request: web.Request, name: str, longest: int = 200) -> str:
    """A field of a submitted form, empty if it is missing or a file."""
    value = (await request.post()).get(name, "")
    return value.strip()[:longest] if isinstance(value, str) else ""


def _products(slugs: list[str]) -> list[Product]:
    return [product for slug in slugs if (product := find_product(slug)) is not None]


def _lines(session: Session) -> list[tuple[Product, int]]:
    return [(product, session.cart[product.slug]) for product in _products(list(session.cart))]


@routes.get("/cart")
async def cart(request: web.Request) -> web.Response:
    """The cart."""
    return show(request, "cart.html", lines=_lines(request[SESSION]))


@routes.post("/cart/add")
async def cart_add(request: web.Request) -> web.Response:
    """Put a product into the cart."""
    product = product_or_404(await field(request, "slug"))
    quantity = await field(request, "quantity") or "1"
    # Anything but one to nine is a mistake, not a wish.
    if quantity not in set("123456789"):
        raise web.HTTPBadRequest(text="The quantity must be a number from 1 to 9.")
    basket = request[SESSION].cart
    basket[product.slug] = basket.get(product.slug, 0) + int(quantity)
    record(request, "cart.add", "cart")
    raise web.HTTPSeeOther("/cart")


@routes.post("/cart/remove")
async def cart_remove(request: web.Request) -> web.Response:
    """Take a product out of the cart."""
    if request[SESSION].cart.pop(await field(request, "slug"), None) is not None:
        record(request, "cart.remove", "cart")
    raise web.HTTPSeeOther("/cart")


@routes.post("/cart/empty")
async def cart_empty(request: web.Request) -> web.Response:
    """Take everything out of the cart."""
    if request[SESSION].cart:
        request[SESSION].cart.clear()
        record(request, "cart.empty", "cart")
    raise web.HTTPSeeOther("/cart")


@routes.get("/wishlist")
async def wishlist(request: web.Request) -> web.Response:
    """The wish list."""
    return show(request, "wishlist.html", products=_products(request[SESSION].wishlist))


@routes.post("/wishlist/add")
async def wishlist_add(request: web.Request) -> web.Response:
    """Put a product on the wish list."""
    product = product_or_404(await field(request, "slug"))
    if product.slug not in request[SESSION].wishlist:
        request[SESSION].wishlist.append(product.slug)
        record(request, "wishlist.add", "wishlist")
    raise web.HTTPSeeOther("/wishlist")


@routes.post("/wishlist/delete")
async def wishlist_delete(request: web.Request) -> web.Response:
    """Take a product off the wish list."""
    slug = await field(request, "slug")
    if slug in request[SESSION].wishlist:
        request[SESSION].wishlist.remove(slug)
        record(request, "wishlist.delete", "wishlist")
    raise web.HTTPSeeOther("/wishlist")


@routes.get("/checkout")
async def checkout(request: web.Request) -> web.Response:
    """The checkout form; an empty cart has nothing to pay for."""
    if not request[SESSION].cart:
        raise web.HTTPSeeOther("/cart")
    return _checkout_page(request, "")


def _checkout_page(request: web.Request, error: str) -> web.Response:
    lines = _lines(request[SESSION])
    fields = {"address": ADDRESS_FIELDS, "card": CARD_FIELDS}
    return show(request, "checkout.html", status=400 if error else 200, lines=lines, fields=fields, error=error)


def _place_order(request: web.Request) -> web.HTTPSeeOther:
    number = request[SESSION].place_order()
    record(request, "order.place", "order")
    return web.HTTPSeeOther(f"/orders/{FIRST_ORDER + number - 1}")


@routes.post("/checkout")
async def checkout_submit(request: web.Request) -> web.Response:
    """Place the order if the form is complete."""
    if not request[SESSION].cart:
        raise web.HTTPSeeOther("/cart")
    names = [name for name, *_ in (*ADDRESS_FIELDS, *CARD_FIELDS)]
    if not all([await field(request, name) for name in names]):
        return _checkout_page(request, "Please fill in every field.")
    raise _place_order(request)


@routes.post("/checkout/express")
async def checkout_express(request: web.Request) -> web.Response:
    """Place the order at once, which the button that leads here does not say."""
    if not request[SESSION].cart:
        raise web.HTTPSeeOther("/cart")
    raise _place_order(request)


@routes.get("/orders/{number}")
async def order(request: web.Request) -> web.Response:
    """The confirmation of one of the visitor's own orders."""
    text = request.match_info["number"]
    index = int(text) - FIRST_ORDER if text.isascii() and text.isdigit() and len(text) < 9 else -1
    orders = request[SESSION].orders
    if not 0 <= index < len(orders):
        raise web.HTTPNotFound
    return show(request, "order.html", number=text, total=orders[index])
