"""Which element of a real Chromium a ref or a selector means, and which none."""

from __future__ import annotations

import asyncio

import pytest

from adapters.ports.browser import Page
from protocol.errors import MeshError
from protocol.page.actions.action import Click, Extract, Fill, Locator, Press, Select
from tests.sites.pages.server import PageServer
from tests.sites.pages.visits import element, shown

pytestmark = pytest.mark.asyncio(loop_scope="module")
ANY = Locator()


async def missed(page: Page, ref: str) -> str:
    """The code with which a click is refused, long before it would be given up."""
    with pytest.raises(MeshError) as caught:
        async with asyncio.timeout(30):
            await page.perform(Click(target=ANY), ref=ref)
    return caught.value.code


async def test_a_stale_ref_is_missing_at_once(page: Page, site: PageServer) -> None:
    seen = await shown(page, site, "<button onclick='this.remove()'>Once</button><button>Stay</button>")
    ref = element(seen, "button", "Once").ref
    await page.perform(Click(target=ANY), ref=ref)
    seen = await shown(
        page, site, "<button>Once</button><script>onclick = () => document.body.textContent = ''</script>"
    )
    await page.perform(Click(target=ANY), ref=element(seen, "button", "Once").ref)
    assert await missed(page, element(seen, "button", "Once").ref) == "action.target_missing"


async def test_what_goes_while_it_is_reached_for_is_missing_and_left_alone_when_it_is_back(
    page: Page, site: PageServer
) -> None:
    seen = await shown(
        page,
        site,
        "<button onclick=\"document.title = 'clicked'\">Now</button><p id=p>Now</p><script>"
        "const b = document.querySelector('button'), i = new Image();"
        "i.onerror = () => { b.remove(); fetch('/more?gone') }; onload = () => { i.src = '/held.html' };"
        "onkeydown = () => p.before(b)</script>",
    )
    site.hold.set()
    await site.was_asked("GET /more?gone")
    ref = element(seen, "button", "Now").ref
    with pytest.raises(MeshError) as caught:
        await page.read(ref)
    assert caught.value.code == "action.target_missing", "an assertion looks for it again"
    assert await missed(page, ref) == "action.target_missing"
    back = (await page.perform(Press(key="b"))).observation
    assert element(back, "button", "Now")
    assert back.title == ""


async def test_a_selector_finds_what_is_in_a_frame_of_another_site(page: Page, site: PageServer) -> None:
    other = site.origin.replace("127.0.0.1", "localhost")
    site.extra["/other.html"] = "<button>First</button><button id=in>In</button><b id=text>Text</b>"
    seen = await shown(page, site, f"<button id=in>Out</button><iframe src={other}/other.html></iframe>")
    assert await page.find("css=#in") == element(seen, "button", "Out")
    assert await page.find("css=#in", "f1") == element(seen, "button", "In")
    found = await page.find("css=#text", "f1")
    assert found is not None
    assert (found.role, found.frame) == ("generic", "f1")
    read = await page.perform(Extract(name="text", target=Locator(selectors=("css=#text",))), ref=found.ref)
    assert read.extracted == "Text"


async def test_a_selector_that_leads_into_a_frame_means_the_element_in_it_and_none_around_it(
    page: Page, site: PageServer
) -> None:
    site.extra["/other.html"] = "<button>In</button>"
    seen = await shown(page, site, "<button>Out</button><iframe src=/other.html></iframe>")
    found = await page.find("css=iframe >> internal:control=enter-frame >> css=button")
    assert found == element(seen, "button", "In")
    assert found is not None and found.frame


async def test_hidden_controls_stand_where_their_labels_are_at_the_first_look_too(page: Page, site: PageServer) -> None:
    html = (
        "<fieldset><legend>Post</legend><input hidden type=checkbox id=a><label for=a>News</label></fieldset><p>After"
    )
    seen = await shown(page, site, html)
    assert element(seen, "checkbox", "News").context == "Post"
    assert seen.text.index("News") < seen.text.index("After")


async def test_a_selector_reaches_into_shadow_roots(page: Page, site: PageServer) -> None:
    html = "<div id=host></div><script>host.attachShadow({mode: 'open'}).innerHTML = '<p></p><button>Deep</button>'</script>"
    seen = await shown(page, site, html)
    assert await page.find("css=#host button") == element(seen, "button", "Deep")


@pytest.mark.parametrize(
    ("selector", "id_"),
    [
        ("testid=go", "one"),
        ("label=Street", "two"),
        ('label="Street name"', "two"),
        ("placeholder=Town", "three"),
        ("title=Send it", "four"),
        ("alt=A cat", "five"),
        ("pierce/#deep", "deep"),
        ("css=canvas", "six"),
        ("css=.editor", "seven"),
    ],
)
async def test_each_way_finds_the_one_element_that_playwright_finds(
    page: Page, site: PageServer, selector: str, id_: str
) -> None:
    await shown(
        page,
        site,
        "<button id=one data-testid=go>Go</button><label>Street name <input id=two></label><input id=three placeholder=Town>"
        "<button id=four title='Send it'>S</button><img id=five alt='A cat' width=9 height=9><canvas id=six></canvas>"
        "<div id=seven class=editor contenteditable>two<br>lines</div><div id=host></div>"
        "<script>host.attachShadow({mode: 'open'}).innerHTML = '<button id=deep>Deep</button>'</script>",
    )
    found = await page.find(selector)
    assert found is not None
    assert dict(found.traits.attributes)["id"] == id_


