"""Pages made by chance from the parts of shops, lists and forms; the same seed gives the same page."""

from __future__ import annotations

import random
from typing import Any
from urllib.parse import quote_plus

from protocol.page.seen.observation import Element, Observation, Traits

SITE = "http://shop.test"
GOALS = (
    "Find the cheapest blue mug with a rating over 4",
    "the most expensive lamp under £40",
    "the highest rated lamp, price from 10 to 25",
    "How do I return a blanket?",
    'Show the product "Fox Mug, Blue"',
    "Order tickets from: Paris, to: Rome, on 2024-05-03 at 10:30 for ann@example.org",
    "the third invoice numbered 1234",
    "the newest articles by Maria Lopez #urgent",
    "the product with the lowest stock",
    "mugs with 4 stars or more",
    "Blue lamp, lowest weight, at least 12 reviews",
    "contact page",
    "",
)
_NAMES = (
    "Fox Mug, Blue",
    "Tide Mug, Blue",
    "Ash Mug",
    "Oak Lamp",
    "Blue Lamp",
    "Wool blanket",
    "Invoice 1234",
    "Maria Lopez",
)
_LABELS = (
    "Mugs",
    "Blue",
    "Lamps",
    "Help and FAQ",
    "Articles",
    "Products",
    "Returns",
    "Sign in",
    "Contact",
    "Cart",
    "Blue mugs",
)
_SORTS = (
    "Featured",
    "Price: low to high",
    "Price: high to low",
    "Newest",
    "Best rated",
    "Rating",
    "Stock ascending",
    "Popular",
)
_FILTERS = ("4 and up", "3 and up", "4.5 and up", "Under £25", "Under £40", "£10 and up", "Over 12", "Blue", "In stock")
_FIELDS = (
    ("From", "text", ("from",)),
    ("Where to", "text", ("to", "city")),
    ("Day", "date", ("date",)),
    ("At", "time", ()),
    ("E-mail", "email", ("mail",)),
    ("Invoice number", "number", ("invoice",)),
    ("Highest price", "number", ("max", "price")),
    ("Lowest price", "number", ("price_min",)),
    ("Max", "text", ("max",)),
    ("Password", "password", ()),
    ("File", "file", ()),
    ("Notes", "text", ()),
)
_VALUES = ("", "", "blue mug", "Paris", "40", "4", "lamp", "2024-05-03")
_QUERIES = (
    "",
    "?q=blue+mug",
    "?q=blue+mug&sort=price",
    "?sort=-price",
    "?sort=rating&order=desc",
    "?rating=4",
    "?price_max=40&sort=price_desc",
    "?q=lamp&page=2",
    "?tag=%23urgent&q=Paris",
    "?empty=&q=mug",
)


