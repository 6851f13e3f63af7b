"""Class and reason of actions, branch by branch: what is decided first, and what is told about it."""

from __future__ import annotations

from typing import Any

from protocol.page.actions.action import (
    Action,
    Assert,
    Back,
    Check,
    Click,
    CloseTab,
    Drag,
    Extract,
    Fill,
    Focus,
    Forward,
    Goto,
    Hover,
    Locator,
    Press,
    Reload,
    Scroll,
    ScrollTo,
    Select,
    SwitchTab,
    Upload,
    Wait,
)
from protocol.page.seen.observation import Element, Observation, Traits
from protocol.risk.pressing.classes import classify
from tests.tables import each

ANY = Locator()
SITE = "https://shop.example"
SUBMITS = "submits a form"
SENDS = "submits a form when it changes"
SENDS_MAIL = "sends an e-mail address when it changes"
CHANGES = "runs a script when it changes"
ACTS = "acts on the page"
OPENS = "opens or closes something"
AT_ONCE = "switches something at once"
LINE = "begins a line or sends the text"


TYPED = Fill(target=ANY, value="a b", typed=True)


def element(
    role: str, name: str = "", *, options: tuple[str, ...] = (), states: tuple[str, ...] = (), **traits: Any
) -> Element:
    url = traits.pop("url", "")
    return Element(ref="e1", role=role, name=name, options=options, states=states, url=url, traits=Traits(**traits))


def judged(action: Action, item: Element | None = None, *others: Element) -> tuple[int, str]:
    page = Observation(url=SITE, title="", text="", elements=others)
    risk = classify(action, item, page)
    return risk.level, risk.reason


def clicked(role: str, name: str = "", **more: Any) -> tuple[int, str]:
    return judged(Click(target=ANY), element(role, name, **more))


def filled(role: str, name: str = "", **more: Any) -> tuple[int, str]:
    return judged(Fill(target=ANY, value="x"), element(role, name, **more))


def pressed(key: str, role: str = "", name: str = "", **more: Any) -> tuple[int, str]:
    return judged(Press(key=key), element(role, name, **more) if role else None)


@each(
    ("action", "said"),
    [
        (Goto(url=f"{SITE}/mugs"), (1, "opens a page")),
        (Goto(url=f"{SITE}/items/7/delete"), (7, "address says delete")),
        (Goto(url="http://[broken"), (7, "address says nothing readable")),
        (Back(), (1, "goes back to a page")),
        (Scroll(), (1, "reads the page")),
        (Forward(), (1, "goes forward to a page")),
        (Reload(), (1, "loads the page again")),
        (SwitchTab(tab=2), (1, "leaves a tab")),
        (CloseTab(), (1, "leaves a tab")),
        (Wait(), (1, "reads the page")),
        (Extract(name="x"), (1, "reads the page")),
        (Assert(what="title", expected="x"), (1, "reads the page")),
        (Click(target=ANY), (4, "its element is unknown")),
        (Fill(target=ANY, value=""), (4, "its element is unknown")),
        (Check(target=ANY), (4, "its element is unknown")),
        (Select(target=ANY, option=""), (4, "its element is unknown")),
        (Press(key="Nonsense"), (4, "a key that is not known")),
        (Press(key="Tab"), (1, "moves the focus or closes a view")),
        (Press(key="Escape"), (1, "moves the focus or closes a view")),
        (Press(key="End"), (1, "moves the focus or the view")),
        (Press(key="Enter"), (4, "a key for an unknown element")),
        (Press(key="Space"), (4, "a key for an unknown element")),
        (Press(key="a"), (4, "a key for an unknown element")),
    ],
)
def test_an_action_without_an_element_is_judged_by_what_it_is(action: Action, said: tuple[int, str]) -> None:
    assert judged(action) == said


