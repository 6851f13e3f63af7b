"""Risk classes by table, traps included."""

from __future__ import annotations

import time

import pytest

from protocol.page.actions.action import (
    Action,
    Back,
    Check,
    Click,
    Extract,
    Fill,
    Goto,
    Locator,
    Press,
    Scroll,
    Select,
    Wait,
)
from protocol.page.seen.observation import Element, Observation, Traits, Tree
from protocol.risk.pressing.classes import APPROVAL_CLASS, classify
from tests.tables import each

ANY = Locator()
PAGE = Observation(url="https://shop.example/", title="", text="", elements=())


def level(action: Action, element: Element | None = None) -> int:
    return classify(action, element, PAGE).level


def button(name: str, role: str = "button", **traits: object) -> int:
    return level(Click(target=ANY), Element(ref="e1", role=role, name=name, traits=_traits(**traits)))


def link(name: str, url: str = "https://shop.example/x", *tokens: str) -> int:
    return level(Click(target=ANY), Element(ref="e1", role="link", name=name, url=url, traits=_traits(tokens=tokens)))


def typing(name: str, role: str = "textbox", **traits: object) -> int:
    element = Element(ref="e1", role=role, name=name, traits=_traits(**{"tag": "input", **traits}))
    return level(Fill(target=ANY, value="x"), element)


def _traits(**fields: object) -> Traits:
    return Traits(**fields)  # type: ignore[arg-type]


@each(
    ("name", "expected"),
    [
        ("Delete", 7),
        ("DELETE ALL", 7),
        ("Remove item", 7),
        ("deleteItem", 7),
        ("Empty cart", 7),
        ("Reset", 7),
        ("Close account", 7),
        ("Close my account", 7),
        ("Cancel my booking", 7),
        ("Unsubscribe", 7),
        ("Log out", 7),
        ("Clear all", 7),
        ("Delete filter preset", 7),
        ("Remove filter rule", 7),
        ("Reset password", 7),
        ("Change password", 6),
        ("Authorise", 6),
        ("Create API key", 6),
        ("Pay £3.50", 5),
        ("Place order", 5),
        ("Order now", 5),
        ("Buy", 5),
        ("Add to cart", 4),
        ("Send", 4),
        ("Post comment", 4),
        ("New post", 4),
        ("Find and replace", 4),
        ("OK", 4),
        ("Continue", 4),
        ("Кнопка", 4),
        ("Dеlete", 7),  # with a Cyrillic letter
        ("", 4),
        ("Search", 4),
        ("Next", 4),
        ("Close", 4),
        ("Cancel", 4),
        ("Menu", 4),
        ("Clear filters", 4),
        ("Remove filter", 4),
        ("Order by price", 4),
    ],
)
def test_a_button_is_judged_by_the_words_of_its_name(name: str, expected: int) -> None:
    assert button(name, tag="button") == expected


@pytest.mark.parametrize("tokens", [("icon", "trash"), ("fa", "bin"), ("btn", "danger"), ("delete", "button")])
@pytest.mark.parametrize("name", ["", "Continue", "Next", "Clear filters"])
def test_a_destructive_icon_outweighs_the_name(name: str, tokens: tuple[str, ...]) -> None:
    """Guard: protocol/risk/pressing/structure.py, _said."""
    assert button(name, tokens=tokens) == 7
    assert link(name, "https://shop.example/x", *tokens) == (1 if name and "danger" in tokens else 7)


