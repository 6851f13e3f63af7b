"""A site in Japanese and Thai whose menus, accordions, tabs and dialogs are opened by controls that nobody understands.

Behind each of them, and in a ``<details>``, lies a page that nothing else leads to. Other buttons, which look the same, write in
every way a page can.
"""

from __future__ import annotations

from typing import Final

_OPENS: Final = {
    "倉庫": ("menu", "/menu"),
    "送料": ("accordion", "/accordion"),
    "寸法": ("tab", "/tab"),
    "ภาพรวม": ("dialog", "/dialog"),
    "รายละเอียด": ("loaded", "/loaded"),
}
"""Label of a button: the id of what it opens, and the page that only this leads to."""
_WRITES: Final = {
    "星印": "fetch('/rows', {method: 'POST', body: '{\"star\": 1}'})",
    "旗印": "navigator.sendBeacon('/flags', 'flag')",
    "荷札": "fetch('/rows/7', {method: 'DELETE'})",
    "棚卸": "fetch('/rows/7/delete')",
    "ป้าย": "setTimeout(() => fetch('/late', {method: 'POST'}), 200)",
    "ตะกร้า": "window.addEventListener('pagehide', () => navigator.sendBeacon('/left', '1'))",
    "จุด": "localStorage.pending = '/stored'",
}
_BOXES: Final = frozenset({"รายละเอียด", "ป้าย"})
"""Which of them are no buttons: only a script and the cursor make them what they are."""
FOLDED: Final = "/folded"
"""What a ``<details>`` leads to: the browser itself opens it."""
BEHIND: Final = frozenset(address for _, address in _OPENS.values()) | {FOLDED}


def _control(label: str, script: str) -> str:
    tag = "div style='cursor: pointer'" if label in _BOXES else "button"
    return f'<{tag} onclick="{script.replace(chr(34), "&quot;")}">{label}</{tag.partition(" ")[0]}>'


def pages() -> dict[str, str]:
    """The pages, by path."""
    opening = "".join(_control(label, f"show('{id}')") for label, (id, _) in _OPENS.items())
    hidden = "".join(
        f"<section id={id} hidden><h2>{label}</h2><a href={address}>{label} 一覧</a></section>"
        for label, (id, address) in _OPENS.items()
    )
    writing = "".join(_control(label, f"{script}; said(this)") for label, script in _WRITES.items())
    script = """
    async function show(id) {
      if (id == 'loaded') await fetch('/more');
      const part = document.getElementById(id);
      part.hidden = !part.hidden;
    }
    function said(button) { button.insertAdjacentHTML('afterend', '<p>済</p>'); }
    if (localStorage.pending) fetch(localStorage.pending, {method: 'POST'});
    """
    folded = f"<details><summary>備考</summary><a href={FOLDED}>備考 一覧</a></details>"
    home = (
        f"<!doctype html><meta charset=utf-8><title>店</title><h1>店</h1>{opening}{writing}{hidden}{folded}"
        f"<script>{script}</script>"
    )
    behind = {
        address: f"<!doctype html><meta charset=utf-8><title>{address}</title><h1>{address}</h1>" for address in BEHIND
    }
    return {"/": home, **behind}