@each(
    ("action", "role", "said"),
    [
        (Fill(target=ANY, value=""), "textbox", (3, "typing")),
        (Fill(target=ANY, value=""), "slider", (4, AT_ONCE)),
        (Fill(target=ANY, value=""), "combobox", (3, "typing")),
        (Fill(target=ANY, value=""), "option", (3, "typing")),
        (Fill(target=ANY, value=""), "button", (4, "a button is no control of a form")),
        (Fill(target=ANY, value=""), "checkbox", (4, "a checkbox is no control of a form")),
        (TYPED, "textbox", (3, "typing")),
        (TYPED, "button", (4, ACTS)),
        (TYPED, "listbox", (3, "chooses in a list")),
        (Fill(target=ANY, value="a\nb", typed=True), "textbox", (4, SUBMITS)),
        (Fill(target=ANY, value="a\tb", typed=True), "textbox", (4, SUBMITS)),
        (Hover(target=ANY), "button", (1, "moves the pointer, the focus or the view")),
        (Focus(target=ANY), "button", (1, "moves the pointer, the focus or the view")),
        (Drag(target=ANY, onto=ANY), "button", (4, ACTS)),
        (Upload(target=ANY, files=("a",)), "button", (4, ACTS)),
        (ScrollTo(target=ANY), "button", (1, "moves the pointer, the focus or the view")),
        (Select(target=ANY, option="x"), "listbox", (3, "changes a form")),
        (Select(target=ANY, option="delete"), "listbox", (7, "says “delete”")),
        (Select(target=ANY, option="x"), "textbox", (4, "a textbox is no control of a form")),
        (Check(target=ANY), "switch", (4, AT_ONCE)),
        (Check(target=ANY), "menuitemradio", (4, AT_ONCE)),
        (Check(target=ANY), "option", (4, "a option is no control of a form")),
    ],
)
def test_only_its_own_kind_of_control_takes_an_action(action: Action, role: str, said: tuple[int, str]) -> None:
    assert judged(action, element(role)) == said


def test_what_is_no_control_of_a_form_keeps_the_worse_class_of_its_field() -> None:
    assert filled("button", "Password", input_type="password") == (6, "a password or one-time code field")


def test_a_double_click_is_judged_as_a_click_and_a_right_click_never_below_it_where_it_is_named() -> None:
    for name, level in (("Delete", 7), ("Buy now", 5)):
        for click in (Click(target=ANY, count=2), Click(target=ANY, button="right")):
            assert judged(click, element("button", name))[0] == level
    assert judged(Click(target=ANY, count=2), element("row", "Beer"))[0] == 4
    assert judged(Click(target=ANY, button="right"), element("row", "Beer")) == (3, "may open a menu of the page")
    assert judged(Click(target=ANY, button="right"), element("link", "Mugs", url=f"{SITE}/mugs"))[0] == 1


def test_typing_on_a_control_is_judged_as_pressing_it() -> None:
    assert judged(TYPED, element("button", "Delete"))[0] == 7
    lines = Fill(target=ANY, value="a\nb", typed=True)
    assert judged(lines, element("textbox", "Note", tag="textarea")) == (4, LINE)


# --- fields ----------------------------------------------------------------------------------------------------------


