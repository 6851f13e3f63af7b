"""Risk classes of controls by label, role and traits, and what the network guard says of requests: rows of digits and letters."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator

from protocol.page.actions.action import Action, Check, Click, Extract, Fill, Goto, Locator, Press, Scroll, Select, Wait
from protocol.page.seen.observation import Element, Observation, Traits
from protocol.risk.pressing.classes import classify
from protocol.risk.requests.requests import GuardPolicy, judge_request

_ANY = Locator()
_SITE = "https://shop.example"
_LABELS = (
    "", "Search", "Find and replace", "Filter", "Remove filter", "Delete", "Delete filter preset", "Clear search", "Reset",
    "Save", "Save draft", "Apply filters", "Apply", "Send", "Post comment", "Order by price", "Place order", "Pay now", "Book",
    "Buy", "Card number", "IBAN", "E-mail", "Password", "Change password", "API key", "Close", "Close account", "Cancel",
    "Cancel booking", "Next", "Show more", "Sign in", "Log out", "OK", "Blue mug", "Кнопка", "🗑", "Authorise app", "Subscribe",
    "Unsubscribe", "Update", "Update search", "Share", "Transfer money", "Revoke access", "Empty cart", "Back", "Help",
)  # fmt: skip
_ROLES = ("button", "link", "textbox", "searchbox", "spinbutton", "checkbox", "radio", "combobox", "tab", "menuitem")
_TRAITS = {
    "none": Traits(),
    "submits by POST": Traits(tag="button", submits=True, form_method="post", form_action="/x"),
    "submits by GET": Traits(tag="button", submits=True, form_method="get", form_action="/search"),
    "submits by GET to nowhere": Traits(tag="button", submits=True, form_method="get"),
    "submits to a deletion": Traits(tag="button", submits=True, form_method="get", form_action="/items/7/delete"),
    "answers a dialog": Traits(tag="button", submits=True, form_method="dialog"),
    "resets": Traits(tag="button", input_type="reset"),
    "input": Traits(tag="input", input_type="text", form_method="get", form_action="/search"),
    "input by POST": Traits(tag="input", input_type="text", form_method="post", form_action="/x"),
    "input of a deletion": Traits(tag="input", input_type="text", form_method="get", form_action="/delete"),
    "search input": Traits(tag="input", input_type="search"),
    "search class": Traits(tag="div", tokens=("search", "q")),
    "text area": Traits(tag="textarea", form_method="post"),
    "password": Traits(tag="input", input_type="password"),
    "new password": Traits(tag="input", autocomplete="new-password"),
    "one-time code": Traits(tag="input", autocomplete="one-time-code"),
    "card": Traits(tag="input", autocomplete="cc-number"),
    "e-mail": Traits(tag="input", input_type="email"),
    "e-mail filled in": Traits(tag="input", autocomplete="email"),
    "bin icon": Traits(tag="button", tokens=("icon", "trash")),
    "delete class": Traits(tag="a", tokens=("delete",)),
    "close icon": Traits(tag="button", tokens=("close",)),
    "iban field": Traits(tag="input", tokens=("iban",)),
    "summary": Traits(tag="summary"),
}
_KEYS = (
    "Tab",
    "Escape",
    "Shift+Tab",
    "ArrowDown",
    "Enter",
    "NumpadEnter",
    " ",
    "Space",
    "Control+s",
    "Delete",
    "x",
    "EnterX",
    "Tabs",
)
_LINKS = (
    "/mugs",
    "/items/7/delete",
    "/logout",
    "#",
    "/x#",
    "javascript:void(0)",
    "mailto:a@b.example",
    "http://[broken",
    "/?do=remove",
)


def _element(role: str, name: str, traits: Traits, url: str = f"{_SITE}/mugs", **more: object) -> Element:
    return Element(ref="e1", role=role, name=name, traits=traits, url=url if role == "link" else "", **more)  # type: ignore[arg-type]


def _page(*elements: Element) -> Observation:
    return Observation(url=_SITE, title="", text="", elements=elements)


def _natural(role: str) -> Action:
    """What one does with an element of this role."""
    match role:
        case "textbox" | "searchbox" | "spinbutton":
            return Fill(target=_ANY, value="x")
        case "checkbox" | "radio":
            return Check(target=_ANY)
        case "combobox":
            return Select(target=_ANY, option="Blue")
    return Click(target=_ANY)


def lines() -> Iterator[str]:
    """Labels, keys, links, requests."""
    reasons: Counter[str] = Counter()

    def level(action: Action, element: Element | None, page: Observation) -> str:
        risk = classify(action, element, page)
        reasons[f"{risk.level} {risk.reason}"] += 1
        return str(risk.level)

    yield f"each digit a class, for: {', '.join(_TRAITS)}"
    for role, label in itertools.product(_ROLES, _LABELS):
        elements = [_element(role, label, traits) for traits in _TRAITS.values()]
        natural = "".join(level(_natural(role), each, _page()) for each in elements)
        clicked = "".join(level(Click(target=_ANY), each, _page()) for each in elements)
        yield f"{role} {label!r}: {natural}{'' if natural == clicked else f' clicked {clicked}'}"
    for key, role in itertools.product(_KEYS, ("textbox", "button", "checkbox")):
        elements = [
            _element(role, label, traits) for label in ("Search", "Delete", "Name") for traits in _TRAITS.values()
        ]
        focus = [
            _page(_element(role, "Send", Traits(), states=states))
            for states in ((), ("active",), ("active", "disabled"))
        ]
        given = "".join(level(Press(key=key, target=_ANY), each, _page()) for each in elements)
        yield f"press {key!r} in {role}: {given} without target {''.join(level(Press(key=key), None, page) for page in focus)}"
    for label, option in itertools.product(("Sort by", "Action", "Colour"), _LABELS):
        each = _element("combobox", label, Traits())
        yield f"select {option!r} of {label!r}: {level(Select(target=_ANY, option=option), each, _page())}"
    for link, label in itertools.product(_LINKS, ("", "Mugs", "Delete", "Remove filter", "Buy now", "Sign out", "Pay")):
        url = link if ":" in link else _SITE + link
        marks = ((), ("trash",), ("search",), ("buy",))
        told = "".join(
            level(Click(target=_ANY), _element("link", label, Traits(tokens=each), url=url), _page()) for each in marks
        )
        yield f"link {label!r} to {link}: {told} address alone {level(Goto(url=url), None, _page())}"
    for action in (
        Scroll(),
        Wait(text="x"),
        Extract(target=_ANY, name="x"),
        Click(target=_ANY),
        Fill(target=_ANY, value=""),
    ):
        yield f"{type(action).__name__} without element: {level(action, None, _page())}"
    yield from (f"  {count:>4} {text}" for text, count in sorted(reasons.items()))
    yield from _requests()


_POLICIES = (
    GuardPolicy(),
    GuardPolicy(read_only=False),
    GuardPolicy(origins=("https://shop.example",)),
    GuardPolicy(origins=("https://shop.example",), read_only=False),
    GuardPolicy(allow=("POST https://shop.example/login", "delete *", "PUT", "GET https://shop.example/items/*")),
)
_URLS = (
    f"{_SITE}/", f"{_SITE}/login", f"{_SITE}/login#x", f"{_SITE}/items/7/delete", f"{_SITE}/icons/delete.svg", "https://other.example/",
    "http://[::1]/", "http://[broken", "data:text/html,x", "blob:x", "about:blank", "about:config", "ftp://x/", "HTTPS://shop.example/",
)  # fmt: skip
_BODIES = (None, '{"query":"{a}"}', '{"query":"mutation{a}"}', "x")


def _requests() -> Iterator[str]:
    yield "each letter what the guard says, · for a request that is sent; bodies, then navigations"
    for method, url in itertools.product(("GET", "HEAD", "post", "POST", "DELETE", "PUT"), _URLS):
        told = []
        for policy, kind, announced in itertools.product(_POLICIES, ("document", "image"), ("", "POST", "GET")):
            said = [
                judge_request(method, url, kind, leads, body, policy, announced=announced)
                for leads in (False, True)
                for body in _BODIES
            ]
            told.append("".join(each[0] if each else "·" for each in said))
        yield f"{method} {url}: {' '.join(told)}"