@each(
    ("name", "tokens", "more", "expected"),
    [
        ("Options", ("btn", "danger"), {"opens": "menu"}, 4),
        ("Options", ("btn", "danger"), {}, 7),
        ("Delete", ("btn", "danger"), {"opens": "menu"}, 7),
        ("Options", ("btn", "delete"), {"opens": "menu"}, 7),
        ("", ("btn", "danger"), {"opens": "menu"}, 7),
        ("×", ("btn", "danger"), {"opens": "menu"}, 7),
        ("Options", ("btn", "danger"), {"opens": "menu", "submits": True}, 7),
    ],
)
def test_a_red_button_that_opens_a_menu_only_leans_to_deleting_where_its_label_tells_it_from_others(
    name: str, tokens: tuple[str, ...], more: dict[str, object], expected: int
) -> None:
    """Guard: protocol/risk/pressing/structure.py, _opens_here."""
    element = Element(ref="e1", role="button", name=name, traits=_traits(**{"tag": "button", "tokens": tokens, **more}))
    assert level(Click(target=ANY), element) == expected


def test_the_colour_of_a_link_says_less_than_its_address() -> None:
    assert link("Cancel", "https://shop.example/rows", "btn", "danger") == 1
    assert link("Abbrechen", "https://shop.example/rows/7/delete", "btn", "danger") == 7
    assert link("Cancel", "https://shop.example/rows", "btn", "danger", "trash") == 7
    assert link("Cancel", "#", "btn", "danger") == 7


@each("name", ["", "×", "7"])
def test_the_colour_of_a_link_decides_where_its_label_says_nothing(name: str) -> None:
    """Guard: protocol/risk/pressing/structure.py, _said."""
    assert link(name, "https://shop.example/rows/7", "btn", "danger") == 7
    assert link(name, "https://shop.example/rows/7", "btn") == 1


@each(
    ("name", "url", "tokens", "expected"),
    [
        ("Details", "/rows", (), 1),
        ("Details", "#", (), 4),
        ("Details", "/?page=2#menu", (), 4),  # a place on a page
        ("Cancel", "/#sure", ("btn", "danger"), 7),
        ("Details", "/rows/7/delete", (), 7),
        ("Delete", "/rows", (), 7),
        ("Cancel", "/rows", ("btn", "danger"), 4),
        ("Cancel", "/rows", ("btn", "trash"), 7),
    ],
)
def test_a_link_that_the_page_calls_a_button_is_believed_to_lead_where_it_says(
    name: str, url: str, tokens: tuple[str, ...], expected: int
) -> None:
    traits = Traits(tag="a", tokens=tokens)
    element = Element(ref="e1", role="button", name=name, url=f"https://shop.example{url}", traits=traits)
    risk = classify(Click(target=ANY), element, PAGE)
    assert (risk.level, risk.sure) == (expected, False)


@each(
    ("name", "said", "expected"),
    [
        ("Delete my account and all data", "", 7),  # of a link it would be a title
        ("Pay and place my order now", "", 5),
        ("Yes", "Delete your account? This cannot be undone.", 7),
        ("რუკა", "", 1),
    ],
)
def test_what_a_link_that_the_page_calls_a_button_says_counts_as_on_a_button(
    name: str, said: str, expected: int
) -> None:
    """Guard: protocol/risk/pressing/structure.py, clicked."""
    element = Element(ref="e1", role="button", name=name, url="https://shop.example/rows", traits=Traits(tag="a"))
    roles = ("main", "dialog", "paragraph", "button")
    tree = Tree(parents=(-1, 0, 1, 1), roles=roles, said=("", "", said, name), elements=(-1, -1, -1, 0))
    seen = Observation(url="https://shop.example/", title="", text="", elements=(element,), tree=tree)
    assert classify(Click(target=ANY), element, seen).level == expected


def test_all_elements_of_a_page_are_judged_in_time_however_deep_it_is_and_long_its_addresses_are() -> None:
    nodes = 50_000
    script = "javascript:" + ";" * 4_000 + "x"
    elements = tuple(
        Element(ref=f"e{at}", role="generic" if at % 10 else "link", name="Show more", url="" if at % 10 else script)
        for at in range(1_000)
    )
    tree = Tree(
        parents=(-1, *range(nodes)),
        roles=("main", *["generic"] * nodes),
        elements=(-1, *range(1_000), *[-1] * (nodes - 1_000)),
    )
    seen = Observation(url="https://shop.example/", title="", text="", elements=elements, tree=tree)
    began = time.process_time()
    assert all(classify(Click(target=ANY), element, seen).level == 4 for element in elements)
    assert time.process_time() - began < 2