@each(
    ("name", "traits", "said"),
    [
        ("Name", {}, (3, "typing")),
        ("Name", {"input_type": "password"}, (6, "a password or one-time code field")),
        ("Name", {"autocomplete": "new-password"}, (6, "a password or one-time code field")),
        ("Name", {"autocomplete": "one-time-code"}, (6, "a password or one-time code field")),
        ("Name", {"autocomplete": "cc-number"}, (5, "a card field")),
        ("Name", {"autocomplete": "section-a billing cc-number"}, (5, "a card field")),
        ("Name", {"autocomplete": "one-time-code webauthn"}, (6, "a password or one-time code field")),
        ("Name", {"autocomplete": "current-password webauthn"}, (6, "a password or one-time code field")),
        ("Почта", {"input_type": "email"}, (3, "typing an e-mail address")),
        ("Name", {"autocomplete": "email"}, (3, "typing an e-mail address")),
        ("Name", {"autocomplete": "section-a work email"}, (3, "typing an e-mail address")),
        ("Correo electrónico", {}, (3, "typing an e-mail address")),
        ("Электронная почта *", {}, (3, "typing an e-mail address")),
        ("メールアドレス", {}, (3, "typing an e-mail address")),
        ("E-mail", {"reacts": "submit", "form_method": "get", "form_action": "/join"}, (6, SENDS_MAIL)),
        ("E-mail", {"reacts": "submit", "form_method": "post"}, (6, SENDS_MAIL)),
        ("E-mail", {}, (3, "typing an e-mail address")),
        ("Your e-mail address (required)", {}, (3, "typing an e-mail address")),
        ("E-mail", {"form_method": "get", "form_action": "/find"}, (3, "typing an e-mail address")),
        ("E-mail", {"reacts": "script"}, (4, CHANGES)),
        ("E-mail", {"tokens": ("otp",)}, (6, "a field of identity or access")),
        ("E-mail", {"input_type": "password"}, (6, "a password or one-time code field")),
        ("E-mail code", {}, (6, "a field of identity or access")),
        ("E-Mail-Passwort", {}, (6, "a field of identity or access")),
        ("パスワード email", {}, (6, "a field of identity or access")),
        ("Name", {"tokens": ("otp",)}, (6, "a field of identity or access")),
        ("Card number", {}, (5, "a field of payment")),
        ("Name", {"tokens": ("iban",)}, (5, "a field of payment")),
        ("Имя", {}, (3, "typing")),
        ("Имя", {"tag": "input", "input_type": "search"}, (1, "a search or filter field")),
        ("Имя", {"tag": "div", "input_type": "search"}, (1, "a search or filter field")),
        ("Имя", {"tag": "input", "input_type": "text"}, (3, "typing")),
        ("Имя", {"form_method": "get", "form_action": "/find"}, (1, "a search or filter field")),
        ("Имя", {"form_method": "get", "form_action": ""}, (3, "typing")),
        ("Имя", {"form_method": "post", "form_action": "/find"}, (3, "typing")),
        ("Номер карты", {}, (5, "a field of payment")),
        ("パスワード", {}, (6, "a field of identity or access")),
        ("Имя", {"form_method": "get", "form_action": "/delete"}, (3, "typing")),
        ("Search", {}, (3, "typing")),
        ("Search", {"form_method": "post"}, (3, "typing")),
        ("Name", {"tokens": ("q",)}, (1, "a search or filter field")),
        ("Name", {"form_method": "get"}, (3, "typing")),
        ("Name", {"form_method": "get", "form_action": "/find"}, (1, "a search or filter field")),
        ("Name", {"input_type": "search", "form_method": "post"}, (1, "a search or filter field")),
        ("Name", {"input_type": "search", "reacts": "script"}, (1, "a search or filter field")),
        ("Name", {"input_type": "search", "form_method": "post", "reacts": "submit"}, (4, SENDS)),
        ("Name", {"form_method": "get", "form_action": "/find", "reacts": "submit"}, (1, "a search or filter field")),
        ("Name", {"form_method": "post", "form_action": "/find", "reacts": "submit"}, (4, SENDS)),
        ("Name", {"reacts": "script"}, (4, CHANGES)),
        ("Card number", {"reacts": "script"}, (5, "a field of payment")),
    ],
)
def test_typing_is_judged_by_type_then_words_then_form(
    name: str, traits: dict[str, Any], said: tuple[int, str]
) -> None:
    assert filled("textbox", name, **traits) == said


JOINS: dict[str, Any] = {"tag": "input", "form_method": "get", "form_action": "/join"}


