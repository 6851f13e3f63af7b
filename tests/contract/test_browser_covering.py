"""What must not be seen in a picture is black where it is painted, and the rest of the page is not."""

from __future__ import annotations

import io

import numpy as np
import pytest
import pytest_asyncio
from PIL import Image

from adapters.ports.browser import Browser, Page
from protocol.errors import MeshError
from protocol.page.actions.action import Goto
from protocol.page.instructions.instructions import instructions_in
from protocol.page.secrets.secrets import GivenSecret, Secrets
from protocol.page.showing.covering import covering_for
from tests.sites.pages.hiding import HIDING, SHOWING, hiding_page
from tests.sites.pages.server import PageServer

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module")
async def page(each_page: Page) -> Page:
    """That of each way to a Chromium."""
    return each_page


WORD = "hunter2xyz"
SECRETS = Secrets({"word": GivenSecret(value=WORD, origins=("https://a.example",))})
_FRAME = f"<body style=margin:0;color:red>{WORD}</body>"
_TURNED = "width:90px;transform:rotate(20deg)"
CASES = {
    "in a sentence": f"<p><u>You typed</u> {WORD} <u>just now.</u></p>",
    "in capitals": f"<p style=text-transform:uppercase>{WORD}</p>",
    "spaced": f"<p>{' '.join(WORD)}</p>",
    "with invisible characters": f"<p>{'&#8203;'.join(WORD)}</p>",
    "reversed": f"<p>{WORD[::-1]}</p>",
    "turned by its direction": f"<p><bdo dir=rtl>{WORD[::-1]}</bdo></p>",
    "over elements": f"<p>{WORD[:3]}<b>{WORD[3:6]}</b><i>{WORD[6:]}</i></p>",
    "a character in each element": "".join(f"<span>{char}</span>" for char in WORD),
    "a cell for each character": f"<table><tr>{''.join(f'<td>{char}' for char in WORD)}</table>",
    "ordered by style": f"<div style=display:flex;flex-direction:row-reverse;justify-content:flex-end>"
    f"{''.join(f'<span>{WORD[place]}</span>' for place in (9, 8, 7, 6, 5, 4, 3, 2, 1, 0))}</div>",
    "shuffled by style": "<div style=display:flex>"
    + "".join(f"<span style=order:{place}>{WORD[place]}</span>" for place in (4, 1, 9, 0, 3, 8, 2, 7, 5, 6))
    + "</div>",
    "wrapped": f"<p style=width:40px;word-break:break-all>{WORD}</p>",
    "in a field": f"<input value={WORD}>",
    "in a field of text": f"<textarea>{WORD}</textarea>",
    "as a placeholder": f"<style>::placeholder{{color:red}}</style><input placeholder={WORD}>",
    "in a list": f"<select><option>{WORD}</select>",
    "on a button": f"<input type=button value={WORD}>",
    "before an element": f"<style>.b::before{{content:attr(data-x)}}</style><p class=b data-x={WORD}><u>b</u></p>",
    "beside an element": "<style>.f::after{content:attr(data-x);position:absolute;left:90px}</style>"
    f"<p class=f data-x={WORD}><u>f</u></p>",
    "as a marker": f"<style>.m::marker{{content:'{WORD} '}}</style><ul style=margin-left:90px><li class=m><u>m</u></ul>",
    "in an open shadow tree": "<p class=open></p>",
    "in a closed shadow tree": "<p class=closed></p>",
    "in a frame": f"<iframe style='border:5px solid black;padding:3px;width:150px;height:30px' srcdoc='{_FRAME}'></iframe>",
    "in a turned frame": f"<iframe style='width:90px;height:24px;transform:rotate(9deg)' srcdoc='{_FRAME}'></iframe>",
    "in a scaled frame": f"<iframe style='width:90px;height:24px;transform:scale(.8)' srcdoc='{_FRAME}'></iframe>",
    "in a frame of a frame": f'<iframe style=width:150px;height:40px;border:0 srcdoc="<body style=margin:2px>'
    f"<iframe style=width:120px;height:24px srcdoc='{_FRAME}'></iframe>\"></iframe>",
    "turned": f"<p style='{_TURNED}'>{WORD}</p>",
    "turned in a turned one": f"<div style='{_TURNED}'><p style='{_TURNED}'>{WORD}</p></div>",
    "moved": f"<p style='transform:translate(60px,10px)'>{WORD}</p>",
    "scrolled": f"<div class=scrolled style=height:24px;overflow:auto><div style=height:300px></div>{WORD}</div>",
    "drawn": f"<svg width=150 height=24><text x=9 y=18 fill=red>{WORD}</text></svg>",
    "drawn and turned": f"<svg width=150 height=60><text x=9 y=18 fill=red transform='rotate(15)'>{WORD}</text></svg>",
    "in a lost picture": f"<img src=data:, alt={WORD} width=150 height=24>",
    "upright": f"<p style=writing-mode:vertical-rl>{WORD}</p>",
    "with a shadow": f"<p style='text-shadow:40px 9px red'>{WORD}</p>",
    "fixed": f"<p style=position:fixed;right:9px;top:9px>{WORD}</p>",
    "moving": f"<style>@keyframes k{{to{{margin-left:90px}}}}</style><p style='animation:k 1s infinite alternate'>{WORD}</p>",
    "above all": f"<dialog style=color:red;margin:0>{WORD}</dialog><script>document.querySelector('dialog').showModal()</script>",
    "beside a character of two units": f"<p>&#x1F600;&#x1F600; {WORD}</p>",
    "encoded": "<p>aHVudGVyMnh5eg==</p>",
}
REFUSED = {
    "in columns": f"<p style='columns:2;width:90px;height:24px;word-break:break-all'>{WORD}</p>",
    "drawn along a path": f"<svg width=150 height=40><path id=way d='M5 30 Q 60 5 140 30' fill=none /><text fill=red>"
    f"<textPath href=#way>{WORD}</textPath></text></svg>",
    "with a shadow by a filter": f"<p style='filter:drop-shadow(40px 9px red)'>{WORD}</p>",
    "reflected": f"<p style=-webkit-box-reflect:below>{WORD}</p>",
}
_WIDTH, _HEIGHT, _TOP, _ACROSS = 240, 74, 30, 5  # of a case, in a window of 1280 x 800
_PAGE = """<!doctype html><style>body {{ margin: 0; font: 16px monospace; color: red }}
.case {{ position: relative; height: 74px; width: 240px; float: left; overflow: hidden; contain: paint }} p {{ margin: 4px }}
input, textarea, select, dialog {{ color: red; outline: 0; border-color: black }} iframe {{ border: 0 }} u {{ color: black }}
h1 {{ margin: 0; height: 30px; font-size: 16px; color: rgb(0, 0, 255) }}</style>
<h1>Nothing of this is secret.</h1>{cases}<script>
for (const e of document.querySelectorAll('.open')) e.attachShadow({{mode: 'open'}}).innerHTML = 'WORD';
for (const e of document.querySelectorAll('.closed')) e.attachShadow({{mode: 'closed'}}).innerHTML = 'WORD';
for (const e of document.querySelectorAll('.scrolled')) e.scrollTop = 1000;
</script>"""