def test_a_link_to_a_mail_program_opens_a_draft_unless_a_script_may_do_more() -> None:
    assert link("E-mail", "mailto:ann@example.org?subject=figs") == 3
    assert link("Account löschen", "MAILTO:ann@example.org") == 7
    assert link("Call", "tel:+4722334455") == 4
    scripted = Element(
        ref="e1", role="link", name="E-mail", url="mailto:ann@example.org", traits=Traits(tag="a", handler="0badcafe")
    )
    risk = classify(Click(target=Locator(role="link", name="E-mail")), scripted, PAGE)
    assert risk.level == 3


@each(
    ("name", "method", "action", "expected"),
    [
        ("Go", "get", "/search", 1),
        ("Go", "get", "", 4),  # neither action nor method is stated: a script handles the form
        ("Search", "get", "", 4),
        ("Search", "post", "/find", 4),
        ("Go", "post", "/do", 4),
        ("Next", "post", "/step2", 4),
        ("Go", "post", "/items/3/delete", 7),
        ("Search", "get", "/logout", 7),
        ("Delete", "get", "/x", 7),
        ("Yes", "dialog", "/x", 4),
    ],
)
def test_a_submit_is_judged_by_its_form(name: str, method: str, action: str, expected: int) -> None:
    assert button(name, tag="button", submits=True, form_method=method, form_action=action) == expected


@each(
    ("name", "url", "expected"),
    [
        ("Item", "https://shop.example/items/3", 1),
        ("Item", "https://shop.example/items/3/delete", 7),
        ("Item", "https://shop.example/do?action=delete&id=3", 7),
        ("Help", "https://shop.example/account/close?confirm=1", 7),
        ("Search", "https://shop.example/search?q=delete", 1),
        ("How to remove stains", "https://shop.example/wiki/how-to-remove-stains", 1),
        ("Delete", "https://shop.example/x", 7),
        ("Log out", "https://shop.example/bye", 7),
        ("Email settings", "https://shop.example/settings", 1),
        ("Pay now", "https://shop.example/p", 5),
        ("How to pay", "https://shop.example/help", 1),
        ("Order #5", "https://shop.example/orders/5", 1),
        ("Post: my trip", "https://shop.example/blog/1", 1),
        ("Book of Kells", "https://shop.example/books/1", 1),
        ("Publish", "https://shop.example/p", 1),
        ("Delete", "", 7),
        ("Anything", "javascript:go()", 4),
        ("Anything", "https://shop.example/#", 4),
    ],
)
def test_a_link_reads_unless_its_address_or_a_command_says_otherwise(name: str, url: str, expected: int) -> None:
    assert link(name, url) == expected


def test_typing_is_judged_by_the_field() -> None:
    assert typing("Password", input_type="password") == 6
    assert typing("Anything", autocomplete="one-time-code") == 6
    assert typing("Mail", input_type="email") == 3
    assert typing("Anything", tokens=("api", "key"), input_type="text") in (3, 6)
    assert typing("Card number") == 5
    assert typing("Anything", autocomplete="cc-number") == 5
    assert typing("Message") == 3
    assert typing("Search", role="searchbox") == 1
    assert typing("Lowest price", form_method="get", form_action="/list") == 1
    assert typing("Find", form_method="post", form_action="/list") == 3


def test_choices_change_a_form_unless_they_sort_or_filter() -> None:
    plain = Element(ref="e1", role="combobox", name="Country")
    sort = Element(ref="e1", role="combobox", name="Sort by")
    bulk = Element(ref="e1", role="combobox", name="Action")
    assert level(Select(target=ANY, option="France"), plain) == 3
    assert level(Select(target=ANY, option="Price"), sort) == 3
    assert level(Select(target=ANY, option="Delete selected"), bulk) == 7
    in_form = _traits(tag="input", form_method="post", form_action="/x")
    assert level(Check(target=ANY), Element(ref="e1", role="checkbox", name="Remember", traits=in_form)) == 3
    assert level(Check(target=ANY), Element(ref="e1", role="checkbox", name="Remember")) == 4
    assert level(Check(target=ANY), Element(ref="e1", role="checkbox", name="Grant access", traits=in_form)) == 6
    assert level(Click(target=ANY), Element(ref="e1", role="tab", name="Payments")) == 1