@each("label", ["OK", "Go", "Sign up", "Anmelden", "Subscribe", "Next", ""])
def test_a_form_by_get_that_sends_an_e_mail_address_is_no_reading(label: str) -> None:
    mail = Element(ref="e1", role="textbox", name="E-mail", traits=Traits(**JOINS))
    name = Element(ref="e2", role="textbox", name="Name", traits=Traits(**JOINS))
    button = Element(ref="e3", role="button", name=label, traits=Traits(**JOINS, submits=True))
    page = Observation(url="https://a.example/", title="", text="", elements=(mail, name, button))
    for action, element in (
        (Click(target=ANY), button),
        (Press(key="Enter", target=ANY), mail),
        (Press(key="Enter", target=ANY), name),
    ):
        risk = classify(action, element, page)
        assert (risk.level, risk.reason) == (6, "sends an e-mail address")


def test_a_form_by_get_whose_button_says_that_it_searches_may_send_an_e_mail_address() -> None:
    mail = Element(ref="e1", role="textbox", name="E-mail", traits=Traits(**JOINS))
    button = Element(ref="e2", role="button", name="Search", traits=Traits(**JOINS, submits=True))
    other = Element(
        ref="e3", role="button", name="OK", traits=Traits(tag="input", form_method="get", form_action="/list")
    )
    page = Observation(url="https://a.example/", title="", text="", elements=(mail, button, other))
    assert classify(Click(target=ANY), button, page).level == 1
    assert classify(Press(key="Enter", target=ANY), mail, page).level == 3


def test_a_form_without_a_stated_address_is_told_from_others_by_nothing_so_its_buttons_act() -> None:
    bare: dict[str, Any] = {"tag": "input", "form_method": "get"}
    mail = Element(ref="e1", role="textbox", name="E-mail", traits=Traits(**bare))
    button = Element(ref="e2", role="button", name="", traits=Traits(**bare, submits=True))
    page = Observation(url="https://a.example/", title="", text="", elements=(mail, button))
    assert classify(Click(target=ANY), button, page).level == 4


def test_a_search_box_searches_whatever_its_form() -> None:
    assert filled("searchbox", "Name", form_method="post") == (1, "a search or filter field")


# --- keys ------------------------------------------------------------------------------------------------------------


