"""The table of what acts without a request: what it says of actions of ours, and what is told by a note."""

from __future__ import annotations

from adapters.browser.base.unrequested import DEEDS, other_program
from adapters.browser.launch.arguments import launch_args
from adapters.browser.launch.settings import BrowserSettings
from protocol.page.actions.action import Click, Fill, Locator, Secret
from protocol.page.actions.dialogs import DialogAnswer
from protocol.page.seen.observation import BLANK, Element, Traits
from protocol.risk.pressing.answers import with_answer
from protocol.risk.pressing.classes import APPROVAL_CLASS, classify
from protocol.risk.pressing.pressing import needs_yes
from protocol.risk.requests.requests import GuardPolicy


def test_what_is_asked_has_a_class_that_nobody_has_without_a_yes() -> None:
    target = Locator()
    word = Element(ref="e2", role="textbox", name="Password", traits=Traits(tag="input", input_type="password"))
    button = Element(ref="e3", role="button", name="Next")
    secret = Fill(target=target, value=Secret(secret="word"))
    assert classify(secret, word, BLANK).level == 6
    assert needs_yes(secret, word, classify(secret, word, BLANK), GuardPolicy())
    press = classify(Click(target=target), button, BLANK)
    for text, level in (("Delete the account?", 7), ("", APPROVAL_CLASS), ("Place the order?", 5)):
        answer = DialogAnswer(kind="confirm", text=text, accept=True)
        assert with_answer(press, answer).level == level


def test_the_browser_is_started_with_one_list_of_each_kind() -> None:
    """Chromium uses the last of two."""
    flags = [each.partition("=")[0] for each in launch_args(BrowserSettings(), profile_directory="/tmp/x")]
    assert len(flags) == len(set(flags))
    blink = {each for deed in DEEDS for each in deed.blink}
    (off,) = (each for each in launch_args(BrowserSettings(), profile_directory="") if "disable-blink" in each)
    assert set(off.partition("=")[2].split(",")) == blink


def test_an_address_for_another_program_is_told_without_what_it_says() -> None:
    assert other_program("mailto:ann@shop.example").endswith("address: mailto:")
    assert other_program("TEL:+49170") and other_program("web+shop:x")
    for url in ("https://shop.example/mailto:", "about:blank", "javascript:void 0", "blob:null/1", "", "data:,x"):
        assert other_program(url) == ""
