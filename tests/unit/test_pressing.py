"""Where a press needs a yes before it, and where what it sends is judged as it leaves."""

from __future__ import annotations

from node.live.acting.gate import Gate
from node.live.browsers.mounting import Mount
from protocol.page.actions.action import Action, Click, Drag, Fill, Goto, Locator, Press, Secret, Select
from protocol.page.seen.observation import Element, Observation, Traits
from protocol.risk.pressing.classes import Risk, classify
from protocol.risk.pressing.pressing import is_grave, needs_yes, only_reads, raised, reading
from protocol.risk.requests.requests import GuardPolicy
from protocol.risk.requests.sites import SiteRule
from tests.tables import each

PAGE = Observation(url="https://shop.example/cart", title="Cart", text="", elements=())
AT = Locator(role="button", name="x")
READS = GuardPolicy()
GRAVE = ("Delete account", "Konto löschen", "Supprimer", "削除", "Buy now")
HARMLESS = ("Menu", "Frobnicate", "Dark mode", "In den Warenkorb", "もっと見る")


def element(name: str, role: str = "button", url: str = "", **traits: object) -> Element:
    return Element(ref="e1", role=role, name=name, url=url, traits=Traits(**traits))  # type: ignore[arg-type]


def why(action: Action, on: Element | None, guard: GuardPolicy = READS, *, chosen: bool = False) -> str:
    return needs_yes(action, on, classify(action, on, PAGE), guard, chosen_at=PAGE.url if chosen else "")


@each("name", [*GRAVE, *HARMLESS])
def test_under_a_wall_that_lets_reads_pass_no_label_stops_a_press(name: str) -> None:
    on = element(name, tag="button")
    for action in (
        Click(target=AT),
        Press(target=AT, key="Enter"),
        Drag(target=AT, onto=AT),
        Fill(target=AT, value="x"),
    ):
        assert why(action, on) == "", action
    assert why(Select(target=AT, option=name), element(name, "combobox", tag="select")) == ""


def test_what_is_more_than_a_press_needs_a_yes() -> None:
    """Guard: protocol/risk/pressing/pressing.py, needs_yes."""
    field = element("Password", "textbox", tag="input", input_type="password")
    more: tuple[tuple[Action, Element | None], ...] = (
        (Fill(target=AT, value=Secret(secret="word")), field),
        (Goto(url="https://shop.example/account/delete"), None),
    )
    for action, on in more:
        assert why(action, on), action


@each(
    ("guard", "many"),
    [
        (GuardPolicy(read_only=False), True),
        (GuardPolicy(allow=("WS https://shop.example/*",)), True),
        (GuardPolicy(allow=("POST https://shop.example/api/*",)), True),
        (GuardPolicy(allow=("POST https://shop.example/graphql",)), True),
        (GuardPolicy(sites=(SiteRule(site="https://*.example", why="x", connect=("/live",)),)), True),
        (GuardPolicy(sites=(SiteRule(site="https://shop.example", why="x", post=("POST /api/rpc",)),)), True),
        (GuardPolicy(allow=("POST https://shop.example/cart/add",)), False),
        (
            GuardPolicy(
                sites=(SiteRule(site="https://bank.example", why="a page may send to it", post=("POST /pay",)),)
            ),
            False,
        ),
    ],
)
def test_where_any_command_may_leave_a_press_of_grave_words_is_asked_about(guard: GuardPolicy, many: bool) -> None:
    """Guard: protocol/risk/pressing/pressing.py, carries_many."""
    assert not only_reads(guard)
    assert why(Click(target=AT), element("Menu"), guard) == ""
    assert bool(why(Click(target=AT), element("Delete account"), guard)) is many


def test_a_rule_that_only_narrows_what_is_read_leaves_presses_free() -> None:
    assert only_reads(GuardPolicy(sites=(SiteRule(site="https://shop.example", why="x", read=("/**",)),)))


def test_a_get_may_be_an_order_that_does_not_say_so() -> None:
    """Guard: protocol/risk/pressing/pressing.py, _reads_by_address."""
    link = element("Unsubscribe from all", "link", "https://shop.example/goodbye", tag="a")
    form = element("Delete account", tag="button", submits=True, form_method="get")
    for on in (link, form):
        assert why(Click(target=AT), on), on.name
    assert why(Click(target=AT), element("Mugs", "link", "https://shop.example/mugs", tag="a")) == ""
    mute = element("Unsubscribe from all", "link", "https://shop.example/u/9f8e7d6c5b4a", tag="a")
    assert why(Click(target=AT), mute) == "", "what nobody can read is stopped as it leaves"
    assert is_grave(Click(target=AT), classify(Click(target=AT), mute, PAGE))
    assert not is_grave(Click(target=AT), classify(Click(target=AT), element("Mugs"), PAGE))
    assert not is_grave(Goto(url=mute.url), Risk(level=7, reason="x")), "a person named it"