@each(
    ("key", "role", "more", "said"),
    [
        # moving
        ("ArrowDown", "textbox", {}, (1, "moves the focus or the view")),
        ("ArrowDown", "button", {}, (1, "moves the focus or the view")),
        ("ArrowDown", "listbox", {}, (3, "chooses in a list")),
        ("ArrowDown", "listbox", {"options": ("Blue", "Delete")}, (7, "says “delete”")),
        ("ArrowDown", "listbox", {"name": "Sort by", "options": ("Blue",)}, (3, "chooses in a list")),
        ("ArrowDown", "combobox", {"tag": "input"}, (1, "moves the focus or the view")),
        ("ArrowDown", "combobox", {"tag": "textarea"}, (1, "moves the focus or the view")),
        ("ArrowDown", "combobox", {"tag": "input", "options": ("Blue",)}, (3, "chooses in a list")),
        ("ArrowDown", "combobox", {"tag": "select"}, (3, "chooses in a list")),
        ("ArrowDown", "checkbox", {}, (1, "moves the focus or the view")),
        ("ArrowDown", "switch", {}, (1, "moves the focus or the view")),
        ("ArrowDown", "menuitemcheckbox", {}, (1, "moves the focus or the view")),
        ("ArrowDown", "radio", {"name": "Sort by"}, (4, AT_ONCE)),
        ("ArrowDown", "menuitemradio", {"name": "Delete"}, (7, "says “delete”")),
        ("ArrowDown", "slider", {"name": "Search"}, (4, AT_ONCE)),
        ("ArrowDown", "spinbutton", {"name": "Card number"}, (5, "a field of payment")),
        ("ArrowDown", "textbox", {"input_type": "date"}, (3, "typing")),
        # Enter
        ("Enter", "textbox", {}, (4, SUBMITS)),
        ("Enter", "textbox", {"input_type": "search"}, (1, "a search or filter field")),
        ("Enter", "textbox", {"form_method": "get", "form_action": "/x"}, (1, "a search or filter field")),
        ("Enter", "searchbox", {"form_method": "post"}, (4, SUBMITS)),
        ("Enter", "textbox", {"form_method": "dialog"}, (4, SUBMITS)),
        ("Enter", "textbox", {"form_method": "get", "form_action": "/delete"}, (7, "form address says delete")),
        ("Enter", "textbox", {"name": "Password", "form_method": "post"}, (6, "a field of identity or access")),
        ("Enter", "textbox", {"tag": "textarea"}, (4, LINE)),
        ("Shift+Enter", "textbox", {"tag": "textarea"}, (3, "typing")),
        ("Control+Enter", "textbox", {"tag": "textarea"}, (4, SUBMITS)),
        ("Shift+Enter", "textbox", {"tag": "textarea"}, (3, "typing")),
        ("Enter", "checkbox", {}, (4, AT_ONCE)),
        ("Enter", "checkbox", {"tag": "input", "form_method": "dialog"}, (4, SUBMITS)),
        ("Enter", "checkbox", {"tag": "input", "form_method": "post"}, (4, SUBMITS)),
        ("Enter", "combobox", {"tag": "input", "tokens": ("q",)}, (1, "a search or filter field")),
        ("Enter", "combobox", {"tag": "textarea"}, (4, LINE)),
        ("Enter", "combobox", {"tag": "select", "form_method": "post"}, (4, SUBMITS)),
        ("Enter", "button", {"name": "Send", "form_method": "post"}, (4, ACTS)),
        # typing and shortcuts
        ("a", "textbox", {}, (3, "typing")),
        ("Space", "textbox", {}, (3, "typing")),
        ("Control+a", "textbox", {}, (3, "typing")),
        ("Control+z", "textbox", {}, (3, "typing")),
        ("Control+Backspace", "textbox", {}, (3, "typing")),
        ("Control+b", "textbox", {}, (4, "a shortcut key")),
        ("Alt+a", "textbox", {}, (4, "a shortcut key")),
        ("Alt+Delete", "textbox", {}, (4, "a shortcut key")),
        ("Shift+b", "textbox", {}, (3, "typing")),
        ("Space", "button", {"name": "Send"}, (4, ACTS)),
        ("b", "listbox", {"options": ("Blue",)}, (3, "chooses in a list")),
        ("Shift+b", "listbox", {"options": ("Blue",)}, (3, "chooses in a list")),
        ("Control+b", "listbox", {"options": ("Blue",)}, (4, "a shortcut key")),
        ("Delete", "listbox", {"options": ("Blue",)}, (4, "a shortcut key")),
        ("b", "button", {}, (4, "a shortcut key")),
    ],
)
def test_a_key_is_judged_by_what_it_sets_off(key: str, role: str, more: dict[str, Any], said: tuple[int, str]) -> None:
    assert pressed(key, role, **more) == said


def test_a_key_without_a_target_is_for_the_first_active_control_that_is_not_disabled() -> None:
    others = (
        element("button", "Next"),
        element("generic", "Pay", states=("active",)),
        element("button", "Delete", states=("active", "disabled")),
        element("button", "Send", states=("active",)),
        element("button", "Buy", states=("active",)),
    )
    assert judged(Press(key="Enter"), None, *others) == (4, ACTS)
    assert judged(Press(key="Enter"), None, *others[:3]) == (4, "a key for an unknown element")
    assert judged(Press(key="Enter"), element("button", "Buy"), *others)[0] == 5


# --- clicks ----------------------------------------------------------------------------------------------------------