IDIOMS: Final = """<!doctype html><meta charset=utf-8><title>店</title><main>
<a href=/news id=read>News</a> <a href=/guide>Guide</a>
<textarea aria-label=Notes id=notes></textarea> <input aria-label=Nick id=nick> <textarea aria-label=Count id=count></textarea>
<select aria-label=State id=state><option>new<option>packed</select>
<select aria-label=Size><option>S<option>M</select>
<input aria-label=Task id=task> <input aria-label=Filter id=filter>
<button id=later>Later</button> <button id=more>More</button> <button id=wug>Wug</button>
<button id=quoin>Quoin</button> <button id=ansible>Ansible</button> <button id=archive>Archive</button> <button id=dot>•</button>
<button id=upload>Upload</button> <button id=attach>Attach</button> <input type=file id=file hidden>
<form method=post action=/rooms id=rooms><input aria-label=Start><input aria-label=End><button>Gostak</button></form>
<form method=post action=/guests id=guests><input aria-label=Guest><input aria-label=Room><button>Dosh</button></form></main>
<script>
const of = (id) => document.getElementById(id), send = (to) => fetch(to, {method: 'POST'});
of('read').addEventListener('pointerdown', () => navigator.sendBeacon('/read'));
let waits;
of('notes').addEventListener('input', () => { clearTimeout(waits); waits = setTimeout(() => send('/notes'), 2000); });
of('count').addEventListener('input', () => { document.title = 'counted'; });
of('state').addEventListener('change', () => send('/state'));
of('nick').addEventListener('blur', () => send('/nick'));
of('task').addEventListener('keydown', (event) => { if (event.key === 'Enter' && event.target.value) send('/tasks'); });
of('later').onclick = () => setTimeout(async () => { await fetch('/ready'); setTimeout(() => send('/undo'), 3000); }, 4000);
of('upload').onclick = () => of('file').click();
of('attach').onclick = () => { of('file').click(); send('/attached'); };
of('more').onclick = () => of('more').after('more');
setTimeout(() => { of('ansible').onclick = () => send('/late'); }, 4000);
setInterval(() => send('/beat'), 3000);
of('wug').onclick = () => { of('wug').after('wug'); fetch('/beat', {method: 'POST', body: 'wug'}); };
const kept = (id, act) => of(id).addEventListener('submit', (event) => {
  event.preventDefault();
  const empty = [...of(id).elements].some((each) => each.localName === 'input' && !each.value);
  of(id).after(empty ? 'Fill in both' : act());
});
kept('rooms', () => 'two rooms');
kept('guests', () => { send('/guest'); return 'done'; });
</script>"""
"""A page whose links, fields, lists and buttons send something by listeners, some after seconds; and their harmless twins."""


SOCKETS: Final = """<!doctype html><meta charset=utf-8><title>店</title><main><p id=state></p>
<button id=blick aria-expanded=false aria-controls=part>Blick</button><p id=part hidden>blick</p>
<button id=zorp>Zorp</button> <button id=wex>Wex</button> <button id=frumious>Frumious</button>
<button id=gimble>Gimble</button> <button id=tove>Tove</button> <button id=rath>Rath</button> <button id=mome>Mome</button>
</main><script>
const of = (id) => document.getElementById(id), waiting = [];
let socket, ready = false;
function connect() {
  socket = new WebSocket(`ws://${location.host}/echo`);
  socket.onopen = () => socket.send('hello');
  socket.onmessage = () => { ready = true; waiting.splice(0).forEach((each) => socket.send(each)); };
  socket.onclose = () => { if (SHOWS) of('state').textContent = 'lost'; setTimeout(connect, 1000); };
}
connect();
const say = (text) => socket.readyState === 1 && socket.send(text);
const once = (text) => ready ? socket.send(text) : waiting.push(text);
const show = (id) => of(id).after(id);
of('blick').onclick = () => {
  of('part').hidden = !of('part').hidden;
  of('blick').ariaExpanded = String(!of('part').hidden);
};
of('zorp').onclick = () => of('zorp').insertAdjacentHTML('afterend', '<div role=dialog><button>Gyre</button></div>');
of('wex').onclick = () => { location.hash = '#/wex'; show('wex'); };
of('frumious').onclick = () => show('frumious');
of('gimble').onclick = () => { say('delete 7'); location.hash = '#/gimble'; };
of('tove').onclick = () => { once('delete 8'); show('tove'); };
of('rath').onclick = () => { fetch('/rows', {method: 'POST'}); location.hash = '#/rath'; };
of('mome').onclick = () => { new WebSocket(`ws://${location.host}/echo?mome`); location.hash = '#/mome'; };
</script>"""
"""Opens a WebSocket on which it waits for the site. Which buttons write over it cannot be told from what they show."""
