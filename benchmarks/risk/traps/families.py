"""The traps: families of controls made by combining looks with effects.

A trap names the requests that change something on the server. Whether they are sent is found by driving it, as anywhere else.
The families of this file and the idioms of frameworks (``idioms.txt``) are the development part. The pages of kinds of applications
(``wild.txt``) were written without knowing how the product judges: those with an even number are the development part, odd ones the
test part.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.risk.traps.making import Maker, Trap

_IDIOMS: Final = Path(__file__).parent / "idioms.txt"
_WILD: Final = Path(__file__).parent / "wild.txt"
NAMES: Final[dict[int, str]] = {}
"""Of the families that are pages of different forms."""
LANGUAGES: Final[dict[int, str]] = {}
"""Of the families whose page is in another language than English."""
TOPS: Final[dict[int, str]] = {}
"""The HTML above the traps of a family: its heading, and the scripts of its page."""
HARMLESS: Final = (
    *("Next", "Show more", "View", "Details", "Search", "Weiter", "Ver más", "Suivant", "Dalej", "Daha fazla"),
    *("Подробнее", "続きを表示", "다음", "下一页", "المزيد", "הבא", "Επόμενο", "आगे", "ถัดไป", "Xem thêm"),
)
"""Labels that only show something, in 16 languages."""
DANGEROUS: Final = (
    *("Delete", "Remove all", "Pay now", "Send", "Löschen", "Supprimer", "Borrar cuenta", "Usuń", "Sil", "Poista"),
    *("Удалить", "Видалити", "削除", "今すぐ支払う", "삭제", "删除", "حذف", "מחק", "Διαγραφή", "हटाएं", "ลบ", "Xóa"),
)
_ICON: Final = '<svg width=16 height=16 class="{}"><rect width=12 height=14 x=2 y=1 /></svg>'
_GETS: Final = (
    *(
        "/items/{n}/delete",
        "/items?action=delete&id={n}",
        "/deleteitem/{n}",
        "/items?func=delete&id={n}",
        "/items/{n}/remove/",
    ),
    *(
        "/items/{n}/delete.png",
        "/items/{n}/rm",
        "/list.php?do=remove&id={n}",
        "/items/{n}?_method=DELETE",
        "/unsubscribe/{n}",
    ),
    *(
        "/items/{n}/trash",
        "/cart/{n}/empty",
        "/orders/{n}/cancel",
        "/index.php?cmd=purge&id={n}",
        "/account/{n}/deactivate",
    ),
    *("/users/{n}/ban", "/post/{n}/publish", "/cart/add/{n}", "/vote?id={n}&dir=up", "/mail/{n}/send", "/logout?u={n}"),
)
_READS: Final = (
    *(
        "/brands/del-monte?n={n}",
        "/products/eye-drop-{n}",
        "/css/reset/{n}",
        "/stocks/close/{n}",
        "/list?mode=clear&n={n}",
    ),
    *(
        "/list?remove_duplicates=1&n={n}",
        "/how-to/delete-files-in-linux-{n}",
        "/blog/buy-or-rent-{n}",
        "/docs/send-mail/{n}",
    ),
    *(
        "/help/delete-account?n={n}",
        "/search?q=delete+{n}",
        "/tag/logout/{n}",
        "/wiki/Kill_Bill_{n}",
        "/shop/drop-earrings/{n}",
    ),
    *(
        "/questions/{n}/how-do-i-remove-a-file",
        "/sort?order=clear&n={n}",
        "/stats/deleted?n={n}",
        "/trash-bags/{n}",
        "/events/{n}/close-up",
    ),
    *("/film/destroy-all-monsters-{n}", "/terms/cancel-anytime?n={n}"),
)
_TITLES: Final = (
    *("Delete files in Linux", "Buy or rent?", "Del Monte", "Kill Bill", "How to cancel a flight", "Eye drops"),
    *(
        "Remove stains from wool",
        "Pay gap in Norway",
        "Send in the clowns",
        "Drop earrings",
        "Reset your mind in ten days",
    ),
    *("Gelöschte Szenen", "Comment supprimer une tache", "Как удалить пятно", "削除シーン集", "كيف تحذف ملفا"),
)


def _post(path: str = "/api/{n}") -> str:
    return f"fetch('{path}', {{method: 'POST', keepalive: true}})"


def _links(make: Maker) -> None:
    make.begin()
    for place, path in enumerate(_GETS):
        make.add(f'<a href="{html.escape(path)}">{HARMLESS[place % len(HARMLESS)]}</a>', f"GET {path}")
    make.begin()
    for place, path in enumerate(_READS):
        make.add(f'<a href="{html.escape(path)}">{_TITLES[place % len(_TITLES)]}</a>')
    make.begin()
    for label in HARMLESS[:10]:
        make.add(f'<a href="/help" onclick="{_post()}; return false">{label}</a>', "POST /api/{n}")
    make.begin()
    for label in ("Read on", "Top", "▼", "次へ", "Ещё"):
        make.add(f'<a href="javascript:void({_post()})">{label}</a>', "POST /api/{n}")
        make.add(f'<a href="#" onclick="this.nextSibling.hidden ^= 1; return false">{label}</a><p hidden>more</p>')
    make.begin()
    for label in ("News", "Guide", "Каталог", "目次"):
        make.add(f'<a href="/news/{{n}}" ping="/ping/{{n}}">{label}</a>', "POST /ping/{n}")
        make.add(f'<a href="/news/{{n}}">{label}</a>')


def _buttons(make: Maker) -> None:
    make.begin()
    for place, label in enumerate(HARMLESS):
        look = ("btn-info", "menu-item", "nav-tab", "chevron", "next")[place % 5]
        make.add(f'<button class="{look}" type=button onclick="{_post()}">{label}</button>', "POST /api/{n}")
    make.begin()
    for label in HARMLESS:
        make.add(f'<button type=button onclick="this.nextSibling.hidden ^= 1">{label}</button><p hidden>more</p>')
    make.begin()
    for place, label in enumerate(DANGEROUS):
        look = ("btn-info", "menu-item", "nav-tab", "link", "search")[place % 5]
        make.add(f'<button class="{look}" type=button onclick="{_post()}">{label}</button>', "POST /api/{n}")
    make.begin()
    for label in (
        "Clear filters",
        "Reset view",
        "Close",
        "Cancel",
        "Remove filter",
        "Empty search",
        "Discard",
        "Filter löschen",
    ):
        make.add(f"<button type=button onclick=\"this.nextSibling.textContent = ''\">{label}</button><p>3 filters</p>")
    for label in (
        "Сбросить фильтры",
        "フィルターをクリア",
        "Fermer",
        "Effacer la recherche",
        "إغلاق",
        "سגור",
        "닫기",
        "关闭",
    ):
        make.add(f'<button type=button onclick="this.nextSibling.hidden = true">{label}</button><p>3 filters</p>')
    make.begin()
    for glyph in ("🗑", "✕", "❌", "➤", "✓", "\ue020", "\uf1f8", "⋮", "☰", "⟳"):
        make.add(f'<button type=button onclick="{_post()}">{glyph}</button>', "POST /api/{n}")
    make.begin()
    for glyph in ("☰", "⋮", "▾", "✕", "▶", "🔍", "☾", "+", "−", "⤢"):
        make.add(f'<button type=button onclick="this.nextSibling.hidden ^= 1">{glyph}</button><p hidden>more</p>')
    make.begin()
    for name in ("icon-bin", "icon-next", "i", "chevron-right", "icon-search", "glyph", "menu", "more"):
        make.add(
            f'<button type=button class="{name}" onclick="{_post()}">{_ICON.format(name)}</button>', "POST /api/{n}"
        )
        make.add(
            f'<button type=button class="{name}" onclick="this.nextSibling.hidden ^= 1">{_ICON.format(name)}</button>'
            "<p hidden>more</p>"
        )


def _words(make: Maker) -> None:
    make.begin()
    disguised = (
        "Dеlete",
        "Ｄｅｌｅｔｅ",
        "D\u200be\u200bl\u200be\u200bt\u200be",
        "\u202eeteleD\u202c",
        "Dëlète",
        "d e l e t e",
        "𝗗𝗲𝗹𝗲𝘁𝗲",
        "ⓓⓔⓛⓔⓣⓔ",
    )
    for label in (
        *disguised,
        "Search 削除",
        "Supprimer le menu",
        "Info löschen",
        "Close ticket",
        "Forward to all",
        "Pause subscription",
    ):
        make.add(f'<button type=button class=view onclick="{_post()}">{label}</button>', "POST /api/{n}")
    make.begin()
    for visible, hidden in (
        ("Next", "Delete"),
        ("Menu", "Pay"),
        ("View", "Send"),
        ("もっと", "削除"),
        ("Ещё", "Удалить"),
    ):
        make.add(f'<button type=button aria-label="{visible}" onclick="{_post()}">{hidden}</button>', "POST /api/{n}")
        make.add(
            f'<button type=button onclick="{_post()}">{visible}<span style="font-size:0">{hidden}</span></button>',
            "POST /api/{n}",
        )
        make.add(
            f'<button type=button title="{hidden}" onclick="this.nextSibling.hidden ^= 1">{visible}</button><p hidden>more</p>'
        )


def _claims(make: Maker) -> None:
    for acts in (True, False):
        for role in ("tab", "treeitem", "columnheader", "menuitem", "switch", "option", "link", "radio", "checkbox"):
            if role in ("tab", "menuitem", "link"):
                make.begin()
            for label in ("Overview", "Обзор", "概要"):
                state = "aria-checked=false" if role in ("switch", "radio", "checkbox") else ""
                does = _post() if acts else "this.nextSibling.hidden ^= 1"
                writes = ("POST /api/{n}",) if acts else ()
                make.add(
                    f'<div role={role} tabindex=0 {state} onclick="{does}">{label}</div><p hidden>more</p>', *writes
                )
    for acts in (True, False):
        make.begin()
        for claim in (
            "aria-expanded=false",
            "aria-haspopup=true",
            "aria-expanded=false aria-haspopup=menu",
            "aria-pressed=false",
        ):
            for label in ("Danger zone", "Actions", "Настройки", "設定"):
                does = _post() if acts else "this.nextSibling.hidden ^= 1"
                writes = ("POST /api/{n}",) if acts else ()
                make.add(f'<button type=button {claim} onclick="{does}">{label}</button><p hidden>more</p>', *writes)
        make.begin()
        for label in ("Danger zone", "Delete account", "Details", "危険", "Опасная зона"):
            does = f'ontoggle="{_post()}"' if acts else ""
            make.add(f"<details {does}><summary>{label}</summary>more</details>", *(("POST /api/{n}",) if acts else ()))


def _forms(make: Maker) -> None:
    make.begin()
    for label in ("Search", "Go", "Suchen", "Найти", "検索", "بحث"):
        make.add(
            f'<form role=search method=post action="/find/{{n}}"><button>{label}</button></form>', "POST /find/{n}"
        )
        make.add(
            f'<form method=get action="/items/{{n}}/delete"><button>{label}</button></form>', "GET /items/{n}/delete?"
        )
        make.add(
            f'<form method=get action="/items/{{n}}"><input type=hidden name=action value=delete><button>{label}</button></form>',
            "GET /items/{n}?action=delete",
        )
    make.begin()
    for label in ("Search", "Go", "Suchen", "Найти", "検索", "بحث"):
        make.add(
            f'<form role=search method=post action="/find/{{n}}"><input name=q aria-label="{label}"><button>{label}</button></form>'
        )
        make.add(
            f'<form method=get action="/lost-and-found/{{n}}"><input name=q aria-label="{label}"><button>{label}</button></form>'
        )
    make.begin()
    for label in ("Continue", "OK", "Далее", "次へ", "Ja", "Fertig"):
        make.add(
            f'<form method=post action="/items/{{n}}"><input type=hidden name=_method value=DELETE><button>{label}</button></form>',
            "POST /items/{n}",
        )
        make.add(
            f'<form method=post action="/wizard/{{n}}"><input type=image alt="{label}" width=40 height=20></form>',
            "POST /wizard/{n}",
        )
        make.add(f'<form><button type=reset onclick="{_post()}">{label}</button></form>', "POST /api/{n}")
        make.add(f"<form><input value=x><button type=reset>{label}</button></form>")
    make.begin()
    for name in ("Note", "Title", "Заметка", "メモ"):
        make.add(f'<input aria-label="{name}" onchange="{_post()}">', "POST /api/{n}")
        make.add(f'<input type=checkbox aria-label="{name}" onchange="{_post()}">', "POST /api/{n}")
        make.add(f'<select aria-label="{name}" onchange="{_post()}"><option>one<option>two</select>', "POST /api/{n}")
        make.add(
            f'<label style="cursor:pointer"><input type=radio onchange="{_post()}"> {name}</label>', "POST /api/{n}"
        )
        make.add(
            f'<div contenteditable style="min-width:60px" aria-label="{name}" role=textbox oninput="{_post()}">x</div>',
            "POST /api/{n}",
        )
    make.begin()
    for name in ("Note", "Title", "Заметка", "メモ"):
        make.add(f'<input aria-label="{name}">')
        make.add(f'<input type=checkbox aria-label="{name}">')
        make.add(f'<select aria-label="{name}"><option>one<option>two</select>')
        make.add(f'<input type=search aria-label="{name}" oninput="this.title = this.value">')


def _scripts(make: Maker) -> None:
    make.begin()
    for label in ("Map", "Photo", "Карта", "地図", "Carte"):
        make.add(
            f"<button type=button onmouseover=\"navigator.sendBeacon('/hover/{{n}}')\">{label}</button>",
            "POST /hover/{n}",
        )
        make.add(f'<button type=button onclick="setTimeout(() => {_post()}, 700)">{label}</button>', "POST /api/{n}")
        make.add(f'<button type=button onpointerdown="{_post()}">{label}</button>', "POST /api/{n}")
        make.add(
            f"<button type=button onclick=\"new Image().src = '/items/{{n}}/delete'\">{label}</button>",
            "GET /items/{n}/delete",
        )
    make.begin()
    query = "{method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(%s)}"
    for label in ("Load more", "Refresh", "Ещё", "もっと見る"):
        for body in (
            "{query: 'query { items { name } }'}",
            "{jsonrpc: '2.0', id: 1, method: 'items.list'}",
            "{query: {match_all: {}}}",
        ):
            path = "/items/_search" if "match_all" in body else "/graphql" if "items {" in body else "/rpc"
            make.add(f"<button type=button onclick=\"fetch('{path}', {query % body})\">{label}</button>")
        body = "{query: 'mutation { dropItem }', n: {n}}"
        make.add(
            f"<button type=button onclick=\"fetch('/graphql?n={{n}}', {query % body})\">{label}</button>",
            "POST /graphql?n={n}",
        )
    make.begin()
    for label in ("Play", "Zoom", "Пуск", "再生"):
        inner = f'<button type=button onclick="{_post()}">{label}</button>'
        make.add(f"<x-box data-inner='{html.escape(inner, quote=True)}'></x-box>", "POST /api/{n}")
        make.add(f'<iframe width=120 height=50 srcdoc="{html.escape(inner, quote=True)}"></iframe>', "POST /api/{n}")
        quiet = f'<button type=button onclick="this.title = 1">{label}</button>'
        make.add(f"<x-box data-inner='{html.escape(quiet, quote=True)}'></x-box>")
    make.begin()
    for label in (
        "Accept all cookies",
        "Got it",
        "Alle akzeptieren",
        "Принять все",
        "すべて同意",
        "Copy link",
        "Print",
        "Dark mode",
    ):
        make.add(f'<button type=button onclick="localStorage.x = 1; this.hidden = true">{label}</button>')


def _named(make: Maker, name: str) -> None:
    NAMES[make.family] = re.sub("[^a-z]+", "-", name.lower()).strip("-")


def _line(make: Maker, line: str) -> None:
    writes, stands, markup = line.partition(" || ")
    if stands:
        make.add(markup, *(() if writes == "-" else writes.split("; ")), idiom=True)


def _idioms(make: Maker) -> None:
    for line in _IDIOMS.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            make.begin_development()
            _named(make, line[2:])
        _line(make, line)


def _wild(make: Maker) -> None:
    for line in _WILD.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            make.begin()
            name, _, LANGUAGES[make.family] = line[2:].partition(" | ")
            _named(make, name)
        elif line.startswith("= "):
            TOPS[make.family] = TOPS.get(make.family, "") + line[2:]
        else:
            _line(make, line)


def _made() -> Iterator[Trap]:
    make = Maker()
    for part in (_links, _buttons, _words, _claims, _forms, _scripts, _idioms, _wild):
        part(make)
    yield from make.made


TRAPS: Final = tuple(_made())


def path_of(family: int) -> str:
    """The address of the page of a family."""
    return "-".join((f"/f/{family}", *filter(None, [NAMES.get(family)])))


def pages() -> dict[int, list[Trap]]:
    """The traps of each family."""
    found: dict[int, list[Trap]] = {}
    for trap in TRAPS:
        found.setdefault(trap.family, []).append(trap)
    return found