@each(
    ("role", "name", "more", "said"),
    [
        ("slider", "Delete", {}, (7, "says “delete”")),
        ("slider", "Brightness", {}, (4, AT_ONCE)),
        ("slider", "Brightness", {"form_method": "post"}, (3, "changes a form")),
        ("textbox", "Delete", {}, (7, "says “delete”")),
        ("textbox", "Delete", {"tag": "input"}, (1, "sets the focus")),
        ("textbox", "Имя", {"tag": "input"}, (1, "sets the focus")),
        ("textbox", "Имя", {"tag": "textarea"}, (1, "sets the focus")),
        ("textbox", "Имя", {"tag": "div"}, (1, OPENS)),
        ("checkbox", "Send", {}, (4, AT_ONCE)),
        ("checkbox", "Send", {"tag": "input", "form_method": "post"}, (3, "changes a form")),
        ("checkbox", "Имя", {"tag": "div", "form_method": "post"}, (3, "changes a form")),
        ("radio", "Имя", {"tag": "label", "form_method": "post"}, (3, "changes a form")),
        ("radio", "Имя", {"tag": "label"}, (4, AT_ONCE)),
        ("switch", "Имя", {"tag": "div", "form_method": "post"}, (4, AT_ONCE)),
        ("checkbox", "Dark mode", {}, (4, AT_ONCE)),
        ("checkbox", "Pay", {}, (5, "says “pay”")),
        ("checkbox", "Имя", {}, (4, AT_ONCE)),
        ("checkbox", "Имя", {"form_method": "get", "form_action": "/x"}, (1, "sorts or filters")),
        ("checkbox", "Filter", {}, (4, AT_ONCE)),
        ("button", "Delete", {"tag": "button", "input_type": "reset"}, (4, "says “delete”")),
        ("button", "Undo", {"tag": "button", "input_type": "reset"}, (1, "empties its form on the page")),
        ("button", "Reset", {"tag": "button", "input_type": "reset"}, (1, "empties its form on the page")),
        ("button", "Reset", {"tag": "button"}, (7, "says “reset”")),
        ("button", "Delete", {"tag": "input", "input_type": "reset"}, (4, "says “delete”")),
        ("button", "Имя", {"tag": "button", "input_type": "reset"}, (1, "empties its form on the page")),
        # what acts
        ("button", "Next", {"submits": True, "form_action": "/delete"}, (7, "form address says delete")),
        ("button", "Next", {"submits": False, "form_action": "/delete"}, (4, ACTS)),
        ("generic", "Next", {}, (4, ACTS)),
        ("main", "", {}, (4, ACTS)),
        ("main", "Delete account", {}, (7, "says “delete account”")),
        ("generic", "Delete", {}, (7, "says “delete”")),
        ("generic", "Next", {"tag": "summary"}, (1, "a summary")),
        ("generic", "Delete", {"tag": "summary"}, (7, "says “delete”")),
        ("generic", "Next", {"tag": "summary", "reacts": "script"}, (4, ACTS)),
        ("generic", "", {"tag": "summary", "reacts": "script", "tokens": ("chevron",)}, (4, ACTS)),
        ("generic", "Delete", {"tag": "summary", "reacts": "script"}, (7, "says “delete”")),
        ("checkbox", "Sort by", {"reacts": "script"}, (4, CHANGES)),
        ("link", "Next", {"url": "javascript:void(fetch('/a', {method: 'POST'}))"}, (4, ACTS)),
        ("link", "", {"url": "JavaScript:send(7)", "tokens": ("next",)}, (4, ACTS)),
        ("link", "Next", {"url": "javascript:void(0)/send()"}, (4, ACTS)),
        ("link", "Delete", {"url": "javascript:send(7)"}, (7, "says “delete”")),
        ("link", "Next", {"url": "javascript:void(0)"}, (4, ACTS)),
        ("tab", "Send", {}, (1, OPENS)),
        ("tab", "Delete", {}, (7, "says “delete”")),
        ("columnheader", "Price", {}, (1, OPENS)),
        ("button", "Apply filters", {}, (4, ACTS)),
        ("button", "Search", {"submits": True, "form_method": "post"}, (4, SUBMITS)),
        ("button", "Search", {"submits": True, "form_method": "get"}, (4, SUBMITS)),
        ("textbox", "Search", {"submits": True, "form_method": "post", "tag": "input"}, (4, SUBMITS)),
        ("switch", "Search", {"submits": True, "form_method": "post", "tag": "button"}, (4, SUBMITS)),
        ("tab", "Show more", {"submits": True, "form_method": "post", "tag": "button"}, (4, SUBMITS)),
        ("button", "Next", {"submits": True, "form_method": "post"}, (4, SUBMITS)),
        ("button", "Next", {"submits": True, "form_method": "dialog"}, (4, SUBMITS)),
        ("button", "Blue", {"submits": True, "form_method": "get", "form_action": "/x"}, (1, "a form that only reads")),
        ("button", "Blue", {"submits": True, "form_method": "get"}, (4, SUBMITS)),
        ("button", "Blue", {"states": ("expanded",)}, (1, OPENS)),
        ("button", "Send", {"states": ("expanded",)}, (1, OPENS)),
        ("button", "Share", {"states": ("expanded",)}, (1, OPENS)),
        ("button", "Pay", {"states": ("expanded",)}, (5, "says “pay”")),
        ("button", "Blue", {}, (4, ACTS)),
        ("button", "", {"tokens": ("chevron",), "submits": True}, (4, SUBMITS)),
        ("button", "Blue", {"tokens": ("chevron",)}, (4, ACTS)),
        ("button", "", {}, (4, ACTS)),
        ("button", "Blue", {"tokens": ("remove",)}, (7, "its id, class or icon says “remove”")),
        ("button", "Clear search", {"tokens": ("remove",)}, (4, ACTS)),
        ("button", "Clear search", {"tokens": ("trash",)}, (7, "its id, class or icon says “trash”")),
        ("button", "Delete ж", {}, (7, "says “delete ж”")),
        ("tab", "Pay ж", {}, (5, "says “pay ж”")),
        ("tab", "ж", {}, (1, OPENS)),
        ("tab", "ᚠᛖᛟ", {}, (1, OPENS)),
        ("tab", "Удалить", {}, (7, "says “удалить”")),
    ],
)
def test_a_click_is_judged_by_what_the_control_is_and_says(
    role: str, name: str, more: dict[str, Any], said: tuple[int, str]
) -> None:
    assert clicked(role, name, **more) == said


