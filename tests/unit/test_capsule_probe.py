"""What tells a login from none by one look, and what of a state can be left out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from protocol.capsule.contents import named
from protocol.capsule.flows.login import Look
from protocol.capsule.flows.probe import Probe, judge_page, learned
from protocol.capsule.minimal import Halving, Part, as_minimal, only, parts_of, shown_by
from protocol.capsule.state import CapsuleState, Cookie, OriginStorage
from protocol.goal.condition import Condition
from protocol.page.seen.observation import Element, Observation, Traits
from tests.capsules import CANARY, STATE
from tests.tables import each

PASSWORD = Element(ref="e1", role="textbox", name="Password", traits=Traits(tag="input", input_type="password"))
LEAVES = Element(ref="e2", role="link", name="Log out")
PAGE, LOGIN, OTHER = (f"https://shop.example/{path}" for path in ("account", "login", "orders"))


def page(*elements: Element, url: str = PAGE, text: str = "") -> Observation:
    return Observation(url=url, title="", text=text, elements=elements)


def test_one_look_tells_what_the_comparison_at_the_capture_has_shown() -> None:
    """Guard: protocol/capsule/flows/probe.py, judge_page."""
    probe = learned([Look(seen=page(PASSWORD, url=f"{LOGIN}?next=account"))], page(LEAVES), None)
    assert probe == Probe(asks=True, leads=LOGIN, leaves=True) and probe.decides
    assert judge_page(probe, PAGE, PAGE, page()) == "alive"
    assert judge_page(probe, PAGE, PAGE, page(PASSWORD)) == "dead"
    assert judge_page(probe, PAGE, PAGE, page(url=f"{LOGIN}?next=x")) == "dead"
    assert judge_page(probe, PAGE, OTHER, page(PASSWORD, url=LOGIN)) == "dead", "led to the login from anywhere"
    assert judge_page(probe, PAGE, OTHER, page(url=OTHER)) == "unknown", "any page can be public"
    assert judge_page(probe, PAGE, OTHER, page(PASSWORD, url=OTHER)) == "unknown", "a password may be asked again"
    assert judge_page(probe, PAGE, OTHER, page(LEAVES, url=OTHER)) == "alive"
    assert judge_page(probe, PAGE, LOGIN, page(PASSWORD, url=LOGIN)) == "unknown", "the work asked for it"


def test_a_condition_decides_at_its_page_and_proves_at_any_other() -> None:
    probe = learned([Look(seen=page())], page(), Condition(text="Welcome anna"))
    assert judge_page(probe, PAGE, PAGE, page(text="welcome anna")) == "alive"
    assert judge_page(probe, PAGE, PAGE, page(text="welcome")) == "dead"
    assert judge_page(probe, PAGE, OTHER, page(text="welcome")) == "unknown"
    assert judge_page(probe, PAGE, OTHER, page(text="welcome anna")) == "alive"


def test_what_is_the_same_for_everybody_tells_nothing() -> None:
    same = learned([Look(seen=page())], page(), None)
    assert not same.decides and judge_page(same, PAGE, PAGE, page()) == "unknown"
    assert learned([Look(failed="browser.refused")], page(), None) == Probe(refused=True)
    assert not learned([Look(failed="browser.timeout")], page(), None).decides, "a network may fail for anybody"


@given(st.integers(1, 40), st.sets(st.integers(0, 39), min_size=1, max_size=4))
def test_exactly_what_is_needed_is_left_after_few_looks(count: int, wanted: set[int]) -> None:
    needed = {str(number % count) for number in wanted}
    halving, looks = Halving(Part("cookie", "shop.example", str(number)) for number in range(count)), 0
    while (proposed := halving.propose()) is not None:
        looks += 1
        halving.tell(held=needed <= {part.name for part in proposed})
    assert {part.name for part in halving.kept} == needed
    assert looks <= 2 * count + 2 * len(needed) * count.bit_length() + 4


@each("kind", ["cookie", "local", "session", "database"])
def test_a_state_is_cut_to_single_parts(kind: str) -> None:
    (part,) = [part for part in parts_of(STATE) if part.kind == kind]
    assert list(parts_of(only(STATE, [part]))) == [part]
    assert only(STATE, parts_of(STATE)) == STATE
    assert only(STATE, []) == CapsuleState()


def test_newer_state_stays_minimal_unless_something_that_was_kept_is_gone() -> None:
    """Guard: protocol/capsule/minimal.py, as_minimal."""
    sid, track = (Cookie(name=name, value="1", domain="shop.example") for name in ("sid", "track"))
    before, renewed = CapsuleState(cookies=(sid,)), Cookie(name="sid", value="2", domain="shop.example")
    assert as_minimal(CapsuleState(cookies=(renewed, track)), before).cookies == (renewed,)
    assert as_minimal(CapsuleState(cookies=(track,)), before).cookies == (track,)


def test_the_list_of_what_stays_has_names_and_no_value_and_no_name_that_is_a_value() -> None:
    """Guard: protocol/capsule/contents.py, _name."""
    token = "Zx81Kq0vPm3rT6wYb9Ld4Nf7Hs2Jc5Ga"
    strange = CapsuleState(cookies=(Cookie(name=token, value=CANARY, domain="shop.example"),))
    stays, more = named([*parts_of(STATE), *parts_of(strange)])
    assert more == 0 and {each.name for each in stays} == {"sid", "token", "tab", "auth", "(generated)"}
    assert CANARY not in str(stays) and token not in str(stays)
    many = CapsuleState(storage=(OriginStorage(origin="https://x.example"),), cookies=STATE.cookies * 1)
    assert named(Part("cookie", "h", f"c{number}") for number in range(200))[1] == 200 - 64 and many.cookies


def test_a_page_decides_about_what_its_own_site_alone_is_given() -> None:
    page, origins = "https://shop.example/account", ("https://shop.example", "https://login.example")
    own = Part("cookie", "shop.example", "sid"), Part("local", "https://shop.example", "token")
    others = Part("cookie", "login.example", "sso"), Part("local", "https://login.example", "token")
    assert shown_by(page, origins, (*own, *others)) == own
    both = Part("cookie", ".example", "sid")
    assert shown_by(page, origins, (both,)) == (), "the other site is given it too"
    assert shown_by(page, ("https://shop.example",), (both,)) == (both,)
    below = Part("cookie", "id.login.example", "sso")
    assert shown_by(page, ("https://shop.example", "https://*.login.example"), (below,)) == ()