def test_a_key_is_judged_by_what_it_would_set_off() -> None:
    post = Element(
        ref="e1", role="textbox", name="Note", traits=_traits(tag="input", form_method="post", form_action="/x")
    )
    search = Element(ref="e1", role="searchbox", name="Find", traits=_traits(form_method="get", form_action="/s"))
    assert level(Press(key="Escape")) == 1
    assert level(Press(key="ArrowDown", target=ANY), post) == 1
    assert level(Press(key="Enter")) == 4
    assert level(Press(key="#")) == 4
    assert level(Press(key="Enter", target=ANY), post) == 4
    assert level(Press(key="Enter", target=ANY), search) == 1
    assert level(Press(key="a", target=ANY), post) == 3
    assert level(Press(key="Enter", target=ANY), Element(ref="e1", role="button", name="Delete")) == 7


@each(("label", "expected"), [("Search", 1), ("Pay £20", 5), ("Delete account", 7)])
def test_enter_counts_as_the_first_button_of_its_form(label: str, expected: int) -> None:
    field = Element(
        ref="e1", role="textbox", name="Name", traits=Traits(tag="input", form_method="get", form_action="/p")
    )
    traits = Traits(tag="button", submits=True, form_method="get", form_action="/p")
    buttons = [
        Element(ref=ref, role="button", name=name, traits=traits) for ref, name in (("e2", label), ("e3", "Delete"))
    ]
    page = Observation(url="https://a.example/", title="", text="", elements=(field, *buttons))
    assert classify(Press(key="Enter", target=ANY), field, page).level == expected
    traits = Traits(tag="input", input_type="checkbox", form_method="get", form_action="/p")
    box = Element(ref="e4", role="checkbox", name="Large", traits=traits)
    assert classify(Press(key="Enter", target=ANY), box, page).level == expected


@each("end", ["#", "#!", "#0", "#none"])
def test_a_link_that_leads_nowhere_is_judged_by_what_it_says(end: str) -> None:
    assert link("Delete my account", f"https://shop.example/{end}") == 7
    assert link("Publish", f"https://shop.example/{end}") == 4


@each("key", ["Enter", "NumpadEnter"])
def test_enter_begins_a_line_in_a_text_area_and_submits_from_a_field(key: str) -> None:
    def enter(tag: str) -> int:
        traits = _traits(tag=tag, form_method="post", form_action="/x")
        return level(Press(key=key, target=ANY), Element(ref="e1", role="textbox", name="Note", traits=traits))

    assert (enter("textarea"), enter("input")) == (4, 4)


def test_a_space_is_typed_into_a_field_and_presses_a_button() -> None:
    field = Element(
        ref="e1", role="textbox", name="Note", traits=_traits(tag="input", form_method="post", form_action="/x")
    )
    assert level(Press(key="Space", target=ANY), field) == 3
    assert level(Press(key="Space", target=ANY), Element(ref="e1", role="button", name="Delete")) == 7


def test_enter_without_a_target_is_judged_by_what_has_the_focus() -> None:
    focused = Element(ref="e1", role="button", name="Delete", states=("active",))
    page = Observation(url="https://shop.example/", title="", text="", elements=(focused,))
    assert classify(Press(key="Enter"), None, page).level == 7


@each("url", ["http://[bad", "http://[bad/delete", "https://a]b/", "http://[::1"])
def test_a_link_whose_address_cannot_be_read_needs_an_approval(url: str) -> None:
    assert link("Help", url) == APPROVAL_CLASS
    assert link("Delete", url) == 7
    assert level(Goto(url=url)) == 7