@each(
    ("name", "more", "said"),
    [
        ("Mugs", {}, (1, "a link")),
        ("", {}, (1, "a link")),
        ("Mugs", {"url": f"{SITE}/items/7/delete"}, (7, "link address says delete")),
        ("Mugs", {"tokens": ("trash",)}, (7, "its id, class or icon says “trash”")),
        ("Clear search", {"tokens": ("remove",)}, (1, "a link")),
        ("Delete", {}, (7, "says “delete”")),
        ("Authorise app", {}, (6, "says “authorise app”")),
        ("Pay now", {}, (5, "says “pay now”")),
        ("How to pay", {}, (1, "a link")),
        ("Send it", {}, (1, "a link")),
        ("Clear all", {}, (1, "a link")),
        ("Delete files in Linux", {}, (1, "a link")),
        ("Delete my files", {}, (7, "says “delete my files”")),
        ("削除", {}, (7, "says “削除”")),
        ("", {"tokens": ("buy",)}, (5, "its id, class or icon says “buy”")),
        ("Mugs", {"tokens": ("buy",)}, (1, "a link")),
        ("Blue mug", {"url": "javascript:void(0)"}, (4, ACTS)),
        ("Blue mug", {"url": f"{SITE}/#"}, (4, ACTS)),
        ("Mugs", {"url": f"{SITE}/#a"}, (1, "a link")),
        ("Next", {"url": ""}, (4, ACTS)),
        ("Blue mug", {"url": ""}, (4, ACTS)),
        ("Mugs", {"url": "http://[broken"}, (4, ACTS)),
    ],
)
def test_a_link_is_judged_by_its_address_its_marks_and_its_command(
    name: str, more: dict[str, Any], said: tuple[int, str]
) -> None:
    assert clicked("link", name, **({"url": f"{SITE}/mugs"} | more)) == said