def page_of(*cases: str) -> str:
    return _PAGE.format(cases="".join(f"<div class=case>{case}</div>" for case in cases)).replace("'WORD'", repr(WORD))


def colours(picture: bytes, box: tuple[int, int, int, int] | None = None) -> tuple[int, int]:
    """How many pixels of ``picture``, or of a part of it, are red and how many blue, also where they are blended with white."""
    with Image.open(io.BytesIO(picture)) as image:
        pixels = np.asarray(image.convert("RGB").crop(box or (0, 0, *image.size)))
    red, green, blue = (pixels[..., place] for place in range(3))
    is_red, is_blue = (red > 150) & (green < 150) & (blue < 150), (blue > 150) & (red < 150) & (green < 150)
    return int(is_red.sum()), int(is_blue.sum())


async def test_a_secret_is_covered_wherever_it_is_painted_and_nothing_else_is(
    browser: Browser, page: Page, site: PageServer
) -> None:
    """Guard: protocol/page/showing/covering.py, covered_boxes. Guard: adapters/browser/observing/camera.py, Camera._covering."""
    if browser.info.backend != "launched":
        pytest.skip("the pixels of one Chromium tell")
    cover = covering_for(SECRETS, personal=False, must=True)
    assert cover is not None
    one_by_one = [[name] for name in CASES if "<dialog" in CASES[name]]
    for names in ([name for name in CASES if [name] not in one_by_one], *one_by_one):
        site.extra["/covered.html"] = page_of(*(CASES[name] for name in names))
        await page.perform(Goto(url=f"{site.origin}/covered.html"))
        plain, covered = await page.screenshot(), await page.screenshot(cover)
        assert colours(covered)[1] == colours(plain)[1] > 100, "what is not secret stays"
        for place, name in enumerate(names):  # every secret is red, and nothing else
            left, top = _WIDTH * (place % _ACROSS), _TOP + _HEIGHT * (place // _ACROSS)
            box = None if [name] in one_by_one else (left, top, left + _WIDTH, top + _HEIGHT)
            assert colours(plain, box)[0] > 20, f"the page paints it {name}"
            assert colours(covered, box)[0] == 0, f"it is covered {name}"


async def test_there_is_no_picture_where_nobody_can_tell_what_is_painted_where(page: Page, site: PageServer) -> None:
    """Guard: adapters/browser/observing/covering.py, _Document.doubled."""
    cover = covering_for(SECRETS, personal=False, must=True)
    assert cover is not None
    for name, case in REFUSED.items():
        site.extra["/covered.html"] = page_of(case)
        await page.perform(Goto(url=f"{site.origin}/covered.html"))
        with pytest.raises(MeshError) as refused:
            await page.screenshot(cover)
        assert refused.value.code == "action.not_possible", name


async def test_what_a_page_holds_and_does_not_show_is_read_with_the_reason(page: Page, site: PageServer) -> None:
    site.extra["/hiding.html"] = hiding_page()
    seen = (await page.perform(Goto(url=f"{site.origin}/hiding.html"))).observation
    answer = await page.hidden_texts()
    read = answer.texts
    assert answer.whole
    reasons = {name: {one.why for one in read if f"to {name}@" in one.text} for name in (*HIDING, *SHOWING)}
    assert reasons == {name: {why} for name, (why, _) in HIDING.items()} | {name: set() for name in SHOWING}
    assert {one.at for one in read if one.why == "attribute"} >= {"alt", "title", "data-note", "aria-label"}
    assert [name for name in SHOWING if f"to {name}@" not in seen.text] == []
    assert any(one.hidden for one in instructions_in(seen.text)), (
        "characters that nobody sees stand in the text of the page"
    )
