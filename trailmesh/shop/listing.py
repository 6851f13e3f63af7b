"""Search, filters, sorting and pages of the catalogue."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urlencode

from trailmesh.shop.catalogue import CATEGORIES, COLOURS, Product, load_catalogue

PAGE_SIZE: Final = 12
SORTS: Final = {
    "featured": "Featured",
    "price": "Price: low to high",
    "price-desc": "Price: high to low",
    "rating": "Best rated",
    "name": "Name",
}
RATINGS: Final = (3.0, 4.0, 4.5)


@dataclass(frozen=True, slots=True)
class Query:
    """The query of a visitor to the catalogue. Prices are in whole pounds."""

    q: str = ""
    category: str = ""
    colour: str = ""
    rating: float = 0.0
    price_min: int = 0
    price_max: int = 0
    sort: str = "featured"
    page: int = 1

    def link(self, **changes: str | float) -> str:
        """The catalogue's address with some of the wishes changed, on the first page unless it says which."""
        wanted = replace(self, **{"page": 1, **changes})  # type: ignore[arg-type]
        default = Query()
        names = ("q", "category", "colour", "rating", "price_min", "price_max", "sort", "page")
        pairs = [(n, f"{getattr(wanted, n)}") for n in names if getattr(wanted, n) != getattr(default, n)]
        return "/products" + (f"?{urlencode(pairs)}" if pairs else "")


@dataclass(frozen=True, slots=True)
class Page:
    """One page of results."""

    products: list[Product]
    total: int
    number: int
    count: int


def _number(text: str, highest: float) -> float:
    try:
        value = float(text)
    except ValueError:
        return 0.0
    # Comparing this way round also refuses "nan".
    return value if 0 <= value <= highest else 0.0


def parse_query(values: Mapping[str, str]) -> Query:
    """Read a query string; what makes no sense counts as not asked."""
    category, colour, sort = values.get("category", ""), values.get("colour", ""), values.get("sort", "")
    return Query(
        q=values.get("q", "").strip()[:80],
        category=category if category in CATEGORIES else "",
        colour=colour if colour in COLOURS else "",
        rating=_number(values.get("rating", ""), 5),
        price_min=int(_number(values.get("price_min", ""), 10_000)),
        price_max=int(_number(values.get("price_max", ""), 10_000)),
        sort=sort if sort in SORTS else "featured",
        page=max(1, int(_number(values.get("page", ""), 10_000))),
    )


def matches_text(product: Product, text: str) -> bool:
    """True if every word of the text occurs in the product's name, category or colour."""
    haystack = f"{product.name} {product.category} {product.colour}".lower()
    return all(word in haystack for word in text.lower().split())


def _matches(product: Product, query: Query) -> bool:
    return (
        matches_text(product, query.q)
        and query.category in ("", product.category)
        and query.colour in ("", product.colour)
        and product.rating >= query.rating
        and product.price >= query.price_min * 100
        and (not query.price_max or product.price <= query.price_max * 100)
    )


def _sorted(products: list[Product], sort: str) -> list[Product]:
    if sort == "price":
        return sorted(products, key=lambda p: (p.price, p.name))
    if sort == "price-desc":
        return sorted(products, key=lambda p: (-p.price, p.name))
    if sort == "rating":
        return sorted(products, key=lambda p: (-p.rating, p.name))
    if sort == "name":
        return sorted(products, key=lambda p: p.name)
    return products


def find_page(query: Query) -> Page:
    """The results of a query; a page beyond the last one is the last one."""
    found = _sorted([p for p in load_catalogue() if _matches(p, query)], query.sort)
    count = max(1, -(-len(found) // PAGE_SIZE))
    number = min(query.page, count)
    start = (number - 1) * PAGE_SIZE
    return Page(found[start : start + PAGE_SIZE], len(found), number, count)
