"""Answers the requests of the pages' script."""

from dataclasses import asdict

from aiohttp import web

from trailmesh.shop.catalogue import load_catalogue, reviews_of
from trailmesh.shop.effects import record
from trailmesh.shop.listing import matches_text
from trailmesh.shop.state import SESSION
from trailmesh.shop.views_products import product_or_404

routes = web.RouteTableDef()


@routes.get("/api/cart")
async def cart_badge(request: web.Request) -> web.Response:
    """How many articles lie in the cart."""
    return web.json_response({"count": request[SESSION].cart_count})


@routes.get("/api/suggest")
async def suggest(request: web.Request) -> web.Response:
    """Up to five products that fit what the visitor has typed so far."""
    text = request.query.get("q", "").strip()[:80]
    found = [p for p in load_catalogue() if matches_text(p, text)][:5] if len(text) > 1 else []
    return web.json_response([{"name": p.name, "price": p.price_text, "href": f"/products/{p.slug}"} for p in found])


@routes.get("/api/reviews/{slug}")
async def reviews(request: web.Request) -> web.Response:
    """The reviews of a product."""
    product = product_or_404(request.match_info["slug"])
    return web.json_response([asdict(review) for review in reviews_of(product)])


@routes.get("/api/products/{slug}")
async def product_data(request: web.Request) -> web.Response:
    """A product as data."""
    product = product_or_404(request.match_info["slug"])
    return web.json_response({**asdict(product), "price_text": product.price_text})


@routes.post("/api/details/{slug}")
async def details(request: web.Request) -> web.Response:
    """The details of a product: asking for them also signs the visitor up for price alerts."""
    product = product_or_404(request.match_info["slug"])
    record(request, "alert.create", "marketing")
    rows = [["Material", "See description"], ["Colour", product.colour.capitalize()], ["Made in", "Portugal"]]
    return web.json_response({"rows": rows, "note": "Price alert switched on for this product."})


@routes.post("/api/remind")
async def remind(request: web.Request) -> web.Response:
    """Set a reminder."""
    record(request, "reminder.create", "marketing")
    return web.json_response({"note": "We will remind you next week."})
