"""The same pages as data, for the in-memory browser."""

from __future__ import annotations

import msgspec

from protocol.page.seen.observation import Element, Traits
from tests.twins.browser import Control, Document, Effect, MemorySite

ORIGIN = "http://pages.test"


def _control(role: str, name: str, effect: Effect | None = None, **fields: object) -> Control:
    element = Element(ref="", role=role, name=name, **fields)  # type: ignore[arg-type]
    return Control(element=element, effect=effect or Effect())


def _targets() -> Document:
    def reached(selectors: str, role: str, name: str = "", **fields: object) -> Control:
        return msgspec.structs.replace(_control(role, name, **fields), selectors=tuple(selectors.split("|")))  # type: ignore[arg-type]

    return Document(
        title="Targets",
        controls=(
            _control("navigation", ""),
            msgspec.structs.replace(reached("css=#sub a", "link", "CPU", url="/table.html"), hidden=True),
            reached("css=.note|text=A note", "generic"),
            reached("css=.drop", "button", "Drop"),
            reached("css=.drop", "button", "Drop"),
            reached("css=.wide", "link", "Shown", url="/popup.html"),
            msgspec.structs.replace(reached("css=.wide", "link", "Not shown", url="/popup.html"), hidden=True),
            reached("css=#whole|text=Whole", "link", "Whole", url="/table.html"),
            _control("button", "Beer x"),
            msgspec.structs.replace(reached("css=.cross", "generic"), level=1),
            reached("css=.inner", "button", "Inside", frame="f1"),
        ),
    )


def site() -> MemorySite:
    """A fresh site."""
    password = Control(
        element=Element(ref="", role="textbox", name="Password", traits=Traits(tag="input", input_type="password")),
        selectors=("css=[name=word]",),
    )
    sort = Control(
        element=Element(
            ref="",
            role="combobox",
            name="Sort by",
            value="Name",
            options=("Name", "Price"),
            traits=Traits(tag="select"),
        ),
        values=(("Name", "by-name"), ("Price", "by-price")),
    )
    form = Document(
        title="Every control",
        controls=(
            msgspec.structs.replace(
                _control("link", "Table", url="/table.html"), attributes=(("href", "/table.html"),)
            ),
            _control("link", "In a new window", Effect(popup="/popup.html"), url="/popup.html"),
            _control("link", "A harmless link", url="/innocent"),
            _control("link", "Leave", url="/account/close?confirm=1"),
            _control("heading", "Every control", states=("level=1",)),
            _control(
                "searchbox", "Search the site", traits=Traits(tag="input", input_type="search", form_method="get")
            ),
            sort,
            _control("button", "Search", Effect(go="/form.html?q=")),
            _control("textbox", "Your name", traits=Traits(tag="input")),
            password,
            _control("checkbox", "I agree", traits=Traits(tag="input", input_type="checkbox")),
            _control(
                "button", "Send", Effect(post="/send"), traits=Traits(tag="button", submits=True, form_method="post")
            ),
            _control("button", "Not now", states=("disabled",)),
            _control("button", "Ask", Effect(dialog="confirm", asks="Sure?")),
            _control("button", "Load more", Effect(fetch=(("GET", "/more"),))),
            _control("button", "Open socket", Effect(fetch=(("WS", "/socket"),))),
            Control(element=Element(ref="", role="button", name="Covered"), covered=True),
        ),
    )
    table = Document(title="A long table", controls=(_control("heading", "A long table", states=("level=1",)),))
    beside = Document(title="Beside", controls=(_control("heading", "Beside", states=("level=1",)),))
    closed = Document(title="Closed", text=("account closed",))
    trees = Document(title="Closed trees", controls=(_control("heading", "Parcels"),), closed=("Delete parcel",))
    sent = Document(title="Sent", controls=(_control("heading", "Sent", states=("level=1",)),))
    visit = Document(title="Visit", text=("COOKIES", "ITEMS"), cookies=(("seen", "yes"),), items=(("mark", "left"),))
    documents = {
        "/visit.html": visit,
        "/bound.html": Document(title="Bound", offers=True),
        "/form.html": form,
        "/targets.html": _targets(),
        "/table.html": table,
        "/popup.html": beside,
        "/account/close": closed,
        "/closed.html": trees,
        "/send": sent,
        "/unfinished.html": Document(title="Unfinished", controls=(_control("button", "There"),), unfinished=True),
    }
    return MemorySite(
        {ORIGIN + path: document for path, document in documents.items()},
        {ORIGIN + "/innocent": ORIGIN + "/account/close?confirm=1"},
    )
