"""Reading Playwright's snapshot lines, and what becomes of them."""

from __future__ import annotations

from adapters.browser.base.masking import masker
from adapters.browser.observing.aria import parse
from adapters.browser.observing.view import FrameFacts, assemble, wanted_refs
from protocol.page.seen.observation import Traits

CARDS = """\
- generic [active] [ref=e1]:
  - navigation "Main" [ref=e2]:
    - link "Home" [ref=e3] [cursor=pointer]:
      - /url: ../
  - 'searchbox "Find: \\"it\\" now" [ref=e7]': old words
  - list [ref=e8]:
    - listitem [ref=e9]:
      - heading [level=3] [ref=e10]:
        - link "Apple" [ref=e11] [cursor=pointer]:
          - /url: /p/1
      - button "Add to cart" [ref=e14]
    - listitem [ref=e19]:
      - heading "Pear" [level=3] [ref=e20]
      - button "Add to cart" [ref=e24]
  - combobox "Size" [ref=e30]:
    - option "S"
    - option "M" [selected]
  - textbox "Pass" [ref=e31]: hunter2
  - textbox "Unknown" [ref=e32]: maybe
  - 'text: "- not a node: at all\\nbut text"'
  - text: "say \\"x\\" \\x41"
  - iframe [ref=e40]:
    - button "Inner" [ref=f7e2]"""


def facts() -> FrameFacts:
    known = FrameFacts(
        bases={"": "https://shop.example/a/b/", "f7": "https://shop.example/frame"}, passwords={"hunter2"}
    )
    for ref, kind in (("e7", "search"), ("e30", ""), ("e31", "password")):
        known.traits[ref] = Traits(tag="input", input_type=kind)
    return known


def test_names_values_states_and_properties_are_read() -> None:
    nodes = {node.ref: node for root in parse(CARDS) for node in root.walk() if node.ref}
    assert nodes["e7"].name == 'Find: "it" now'
    assert nodes["e7"].text == "old words"
    assert nodes["e3"].properties == {"url": "../"}
    assert nodes["e3"].pointer
    assert nodes["e10"].attributes == {"level": "3"}
    assert nodes["e1"].attributes == {"active": ""}


def test_quotes_and_escapes_in_keys_and_values_are_undone() -> None:
    (node,) = parse("""- 'button "It''s: \\"x\\" \\\\ #1" [ref=e1]': "a: \\"b\\" \\x0a c\"""")
    assert (node.name, node.text) == ('It\'s: "x" \\ #1', 'a: "b" \n c')
    assert [node.text for node in parse(CARDS)[0].children if node.role == "text"][1] == 'say "x" A'


def test_the_traits_of_controls_are_asked_for_before_those_of_what_only_has_a_name() -> None:
    """Of a frame out of reach only so many are asked for."""
    nodes = parse(
        '- generic "Ann" [ref=e1]\n- button "Pay" [ref=e2]\n- generic "Bob" [ref=e3] [cursor=pointer]\n- link [ref=e4]'
    )
    assert wanted_refs(nodes) == ["e2", "e3", "e4", "e1"]


def test_a_line_that_does_not_fit_becomes_text() -> None:
    (node,) = parse("- <<strange>> line")
    assert (node.role, node.text) == ("text", "<<strange>> line")


def test_no_input_raises() -> None:
    for line in (
        "-",
        "- ",
        "- '",
        "- 'x",
        '- button "',
        "  - /url: x",
        "- /url: x",
        "- button: ",
        '- a "\\',
        "\x85\u2028",
    ):
        parse(line)


def test_refs_are_numbered_in_order_and_frames_too() -> None:
    view = assemble(parse(CARDS), facts(), url="https://shop.example/a/b/", title="T", mask=masker({}))
    refs = [item.ref for item in view.observation.elements]
    assert refs[:3] == ["e1", "e2", "e3"]
    assert refs[-1] == "f1e1"
    assert view.refs["f1e1"] == "f7e2"