def test_reading_is_the_lowest_class() -> None:
    for action in (Scroll(), Wait(), Back(), Extract(name="x"), Goto(url="https://shop.example/items")):
        assert level(action) == 1


def test_opening_a_destructive_address_is_the_highest_class() -> None:
    assert level(Goto(url="https://shop.example/logout")) == 7


def test_an_unknown_element_needs_an_approval() -> None:
    assert level(Click(target=ANY), None) >= APPROVAL_CLASS
    assert level(Click(target=ANY), Element(ref="e1", role="generic", name="Something")) >= APPROVAL_CLASS


LABELS = {
    "ja": ("今すぐ支払う", "すべて削除", "送信"),
    "zh": ("立即支付", "全部删除", "发送"),
    "ru": ("Оплатить сейчас", "Удалить всё", "Отправить"),
    "ar": ("ادفع الآن", "حذف الكل", "إرسال"),
    "el": ("Πληρωμή τώρα", "Διαγραφή όλων", "Αποστολή"),
    "ko": ("지금 결제", "모두 삭제", "보내기"),
    "he": ("שלם עכשיו", "מחק הכל", "שלח"),
    "hi": ("अभी भुगतान करें", "सभी हटाएं", "भेजें"),
}
BY_LABEL = [
    pytest.param(label, expected, id=f"{name}-{expected}")
    for name, three in LABELS.items()
    for label, expected in zip(three, (5, 7, 4), strict=True)
]
VIEW_CLASSES = [("btn", "info"), ("menu", "item"), ("nav", "tab"), ("search",), ("close", "icon"), ()]


@pytest.mark.parametrize("tokens", VIEW_CLASSES)
@pytest.mark.parametrize(("label", "expected"), BY_LABEL)
def test_a_label_in_any_script_counts_whatever_the_markup_says(
    label: str, expected: int, tokens: tuple[str, ...]
) -> None:
    """Guard: protocol/risk/pressing/structure.py, _said."""
    for role in ("button", "menuitem", "switch", "checkbox", "radio", "generic"):
        element = Element(ref="e1", role=role, name=label, traits=Traits(tag="div", tokens=tokens))
        assert level(Click(target=ANY), element) == expected, role
    if expected > 4:
        # What the page says of a control outweighs words of class 4, and no graver ones.
        for role in ("tab", "treeitem", "columnheader"):
            assert button(label, role=role, tag="div", tokens=tokens) == expected, role
        assert button(label, tag="summary", tokens=tokens) == expected
        expanded = Element(ref="e1", role="button", name=label, states=("expanded",), traits=Traits(tokens=tokens))
        assert level(Click(target=ANY), expanded) == expected
        assert button(label, tag="button", input_type="reset", tokens=tokens) == 4
        assert (
            button(label, tag="button", submits=True, form_method="get", form_action="/go", tokens=tokens) == expected
        )
    assert link(label, "https://shop.example/#", *tokens) == expected
    assert link(label, "javascript:go()", *tokens) == expected
    assert level(Press(key="Enter", target=ANY), Element(ref="e1", role="button", name=label)) == expected


@each(
    ("name", "expected"),
    [
        ("Search 削除", 7),
        ("Удалить filters", 7),
        ("Info löschen", 7),
        ("Menu · Πληρωμή", 5),
        ("Save draft 送信", 4),
        ("ｎｅｘｔ", 4),
        ("ⓟⓐⓨ", 5),
        ("🅿🅰🆈", 5),
        ("рау", 5),  # in Cyrillic letters
        ("D e l e t e", 7),
        ("D\u200bel\u00adete", 7),
        ("\u202eDelete", 7),
        ("D̶e̶l̶e̶t̶e̶", 7),
        ("ᴅᴇʟᴇᴛᴇ", 7),
        ("🗑", 7),
        ("💳", 5),
        ("Delete 削除", 7),
        ("支払う Pay", 5),
        ("🔍 Search", 4),
        ("🗑 Next", 4),
        ("×", 4),
        ("Next " * 40, 4),
        ("Next " * 13 + "and delete it", 4),
    ],
)
def test_a_label_is_read_as_a_person_reads_it_and_in_full(name: str, expected: int) -> None:
    """Guard: protocol/risk/words/text.py, read."""
    assert button(name, tag="button", tokens=("btn", "info")) == expected


