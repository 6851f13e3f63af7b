"""The products, the same in every version of the shop."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from trailmesh.shop.config import ShopConfig, digest, fraction

COLOURS: Final = ("blue", "green", "red", "white", "yellow", "grey")
CATEGORIES: Final = ("mugs", "plates", "bowls", "lamps", "blankets", "cushions", "vases")
SINGULAR: Final = {
    "mugs": "Mug",
    "plates": "Plate",
    "bowls": "Bowl",
    "lamps": "Lamp",
    "blankets": "Blanket",
    "cushions": "Cushion",
    "vases": "Vase",
}

# Name, price in pence and rating of each blue mug. Tidewater is the cheapest rated over 4; the five
# cheaper ones are rated 4.0 at most, and one of them exactly 4.0, which "4 and up" lets through.
BLUE_MUGS: Final = (
    ("Ashdown", 790, 3.4),
    ("Marlow", 950, 3.9),
    ("Penrose", 1090, 2.8),
    ("Foxhollow", 1200, 4.0),
    ("Larkspur", 1375, 3.7),
    ("Tidewater", 1450, 4.3),
    ("Harbour", 1495, 4.8),
    ("Wren", 1550, 4.1),
    ("Saltmarsh", 1690, 4.6),
    ("Blue Ridge", 1800, 3.9),
    ("Coastline", 1950, 4.9),
    ("Juniper", 2100, 4.4),
    ("Orchard", 2250, 4.2),
    ("Stonehouse", 2400, 4.7),
)
GOAL_STYLE: Final = "Tidewater"
OTHER_MUGS: Final = 22
CHEAPER_OTHER_MUGS: Final = 12

# Category, its three styles, and the lowest and highest price in pence.
OTHERS: Final = (
    ("plates", ("Meadow", "Linden", "Cove"), 900, 2600),
    ("bowls", ("Blueberry", "Fennel", "Pebble"), 800, 2400),
    ("lamps", ("Beacon", "Halo", "Willow"), 3400, 9800),
    ("blankets", ("Highland", "Drift", "Bramble"), 2900, 8900),
    ("cushions", ("Quill", "Heath", "Sorrel"), 1600, 4200),
    ("vases", ("Reed", "Alder", "Thistle"), 1400, 5200),
)
DESCRIPTIONS: Final = {
    "mugs": "Stoneware, glazed by hand, with a handle wide enough for three fingers. Holds 350 ml.",
    "plates": "A dinner plate 26 cm across with a raised rim. Stacks neatly; safe in the dishwasher.",
    "bowls": "A deep bowl for soup, porridge or fruit, thrown in stoneware and glazed inside and out.",
    "lamps": "A table lamp with a linen shade and a two-metre fabric cable. Takes an E27 bulb.",
    "blankets": "Woven from soft recycled wool, 130 by 180 cm, with a short fringe at both ends.",
    "cushions": "A washed-cotton cover with a hidden zip over a feather-filled pad, 45 cm square.",
    "vases": "A slender vase for a few stems, watertight and weighted at the foot.",
}


@dataclass(frozen=True, slots=True)
class Product:
    """One article of the shop. ``price`` is in pence."""

    slug: str
    name: str
    category: str
    colour: str
    price: int
    rating: float
    review_count: int
    description: str

    @property
    def price_text(self) -> str:
        """The price as customers read it."""
        return money(self.price)


@dataclass(frozen=True, slots=True)
class Review:
    """A review of a product by a customer."""

    author: str
    stars: int
    text: str


def money(pence: int) -> str:
    """An amount of pence as pounds."""
    return f"£{pence / 100:.2f}"


def _product(style: str, category: str, colour: str, price: int, rating: float) -> Product:
    name = f"{style} {SINGULAR[category]}, {colour.capitalize()}"
    slug = re.sub(r"[^a-z]+", "-", name.lower())
    reviews = 6 + int(fraction("reviews", slug) * 240)
    return Product(slug, name, category, colour, price, rating, reviews, DESCRIPTIONS[category])


def _rating(*parts: object) -> float:
    return round(3.2 + fraction("rating", *parts) * 1.7, 1)


def _mugs() -> list[Product]:
    mugs = [_product(style, "mugs", "blue", price, rating) for style, price, rating in BLUE_MUGS]
    for index in range(OTHER_MUGS):
        style = BLUE_MUGS[index % len(BLUE_MUGS)][0]
        colour = COLOURS[1 + (index + 2 * (index // len(BLUE_MUGS))) % (len(COLOURS) - 1)]
        lowest = 650 if index < CHEAPER_OTHER_MUGS else 1500
        price = lowest + int(fraction("price", style, colour) * 78) * 10
        mugs.append(_product(style, "mugs", colour, price, _rating(style, "mug", colour)))
    return mugs


def _other_products() -> list[Product]:
    products = []
    for category, styles, lowest, highest in OTHERS:
        for number, style in enumerate(styles):
            for step in range(3):
                colour = COLOURS[(number * 2 + step) % len(COLOURS)]
                price = lowest + int(fraction("price", category, style, colour) * (highest - lowest)) // 50 * 50
                products.append(_product(style, category, colour, price, _rating(category, style, colour)))
    return products


@lru_cache(maxsize=1)
def load_catalogue() -> tuple[Product, ...]:
    """All products in the order the shop features them."""
    products = sorted([*_mugs(), *_other_products()], key=lambda product: digest("featured", product.slug))
    # The goal comes late, behind every other mug, so that no unsorted first page shows it.
    goal = next(p for p in products if p.category == "mugs" and p.colour == "blue" and p.name.startswith(GOAL_STYLE))
    tail = [p for p in products if p.category == "lamps"][-2:]
    head = [p for p in products if p is not goal and p not in tail]
    return (*head, goal, *tail)


def cheapest_blue_mug_over_four(config: ShopConfig) -> Product:
    """The one product that answers "the cheapest blue mug with a rating over 4" in the given shop."""
    del config  # Every version sells the same products; the parameter keeps callers honest about which they mean.
    fitting = [p for p in load_catalogue() if p.category == "mugs" and p.colour == "blue" and p.rating > 4]
    return min(fitting, key=lambda product: product.price)


def find_product(slug: str) -> Product | None:
    """The product with the given slug."""
    return next((product for product in load_catalogue() if product.slug == slug), None)


def related_products(product: Product) -> list[Product]:
    """Three products of other categories in the same colour that go with this one."""
    others = [p for p in load_catalogue() if p.category not in (product.category, "mugs")]
    same_colour = [p for p in others if p.colour == product.colour]
    return sorted(same_colour, key=lambda other: digest("related", product.slug, other.slug))[:3]


REVIEWERS: Final = ("Amara", "Ben", "Carys", "Dmitri", "Elif", "Farah", "George", "Hanne", "Imogen", "Jonas")
PRAISE: Final = (
    "Lovely weight in the hand and the colour is just as pictured.",
    "Bought one, came back for three more.",
    "Arrived quickly and very well packed.",
    "A present for my sister, who now wants the whole range.",
)
COMPLAINTS: Final = (
    "Pretty, but smaller than I had expected.",
    "The glaze had a small bubble near the base.",
    "Fine for the price, nothing special.",
    "Took eleven days to arrive.",
)


def reviews_of(product: Product) -> list[Review]:
    """The reviews shown on a product's page: generated, the same each time."""
    reviews = []
    for index in range(4):
        happy = fraction("review", product.slug, index) < (product.rating - 2) / 3
        texts = PRAISE if happy else COMPLAINTS
        pick = int(digest("review-text", product.slug)[:6], 16) + index
        author = REVIEWERS[(pick * 3) % len(REVIEWERS)]
        reviews.append(Review(author, 5 if happy else 3, texts[pick % len(texts)]))
    return reviews