def test_numbering_does_not_depend_on_what_playwright_counted_before() -> None:
    later = CARDS.replace("ref=e", "ref=f3e").replace("f7e", "f9e")
    shifted = FrameFacts(passwords={"hunter2"})
    for ref, traits in facts().traits.items():
        shifted.traits["f3" + ref] = traits
    shifted.bases = {"f3": "https://shop.example/a/b/", "f9": "https://shop.example/frame"}
    one = assemble(parse(CARDS), facts(), url="https://x.example/", title="", mask=masker({}))
    two = assemble(parse(later), shifted, url="https://x.example/", title="", mask=masker({}))
    assert one.observation == two.observation


def test_look_alikes_are_told_apart_by_their_group() -> None:
    view = assemble(parse(CARDS), facts(), url="https://shop.example/", title="T", mask=masker({}))
    assert [item.context for item in view.observation.elements if item.name == "Add to cart"] == ["Apple", "Pear"]


def test_links_are_absolute_and_lists_have_options() -> None:
    elements = assemble(
        parse(CARDS), facts(), url="https://x.example/", title="T", mask=masker({})
    ).observation.elements
    assert next(item for item in elements if item.name == "Home").url == "https://shop.example/a/"
    size = next(item for item in elements if item.role == "combobox")
    assert (size.value, size.options) == ("M", ("S", "M"))


def test_passwords_and_unknown_fields_keep_no_value() -> None:
    """Guard: adapters/browser/observing/view.py, _Builder._hides."""
    seen = assemble(parse(CARDS), facts(), url="https://x.example/", title="T", mask=masker({})).observation
    assert {item.name: item.value for item in seen.elements if item.role == "textbox"} == {"Pass": "", "Unknown": ""}
    assert "hunter2" not in seen.text
    assert "maybe" not in seen.text


def test_secrets_are_replaced_also_when_encoded_and_the_longest_first() -> None:
    mask = masker({"short": "ab", "long": "ab cd/é"}, ["swordfish"])
    assert mask("x ab cd/é y") == "x ‹secret:long› y"
    assert mask("?q=ab%20cd/%C3%A9&r=ab+cd%2F%C3%A9&s=ab") == "?q=‹secret:long›&r=‹secret:long›&s=‹secret:short›"
    assert mask("swordfish") == "‹password›"


def test_text_holds_neither_refs_nor_wrappers() -> None:
    text = assemble(parse(CARDS), facts(), url="https://x.example/", title="T", mask=masker({})).observation.text
    assert "ref=" not in text
    assert "cursor" not in text
    assert text.startswith('- navigation "Main"\n  - link "Home"')


def test_deep_trees_are_read() -> None:
    deep = "\n".join("  " * n + f"- group [ref=e{n + 1}]:" for n in range(3000))
    assert (
        len(
            assemble(
                parse(deep), FrameFacts(), url="https://x.example/", title="", mask=masker({})
            ).observation.elements
        )
        == 3000
    )


def test_what_has_a_hand_and_is_no_control_is_clickable_unless_one_stands_in_or_around_it() -> None:
    nodes = parse(
        """\
- generic [ref=e1]:
  - generic [ref=e2] [cursor=pointer]: Menu
  - generic [ref=e3] [cursor=pointer]:
    - generic [ref=e4]: Card
    - button "Buy" [ref=e5]
  - button "More" [ref=e6]:
    - generic [ref=e7] [cursor=pointer]: ⌄
  - generic [ref=e8] [cursor=pointer]:
    - iframe [ref=e9]
  - generic [ref=e10] [cursor=pointer]: Your name
  - generic "Named" [ref=e11]
  - listitem [ref=e12] [cursor=pointer]: Row
  - img "Cog" [ref=e13] [cursor=pointer]
  - link "Home" [ref=e14]:
    - img "Logo" [ref=e15] [cursor=pointer]
  - img "Photo" [ref=e16]"""
    )
    known = FrameFacts(traits={"e10": Traits(tag="label"), "e2": Traits(tag="div")})
    seen = assemble(nodes, known, url="https://shop.example/", title="", mask=masker({})).observation
    assert [each.name for each in seen.elements if each.clickable] == ["Menu", "Cog"]