def test_the_yes_for_a_link_that_sounds_grave_is_of_the_class_that_it_sounds_like() -> None:
    """Guard: protocol/risk/pressing/pressing.py, raised."""

    def asked(name: str, url: str) -> int:
        on = element(name, "link", f"https://shop.example{url}", tag="a")
        risk = classify(Click(target=AT), on, PAGE)
        return raised(risk, why(Click(target=AT), on)).level

    orders = {"Please delete my account": 7, "Transfer £500 to Bob": 5, "Buy 3 for £99": 5, "Virer 500 €": 5}
    assert {name: asked(name, "/page/next") for name in orders} == orders
    titles = {"Cheese": "/wiki/Cheese", "Panier": "/panier/7", "How do I delete my account?": "/help/7"}
    assert [asked(name, url) for name, url in titles.items()] == [1] * len(titles)


def test_a_search_presses_freely_but_where_the_rule_of_the_site_keeps_it_from_that() -> None:
    careful = GuardPolicy(sites=(SiteRule(site="https://shop.example", why="x", read=("/**",), probe=False),))
    assert why(Click(target=AT), element("Frobnicate"), chosen=True) == ""
    assert why(Click(target=AT), element("Frobnicate"), careful, chosen=True)
    assert why(Click(target=AT), element("Frobnicate"), careful) == ""


def test_a_search_presses_nothing_that_sounds_grave() -> None:
    """Guard: protocol/risk/pressing/pressing.py, needs_yes."""
    assert all(why(Click(target=AT), element(name, tag="button"), chosen=True) for name in GRAVE)
    assert not any(why(Click(target=AT), element(name, tag="button"), chosen=True) for name in HARMLESS)


def test_a_search_follows_a_link_that_sounds_grave_only_to_a_text_that_is_called_so() -> None:
    """Guard: protocol/risk/pressing/pressing.py, _is_text."""

    def level(name: str, url: str) -> int:
        on = element(name, "link", f"https://shop.example{url}", tag="a")
        risk = classify(Click(target=AT), on, PAGE)
        return raised(risk, why(Click(target=AT), on, chosen=True)).level

    orders = (
        ("Unsubscribe from all", "/goodbye"),
        ("Unsubscribe from all", "/u/9f8e7d6c5b4a"),
        ("Delete my account?", "/u/9f8e7d6c5b4a"),
    )
    assert all(level(*each) >= 5 for each in orders)
    assert [level(*each) for each in (("How do I delete my account?", "/help/7"), ("Mugs", "/mugs"))] == [1, 1]


def test_what_may_be_sent_by_name_is_taken_out_for_a_login_that_is_for_reading() -> None:
    """Guard: protocol/risk/pressing/pressing.py, reading."""
    rule = SiteRule(site="https://shop.example", why="x", read=("/a/**",), post=("POST /cart",), connect=("/live",))
    kept = reading(GuardPolicy(read_only=False, allow=("POST https://shop.example/b",), sites=(rule,)))
    assert only_reads(kept)
    assert kept.sites[0].read == ("/a/**",), "what it may read is narrowed as before"


def test_a_capsule_that_forbids_trials_leaves_each_press_to_its_class() -> None:
    """Guard: node/live/browsers/mounting.py, Mount.gate."""
    gate = Gate(report=unreported, wall=READS)
    press = Click(target=AT), element("Frobnicate", tag="button"), Risk(level=4, reason="x"), PAGE.url
    for mount, asks in (
        (Mount(guard=READS, capsule="cap-1"), False),
        (Mount(guard=READS, capsule="cap-1", probes=False), True),
        (Mount(guard=READS), False),
    ):
        assert bool(mount.gate(gate).needs_yes(*press)) is asks
    assert Gate(report=unreported).needs_yes(*press), "an attached browser has no wall"


async def unreported(action: Action, risk: Risk, approved: bool) -> None:
    raise AssertionError("nothing is admitted")