def test_a_label_in_two_scripts_counts_as_the_graver_part() -> None:
    """Guard: protocol/risk/words/__init__.py, _worse."""
    assert button("Pay 支払い", role="tab") == 5
    assert button("Next 削除", role="tab") == 7
    assert level(Select(target=ANY, option="削除"), Element(ref="e1", role="combobox", name="Action")) == 7
    assert level(Select(target=ANY, option="Delete 削除"), Element(ref="e1", role="combobox", name="Action")) == 7


def test_a_get_to_a_harmless_address_stays_what_it_is_unless_the_label_is_grave() -> None:
    assert link("次へ", "https://shop.example/list?page=2") == 1
    assert link("送信", "https://shop.example/list?page=2") == 1
    assert link("削除", "https://shop.example/list?page=2") == 7
    form = {"form_method": "get", "form_action": "/list"}
    assert typing("Поиск", **form) == 1
    field = Element(ref="e1", role="textbox", name="Поиск", traits=_traits(tag="input", **form))
    assert level(Press(key="Enter", target=ANY), field) == 1
    assert button("Красный", role="checkbox", **form) == 1
    assert button("Красный", role="checkbox", form_method="get", form_action="/delete") == 3
    assert button("Красный", role="checkbox", tag="input", form_method="post", form_action="/list") == 3


def test_a_field_is_known_by_its_label_in_any_language() -> None:
    assert typing("Номер карты") == 5
    assert typing("Номер карты", tokens=("q",)) == 5
    assert typing("検索", role="searchbox", tag="div") == 1
    native = _traits(tag="input", input_type="search", form_method="post", form_action="/x")
    search = Element(ref="e1", role="searchbox", name="検索", traits=native)
    assert level(Fill(target=ANY, value="x"), search) == 1
    assert typing("パスワード", input_type="text") == 6
    assert typing("Adresse e-mail", input_type="text") == typing("メールアドレス", input_type="text") == 3
    assert typing("Vorname", input_type="text") == 3


DELETES = {"form_method": "post", "form_action": "/account/delete"}
ENTERS = ["Enter", "NumpadEnter", "\n", "\r", "Shift+Enter", "Shift+NumpadEnter", "Control+Enter", "ShiftLeft+Enter"]


@each("key", ENTERS)
def test_every_way_to_press_enter_submits_the_form_of_a_field(key: str) -> None:
    """Guard: protocol/risk/pressing/keys.py, entered."""
    for role, tag, kind in (
        ("textbox", "input", "text"),
        ("combobox", "input", "text"),
        ("combobox", "select", ""),
        ("checkbox", "input", "checkbox"),
        ("radio", "input", "radio"),
        ("spinbutton", "input", "number"),
        ("slider", "input", "range"),
    ):
        traits = _traits(tag=tag, input_type=kind, **DELETES)
        element = Element(ref="e1", role=role, name="Reason", traits=traits)
        assert level(Press(key=key, target=ANY), element) == 7, role
    search = Element(ref="e1", role="searchbox", name="Find", traits=_traits(form_method="get", form_action="/s"))
    assert level(Press(key=key, target=ANY), search) == 1
    assert level(Press(key=key, target=ANY), Element(ref="e1", role="button", name="Delete")) == 7


def test_enter_with_control_sends_from_a_text_area() -> None:
    area = Element(ref="e1", role="textbox", name="Write a reply", traits=_traits(tag="textarea"))
    for key, expected in (("Enter", 4), ("Shift+Enter", 3), ("\n", 4), ("Control+Enter", 4), ("Meta+Enter", 4)):
        assert level(Press(key=key, target=ANY), area) == expected, key