class _Sheet:
    """A snapshot while it is written: elements and lines in the same order."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.elements: list[Element] = []
        self.lines: list[str] = []

    def line(self, depth: int, text: str) -> None:
        self.lines.append("  " * depth + f"- {text}")

    def element(self, depth: int, role: str, name: str, **more: object) -> None:
        self.elements.append(Element(ref=f"e{len(self.elements)}", role=role, name=name, **more))  # type: ignore[arg-type]
        self.line(depth, f'{role} "{name}"' if name and self.chance.random() < 0.9 else role)

    def link(self, depth: int, name: str, path: str, **more: object) -> None:
        self.element(depth, "link", name, url=path if ":" in path else SITE + path, **more)


def _frame(sheet: _Sheet, role: str) -> None:
    sheet.line(0, role)
    if sheet.chance.random() < 0.3:
        sheet.line(1, sheet.chance.choice(("navigation", "region", "contentinfo")))
    for name in sheet.chance.sample(_LABELS, 2):
        sheet.link(1, name, f"/{quote_plus(name.lower())}")
    if sheet.chance.random() < 0.3:
        sheet.link(1, "Shop", sheet.chance.choice(("/", "", "/?lang=en")))


def _search(sheet: _Sheet) -> None:
    chance = sheet.chance
    form: dict[str, Any] = {"form_method": chance.choice(("get", "get", "post", "")), "form_action": "/products"}
    role, kind = chance.choice((("searchbox", "search"), ("textbox", "text"), ("combobox", "text")))
    name, tokens = chance.choice((("Search", ("q",)), ("Find a mug", ()), ("Words", ("query",)), ("Name", ("user",))))
    states = ("readonly",) if chance.random() < 0.1 else ()
    traits = Traits(tag="input", input_type=kind, tokens=tokens, **form)
    sheet.element(1, role, name, value=chance.choice(_VALUES), states=states, traits=traits)
    sheet.element(1, "button", chance.choice(("Search", "Go", "")), traits=Traits(tag="button", submits=True, **form))


def _orders(sheet: _Sheet) -> None:
    chance = sheet.chance
    options = tuple(chance.sample(_SORTS, 4))
    if chance.random() < 0.5:
        traits = Traits(tag="select", form_method="get", form_action="/products", tokens=("sort",))
        sheet.element(1, "combobox", "Sort by", options=options, value=chance.choice(("", *options)), traits=traits)
    else:
        for name in options[:3]:
            path = f"/products?q=mug&sort={chance.choice(('price', '-price', 'rating', 'stock', 'name'))}"
            states = ("current=page",) if chance.random() < 0.2 else ()
            sheet.link(1, name, path, states=states)


def _filters(sheet: _Sheet) -> None:
    chance = sheet.chance
    section = chance.choice(("Rating", "Price", "Colour", "Reviews"))
    sheet.line(0, f'heading "{section}" [level=2]')
    for name in chance.sample(_FILTERS, 3):
        states = chance.choice(((), (), ("checked",), ("checked=false",), ("disabled",)))
        if chance.random() < 0.5:
            traits = Traits(
                tag="input", input_type="checkbox", form_method="get", form_action="/products", tokens=("filter",)
            )
            sheet.element(1, chance.choice(("checkbox", "radio", "switch")), name, states=states, traits=traits)
        else:
            sheet.link(1, name, f"/products?rating={chance.choice('345')}", context=section)


def _card(sheet: _Sheet, style: str, price: float, rating: float) -> None:
    chance = sheet.chance
    name = chance.choice(_NAMES)
    path = f"/products/{quote_plus(name.lower())}-{len(sheet.elements)}"
    if style == "row":
        sheet.line(1, "row")
        sheet.line(2, "cell")
        sheet.link(3, name, path)
        sheet.line(2, f'cell "{price:g}"')
        sheet.line(2, f'cell "{rating:g}"')
        return
    sheet.line(1, style)
    if chance.random() < 0.3:
        sheet.link(2, "", path, context=name)
    sheet.link(2, name, path, context=name)
    if chance.random() < 0.3:
        sheet.link(2, "Ash pottery", "/makers/ash")
    sheet.line(2, f"paragraph: £{price:.2f}")
    if chance.random() < 0.8:
        sheet.line(2, f"paragraph: {chance.choice(('★ {}', '{} out of 5', 'rated: {}')).format(rating)}")
    sheet.line(2, f"text: stock: {int(price)}")


def _cards(sheet: _Sheet) -> None:
    chance = sheet.chance
    facts = [
        (chance.choice((7.9, 12, 14.5, 25, 40, 41)), chance.choice((3.4, 4, 4.3, 4.9)))
        for _ in range(chance.randint(1, 5))
    ]
    kind = chance.random()
    if kind < 0.6:
        facts.sort(key=lambda fact: fact[chance.choice((0, 0, 1))] if kind < 0.2 else fact[0], reverse=kind < 0.3)
    style = chance.choice(("listitem", "article", "row", "group"))
    if style == "row":
        sheet.line(0, "table")
        sheet.line(1, "row")
        for head in ("name", chance.choice(("price", "stock")), "rating"):
            sheet.line(2, f'columnheader "{head}"')
    else:
        sheet.line(0, "list")
    for price, rating in facts:
        _card(sheet, style, price, rating)


def _form(sheet: _Sheet) -> None:
    chance = sheet.chance
    form: dict[str, Any] = {"form_method": chance.choice(("get", "post")), "form_action": "/form"}
    for name, kind, tokens in chance.sample(_FIELDS, 4):
        role = "spinbutton" if kind == "number" else "textbox"
        traits = Traits(tag="input", input_type=kind, tokens=tokens, **form)
        sheet.element(1, role, name, value=chance.choice(_VALUES) if kind != "password" else "", traits=traits)
    sheet.element(1, "button", chance.choice(("Go", "Show", "Send")), traits=Traits(tag="button", submits=True, **form))


def _odds(sheet: _Sheet) -> None:
    chance = sheet.chance
    for name, path in chance.sample(
        (
            ("Next", "/products?page=2"),
            ("More mugs", "/products?page=3"),
            ("Previous", "/products"),
            ("Back to the list of blue mugs", "/products?q=mug"),
            ("Back to all of it", "/products?sort=price"),
            ("Older things of all kinds", "/products?page=4"),
            ("Clear all", "/products?q=&sort=rating"),
            ("Export", "/products.csv"),
            ("As it is", "/export/list.json"),
            ("Blue mugs elsewhere", "http://other.test/mugs"),
            ("Top", "/products#top"),
            ("Clear", "/products?q=mug"),
            ("Privacy policy", "/privacy"),
            ("Broken", "http://[broken"),
        ),
        5,
    ):
        sheet.link(1, name, path)
    for role, name, more in chance.sample(
        (
            ("button", "", {}),
            ("button", "", {"traits": Traits(tag="button", tokens=("mug", "open"))}),
            ("button", "Blue mugs", {"states": ("pressed",)}),
            ("button", "Delete blue mug", {}),
            ("slider", "Price", {}),
            ("option", "Blue", {}),
            ("tab", "Reviews", {"states": ("selected",)}),
            ("combobox", "Colour", {"options": ("Any", "Blue", "Red"), "value": "Blue"}),
        ),
        2,
    ):
        sheet.element(1, role, name, **more)  # type: ignore[arg-type]


def page(seed: int) -> Observation:
    """One page."""
    chance = random.Random(seed)
    sheet = _Sheet(chance)
    headline = chance.choice(("Mugs", "Blue mugs", "Fox Mug, Blue", "Shop", "Page not found", "Returns", "No results"))
    if chance.random() < 0.7:
        _frame(sheet, "banner")
    sheet.line(0, f'heading "{headline}" [level=1]')
    for part in chance.sample((_search, _orders, _filters, _cards, _cards, _form, _odds, _odds), 5):
        part(sheet)
    if chance.random() < 0.2:
        sheet.line(0, "paragraph: Nothing found")
    if chance.random() < 0.5:
        _frame(sheet, "contentinfo")
    url = (
        SITE
        + chance.choice(("/", "/products", "/products", "/products", "/form", "/mugs/blue"))
        + chance.choice(_QUERIES)
    )
    title = f"{headline} - Shop" if chance.random() < 0.8 else "Shop"
    return Observation(url=url, title=title, text="\n".join(sheet.lines), elements=tuple(sheet.elements))
