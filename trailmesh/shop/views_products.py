"""Home, catalogue, product pages and pictures."""

from typing import Final

from aiohttp import web

from trailmesh.shop.catalogue import CATEGORIES, COLOURS, Product, find_product, load_catalogue, related_products
from trailmesh.shop.effects import CONFIG
from trailmesh.shop.listing import RATINGS, SORTS, find_page, parse_query
from trailmesh.shop.render import HERE, RENDERER, plain, show

routes = web.RouteTableDef()

PAINTS: Final = {
    "blue": ("#3f6fb0", "#2d5488"),
    "green": ("#6f9a7c", "#517a5e"),
    "red": ("#c4574a", "#9d3f35"),
    "white": ("#f7f4ee", "#d9d3c7"),
    "yellow": ("#e3b04b", "#bd8c2c"),
    "grey": ("#8d9299", "#6b7077"),
}


def product_or_404(slug: str) -> Product:
    """The product of an address."""
    product = find_product(slug)
    if product is None:
        raise web.HTTPNotFound
    return product


@routes.get("/")
async def home(request: web.Request) -> web.Response:
    """The front page."""
    return show(request, "home.html", popular=load_catalogue()[:4])


@routes.get("/products")
async def catalogue(request: web.Request) -> web.Response:
    """The catalogue with whatever filters the address asks for."""
    query = parse_query(request.query)
    return show(request, "products.html", query=query, page=find_page(query), sorts=SORTS, ratings=RATINGS)


@routes.get("/products/{slug}")
async def product_page(request: web.Request) -> web.Response:
    """One product."""
    product = product_or_404(request.match_info["slug"])
    sold_out = product.slug == request.app[CONFIG].sold_out
    return show(request, "product.html", product=product, related=related_products(product), sold_out=sold_out)


@routes.get("/images/{category}/{colour}.svg")
async def picture(request: web.Request) -> web.Response:
    """A drawing of a kind of product in a colour."""
    category, colour = request.match_info["category"], request.match_info["colour"]
    if category not in CATEGORIES or colour not in COLOURS:
        raise web.HTTPNotFound
    light, dark = PAINTS[colour]
    drawing = request.app[RENDERER].text("picture.svg", category=category, light=light, dark=dark)
    return plain(drawing, "image/svg+xml")


@routes.get("/assets/icon.svg")
async def icon(request: web.Request) -> web.Response:
    """The site's icon."""
    return plain((HERE / "assets" / "icon.svg").read_text(encoding="utf-8"), "image/svg+xml")


@routes.get("/assets/shop.css")
async def stylesheet(request: web.Request) -> web.Response:
    """The stylesheet, with the class names of this version."""
    css = (HERE / "assets" / "shop.css").read_text(encoding="utf-8")
    return plain(request.app[RENDERER].drift.stylesheet(css), "text/css")


@routes.get("/assets/shop.js")
async def script(request: web.Request) -> web.Response:
    """The script, with the names and words of this version."""
    return plain(request.app[RENDERER].text("shop.js"), "text/javascript")
