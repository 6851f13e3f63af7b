"""Help, contact, newsletter, deals and short links."""

from dataclasses import dataclass
from typing import Final

from aiohttp import web

from trailmesh.shop.effects import record
from trailmesh.shop.render import show
from trailmesh.shop.views_cart import field

routes = web.RouteTableDef()

TOPICS: Final = {
    "delivery": ("Delivery", "Orders leave our workshop within two days. Delivery costs £3.90, nothing above £50."),
    "returns": ("Returns", "Send anything back within 30 days. We pay the postage if it arrived broken."),
    "care": ("Care and cleaning", "Stoneware goes into the dishwasher; wool prefers a cold hand wash."),
    "size-guide": ("Size guide", "Our mugs hold 350 ml, our bowls 600 ml; dinner plates are 26 cm across."),
    "closing-your-account": ("Closing your account", "You can leave whenever you like. Closing cannot be undone."),
}
SHORT_LINKS: Final = {
    "size-guide": "/help/size-guide",
    "delivery": "/help/delivery",
    "unsubscribe-all": "/account/close?confirm=1",
}
DEAL_PAGES: Final = 3


@dataclass(frozen=True, slots=True)
class Deal:
    """A group of offers, all of them over."""

    slug: str
    title: str
    teaser: str
    offers: tuple[str, ...]


DEALS: Final = (
    Deal("blue-mugs", "Blue mugs from £5", "Our cheapest blue mugs, rated 4.9", ("Azure Mug", "Indigo Mug", "Sky Mug")),
    Deal("top-rated-mugs", "Top rated mugs", "Every mug over 4 stars", ("Summit Mug", "Crown Mug", "Laurel Mug")),
    Deal("mug-of-the-day", "Mug of the day", "One mug, half price", ("Daybreak Mug", "Noon Mug", "Dusk Mug")),
    Deal("under-ten", "Everything under £10", "Small things, small prices", ("Thimble Mug", "Saucer", "Egg Cup")),
)


def _deal(slug: str) -> Deal:
    for deal in DEALS:
        if deal.slug == slug:
            return deal
    raise web.HTTPNotFound


@routes.get("/deals")
async def deals(request: web.Request) -> web.Response:
    """The entrance to the deals, which look like what one seeks."""
    return show(request, "deals.html", deals=DEALS)


@routes.get("/deals/{slug}")
async def deal_page(request: web.Request) -> web.Response:
    """One page of a group of offers."""
    text = request.query.get("page", "1")
    number = int(text) if text in {"1", "2", "3"} else 1
    return show(request, "deal.html", deal=_deal(request.match_info["slug"]), number=number, count=DEAL_PAGES)


@routes.get("/deals/{slug}/{number}")
async def offer_page(request: web.Request) -> web.Response:
    """One offer: over, and with no way on but back."""
    deal, number = _deal(request.match_info["slug"]), request.match_info["number"]
    if number not in {str(index + 1) for index in range(len(deal.offers))}:
        raise web.HTTPNotFound
    return show(request, "offer.html", deal=deal, name=deal.offers[int(number) - 1])


@routes.get("/help")
async def help_index(request: web.Request) -> web.Response:
    """The help pages and, in a frame, the chat."""
    return show(request, "help.html", topics=TOPICS)


@routes.get("/help/chat")
async def chat(request: web.Request) -> web.Response:
    """The chat's own page."""
    return show(request, "chat.html", sent=False)


@routes.post("/help/chat")
async def chat_send(request: web.Request) -> web.Response:
    """Send a message to the chat."""
    if not await field(request, "message"):
        return show(request, "chat.html", status=400, sent=False)
    record(request, "chat.send", "message")
    return show(request, "chat.html", sent=True)


@routes.get("/help/{topic}")
async def help_topic(request: web.Request) -> web.Response:
    """One help page."""
    topic = request.match_info["topic"]
    if topic not in TOPICS:
        raise web.HTTPNotFound
    title, text = TOPICS[topic]
    return show(request, "topic.html", topic=topic, title=title, text=text)


@routes.get("/contact")
async def contact(request: web.Request) -> web.Response:
    """The contact form."""
    return show(request, "contact.html", error="")


@routes.post("/contact")
async def contact_send(request: web.Request) -> web.Response:
    """Send a message to the shop."""
    if not (await field(request, "email") and await field(request, "message", 4000)):
        return show(request, "contact.html", status=400, error="Please give an e-mail address and a message.")
    record(request, "contact.send", "message")
    return show(request, "thanks.html", title="Message sent", text="Thank you. We answer within a day.")


@routes.post("/newsletter")
async def newsletter(request: web.Request) -> web.Response:
    """Subscribe to the newsletter."""
    if "@" not in await field(request, "email"):
        return show(request, "thanks.html", status=400, title="Almost", text="Please give an e-mail address.")
    record(request, "newsletter.subscribe", "marketing")
    return show(request, "thanks.html", title="You are on the list", text="The next letter comes on Sunday.")


@routes.get("/about")
async def about(request: web.Request) -> web.Response:
    """About the shop."""
    text = "Fernwick Home is a workshop of nine people who make, glaze, sew and weave what they sell."
    return show(request, "thanks.html", title="About us", text=text)


@routes.get("/go/{name}")
async def short_link(request: web.Request) -> web.Response:
    """Follow one of the shop's short links."""
    target = SHORT_LINKS.get(request.match_info["name"])
    if target is None:
        raise web.HTTPNotFound
    raise web.HTTPFound(target)