@each("key", ["Space", " ", "Shift+Space", "Control+Space", "Shift+ "])
def test_every_way_to_press_space_activates_a_button(key: str) -> None:
    assert level(Press(key=key, target=ANY), Element(ref="e1", role="button", name="Delete")) == 7


@each("key", ["ArrowDown", "ArrowUp", "Home", "End", "PageDown", "Alt+ArrowDown", "D", "KeyD"])
def test_a_key_that_chooses_in_a_list_counts_as_its_worst_option(key: str) -> None:
    """Guard: protocol/risk/pressing/fields.py, any_choice."""

    def pressed(*options: str, name: str = "State") -> int:
        traits = _traits(tag="select")
        return level(
            Press(key=key, target=ANY), Element(ref="e1", role="combobox", name=name, options=options, traits=traits)
        )

    assert pressed("Active", "Delete my account") == 7
    assert pressed("Active", "Paused") == 3
    assert pressed("Name", "Price", name="Sort by") == 3


def test_arrow_keys_change_what_is_chosen_or_set_and_move_in_anything_else() -> None:
    """Guard: protocol/risk/pressing/keys.py, _moved."""

    def arrow(role: str, name: str = "x", **traits: object) -> int:
        return level(
            Press(key="ArrowDown", target=ANY), Element(ref="e1", role=role, name=name, traits=_traits(**traits))
        )

    form = {"form_method": "post", "form_action": "/x"}
    assert (arrow("radio", tag="input", **form), arrow("radio", "Figs"), arrow("radio", "Delete all")) == (3, 4, 7)
    assert arrow("slider", tag="input", **form) == 3
    assert (arrow("spinbutton", tag="input"), arrow("textbox", tag="input", input_type="date")) == (3, 3)
    assert (arrow("tab"), arrow("textbox", tag="input"), arrow("combobox", "Find", tag="input")) == (1, 1, 1)
    focused = Element(ref="e1", role="radio", name="Delete all", states=("active",))
    page = Observation(url="https://shop.example/", title="", text="", elements=(focused,))
    assert classify(Press(key="ArrowDown"), None, page).level == 7


@each("key", ["Alt+d", "Control+s", "Meta+Enter+a", "Enter+a", "a+Enter", "F5", "Numpad1", "\x7f", "Alt+Control+a"])
def test_shortcuts_and_keys_that_are_not_known_need_an_approval(key: str) -> None:
    """Guard: protocol/risk/pressing/keys.py, _edited."""
    search = Element(ref="e1", role="searchbox", name="Find", traits=_traits(form_method="get", form_action="/s"))
    assert level(Press(key=key, target=ANY), search) == 4
    assert level(Press(key=key)) == 4


@each("key", ["a", "Shift+A", "+", "Shift++", "Control+A", "Control+z", "Backspace", "Control+Delete"])
def test_a_key_of_typing_is_judged_as_typing(key: str) -> None:
    note = Element(ref="e1", role="textbox", name="Note", traits=_traits(tag="input"))
    assert level(Press(key=key, target=ANY), note) == 3


@each("role", ["region", "navigation", "dialog", "generic", "listitem", "row", "img", "form", "main"])
def test_a_click_on_what_is_no_control_acts_whatever_its_name(role: str) -> None:
    for name, expected in (("Search options", 4), ("", 4), ("Delete", 7)):
        assert button(name, role=role, tag="section") == expected


def test_only_fields_lists_and_boxes_are_filled_chosen_from_and_checked() -> None:
    label = Element(ref="e1", role="generic", name="Search", traits=_traits(tag="span"))
    for action in (Fill(target=ANY, value="x"), Select(target=ANY, option="x"), Check(target=ANY)):
        assert level(action, label) == 4
    assert level(Fill(target=ANY, value="x"), Element(ref="e1", role="paragraph", name="Password")) == 6