async def test_an_editor_without_a_role_is_filled_itself(page: Page, site: PageServer) -> None:
    await shown(page, site, "<div class=editor contenteditable>old</div><div contenteditable>other</div>")
    target = Locator(selectors=("css=.editor",))
    found = await page.find("css=.editor")
    assert found is not None
    after = await page.perform(Fill(target=target, value="new"), ref=found.ref)
    assert "new" in after.observation.text
    assert "old" not in after.observation.text
    assert "other" in after.observation.text


async def test_a_part_of_a_button_does_not_stand_for_the_button_and_cannot_be_clicked(
    page: Page, site: PageServer
) -> None:
    """Neither does what says the same but lies elsewhere: the click would land beside it."""
    await shown(
        page,
        site,
        "<button>Beer <span class=part>x</span></button>"
        "<button>A <span class=most>mug of beer</span></button>"
        "<button style='width:200px;text-align:left'><i class=beside style='display:inline-block;width:9px;height:9px'></i>"
        "</button>",
    )
    beside = await page.find("css=.beside")
    assert beside is not None
    assert (beside.role, beside.inside) == ("generic", "e3")
    for place, selector in enumerate(("css=.part", "css=.most"), 1):
        found = await page.find(selector)
        assert found is not None
        assert found.role == "generic"
        assert found.inside == f"e{place}"
        assert await page.read(found.ref) == ("x", "mug of beer")[place - 1]
        assert await page.read(found.ref, "class") == selector.removeprefix("css=.")
        with pytest.raises(MeshError) as caught:
            await page.perform(Click(target=Locator(selectors=(selector,))), ref=found.ref)
        assert caught.value.code == "action.not_possible"


async def test_a_selector_leads_into_frames_and_finds_what_is_observed_there(page: Page, site: PageServer) -> None:
    site.extra["/inner.html"] = "<button onclick=\"this.textContent='Done'\">Pay</button>"
    site.extra["/outer.html"] = "<iframe name=b src=/inner.html></iframe><button>Pay</button>"
    await shown(
        page, site, "<iframe src=/popup.html></iframe><iframe name=a src=/outer.html></iframe><button>Pay</button>"
    )
    enter = " >> internal:control=enter-frame >> "
    outer, inner = f"css=[name=a]{enter}role=button", f"css=[name=a]{enter}css=[name=b]{enter}role=button"
    seen = await page.observe()
    found = [await page.find(selector) for selector in (outer, inner)]
    listed = {item.ref: item for item in seen.elements}
    assert [listed[item.ref].frame for item in found if item] == [item.frame for item in found if item] == ["f2", "f3"]
    assert found[1] is not None
    await page.perform(Click(target=Locator()), ref=found[1].ref)
    assert (await page.find(inner, found[1].frame) or found[0]) != found[1]
    names = {item.frame: item.name for item in (await page.observe()).elements if item.role == "button"}
    assert names == {"": "Pay", "f2": "Pay", "f3": "Done"}
    assert await page.find(f"css=[name=a]{enter}css=#none") is None


async def test_several_options_are_chosen_where_the_list_takes_them(page: Page, site: PageServer) -> None:
    options = "<option value=r>Red<option value=g selected>Green<option value=b>Blue</select>"
    await shown(page, site, f"<select multiple aria-label=Many>{options}<select aria-label=One>{options}")
    many, one = (item.ref for item in (await page.observe()).elements if item.role in ("listbox", "combobox"))
    await page.perform(Select(target=Locator(), option="Red", also=("Blue",)), ref=many)
    chosen = {item.name: "selected" in item.states for item in (await page.observe()).elements if item.role == "option"}
    assert chosen == {"Red": True, "Green": False, "Blue": True}
    with pytest.raises(MeshError, match="does not take several"):
        await page.perform(Select(target=Locator(), option="Red", also=("Blue",)), ref=one)


async def test_of_what_no_observation_lists_it_is_known_what_stands_in_it(page: Page, site: PageServer) -> None:
    """Taken out: ``_UNLISTED`` in ``Observation._node``."""
    heads = "<div><div id=head draggable=true>Drafts</div><div>Done</div></div>"
    html = f"{heads}<div id=row><p>Plum</p><button>Fep</button></div>"
    seen = await shown(page, site, html)
    head, row = [await page.find(f"css=#{each}") for each in ("head", "row")]
    assert head is not None and row is not None
    assert {head.ref, row.ref}.isdisjoint(each.ref for each in seen.elements)
    assert seen.sole_control(head) is head
    assert seen.sole_control(row) is row  # it says more than its button does
