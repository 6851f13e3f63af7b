"""The twin of a page: what actions do to it, and where they lead."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import urljoin, urlsplit

import msgspec

from adapters.browser.base.masking import Mask, masker
from adapters.ports.browser import NOTHING, ActionOutcome, Blocked, Given, Leaving
from protocol.approval.leaving import Fate
from protocol.errors import MeshError
from protocol.page.actions.action import (
    WITHOUT_TABS,
    Action,
    Assert,
    Back,
    Check,
    Click,
    CloseTab,
    Drag,
    Emulate,
    Extract,
    Fill,
    Forward,
    Goto,
    Hover,
    Locator,
    Press,
    Reload,
    Scroll,
    ScrollTo,
    Secret,
    Select,
    SwitchTab,
    Upload,
    Wait,
)
from protocol.page.actions.dialogs import Dialog
from protocol.page.actions.downloads import Download
from protocol.page.actions.fits import Grade
from protocol.page.actions.keys import require_key
from protocol.page.actions.locator import require_selector
from protocol.page.instructions.hidden_text import HiddenTexts
from protocol.page.secrets.secrets import NO_SECRETS, Secrets, takes_no_text
from protocol.page.seen.observation import Cut, Element, Observation
from protocol.page.seen.web_address import require_web
from protocol.page.seen.whole import letters_of
from protocol.page.showing.covering import Covering
from protocol.page.showing.markup import Markup, MarkupNode, Way
from protocol.risk.requests.refused import navigation_refused, site_of
from protocol.risk.requests.requests import GuardPolicy
from tests.twins.browser.kept import Kept
from tests.twins.browser.shown import FIELDS, Shown
from tests.twins.browser.site import Control, Document, MemorySite
from tests.twins.browser.traffic import Traffic

_TOGGLES = frozenset({"checkbox", "radio", "switch"})
_REDIRECTS_MAX = 10
# A PNG of one white pixel.
_PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108000000003a7e9b550000000a4944415478da63f80f00010101"
    "001cb08c990000000049454e44ae426082"
)
BLACK = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108000000003a7e9b550000000a49444154789c6360000000"
    "02000148afa4710000000049454e44ae426082"
)
"""The picture of a page on which something is covered: one black pixel."""


class MemoryPage:
    """``adapters.ports.Page`` over a ``MemorySite``."""

    def __init__(self, site: MemorySite, policy: GuardPolicy, kept: Kept | None = None) -> None:
        self._site = site
        self._policy = policy
        self._kept = kept or Kept()
        self._shown = Shown()
        self._last: Observation | None = None
        self._traffic = Traffic(site, policy)
        self._before: list[str] = []
        """Addresses that lie before it in its history, …"""
        self._after: list[str] = []
        """… and those it was gone back from, the nearest last."""
        self._posted = False
        """Whether it was shown by a POST."""
        self._led_by: list[str] = []
        """Sites that led to the last address, the last one last."""
        self._secrets = NO_SECRETS
        self._dialogs: list[Dialog] = []
        self._downloads: list[Download] = []
        self._told = 0
        """How many downloads earlier steps have told of."""
        self._followed = False
        self.beside: Callable[[str], bool] | None = None
        """What opens an address beside the page; without it, the page goes there itself."""
        self._given = NOTHING
        self._gone = False

    @property
    def is_open(self) -> bool:
        """Whether it can still be driven."""
        return not self._gone

    def crash(self) -> None:
        """From now on every call says ``browser.crashed``."""
        self._gone = True

    def _require_alive(self) -> None:
        if self._gone:
            raise MeshError("browser.crashed")

    def become(self, document: Document) -> None:
        """Show ``document`` in place of what is shown, as a script of the page would."""
        self._shown.document = document

    # --- observing ---

    def _mask(self) -> Mask:
        return masker(self._secrets, [value for value in self._shown.passwords() if len(value) > 1])

    async def observe(self) -> Observation:
        """``adapters.ports.Page.observe``."""
        self._require_alive()
        self._last = self._shown.observe(self._mask())
        return self._last

    def identities(self) -> Mapping[str, str]:
        """``adapters.ports.Page.identities``."""
        return self._shown.identities()

    async def unchanged(self) -> bool:
        """``adapters.ports.Page.unchanged``."""
        last = self._last
        return last == await self.observe()

    async def find(self, selector: str, frame: str = "", *, within: str = "", grade: Grade = "part") -> Element | None:
        """``adapters.ports.Page.find``."""
        self._require_alive()
        require_selector(selector)
        if not self._shown.was_observed:
            await self.observe()
        return self._shown.find(selector, frame, within, self._mask())

    async def hindrance(self, target: Locator, ref: str = "") -> str:
        """``adapters.ports.Page.hindrance``; of what is hidden or disabled here, no more is known."""
        self._require_alive()
        return self._shown.hindrance(target, ref)

    async def closed(self, *, within: str = "", framed: bool = False, said: bool = False) -> Cut | None:
        """``adapters.ports.Page.closed``; within an element, all of them: a closed tree has no place here."""
        self._require_alive()
        told = self._shown.document.closed
        return Cut(bound="closed", left_out=len(told), letters="\n".join(map(letters_of, told))) if told else None

    async def option_label(self, ref: str, value: str) -> str:
        """``adapters.ports.Page.option_label``."""
        self._require_alive()
        _, control = self._shown.target(ref)
        labels = [label for label, known in control.values if known == value]
        if labels and control.element.options.count(labels[0]) > 1:
            raise MeshError("action.not_possible", "several options of the list have the same label", option=labels[0])
        return labels[0] if labels else ""

    async def read(self, ref: str | None = None, attribute: str = "") -> str | None:
        """``adapters.ports.Page.read``."""
        self._require_alive()
        if ref is None:
            return self._mask()("\n".join(self._shown.lines()))
        index, control = self._shown.target(ref)
        if attribute:
            hides = control.element.traits.input_type == "password" and attribute == "value"
            return "" if hides else dict(control.attributes).get(attribute)
        return self._mask()(self._shown.read(index))

    async def sent(self, ref: str) -> tuple[str, ...] | None:
        """``adapters.ports.Page.sent``."""
        self._require_alive()
        index, control = self._shown.target(ref)
        if control.element.traits.input_type == "password" or control.element.role not in FIELDS:
            return None
        shown = self._shown.read(index)
        return (self._mask()(dict(control.values).get(shown, shown)),)

    def untold(self) -> tuple[Leaving, ...]:
        """``adapters.ports.Page.untold``."""
        return ()

    async def late(self) -> tuple[Leaving, ...]:
        """``adapters.ports.Page.late``."""
        return ()

    async def fate(self, number: int) -> Fate:
        """``adapters.ports.Page.fate``; here nothing waits: all that needs a yes is refused at once."""
        self._require_alive()
        return "withdrawn"

    async def let_go(self, number: int) -> Fate:
        """``adapters.ports.Page.let_go``."""
        return await self.fate(number)

    def refused_late(self) -> dict[int, tuple[str, ...]]:
        """``adapters.ports.Page.refused_late``: no twin does anything by itself."""
        return {}

    def keep_back(self, number: int) -> None:
        """``adapters.ports.Page.keep_back``."""

    async def pause(self, pause_ms: int) -> None:
        """``adapters.ports.Page.pause``; nothing here takes time."""
        self._require_alive()

    # --- performing ---

    async def perform(
        self,
        action: Action,
        *,
        ref: str | None = None,
        expect: bytes | None = None,
        secrets: Secrets | None = None,
        timeout_ms: int = 0,
        given: Given = NOTHING,
    ) -> ActionOutcome:
        """``adapters.ports.Page.perform``; nothing here takes time, so ``expect`` and ``timeout_ms`` have no effect."""
        self._require_alive()
        self._secrets = secrets or self._secrets
        self._traffic.begin(given)
        self._given = given
        self._followed = False
        before = self._shown
        try:
            extracted = self._do(action, ref)
        finally:
            self._given = NOTHING
            self._traffic.acted()
        mask = self._mask()
        blocked = self.blocked()
        dialogs, self._dialogs = tuple(self._dialogs), []
        downloads, self._told = tuple(self._downloads[self._told :]), len(self._downloads)
        seen, read = await self.observe(), mask(extracted)
        return ActionOutcome(
            observation=seen,
            extracted=read,
            blocked=blocked.requests,
            blocked_by=blocked.rules,
            blocked_forms=blocked.forms,
            dialogs=dialogs,
            downloads=downloads,
            tab=self._followed,
            asked=self._traffic.asked,
            faults=self._traffic.faults(self._shown.url, mask),
            notes=("the page was still loading",)
            if self._shown.document.unfinished and self._shown is not before
            else (),
        )

    def downloads(self) -> tuple[Download, ...]:
        """``adapters.ports.Page.downloads``."""
        return tuple(self._downloads)

    def console_errors(self) -> tuple[str, ...]:
        """``adapters.ports.Page.console_errors``."""
        return tuple(self._shown.document.console)

    async def markup(self, targets: Sequence[Locator] = (), near: Sequence[str] = ()) -> Markup:
        """``adapters.ports.Page.markup``: its controls, one below the other."""
        self._require_alive()
        if self._last is None:
            raise MeshError("browser.timeout")
        ways = tuple(Way(f"{target.role} “{target.name}”", 0) for target in targets)
        marked = {ref: (len(ways),) for ref in near}
        nodes = [
            each
            for item in self._last.elements
            for each in (
                MarkupNode(depth=1, tag="div", attributes=(("role", item.role),), ways=marked.get(item.ref, ())),
                MarkupNode(depth=2, tag="", text=item.name),
            )
        ]
        return Markup(nodes=tuple(nodes), ways=(*ways, Way("", len(near))) if near else ways)

    async def hidden_texts(self) -> HiddenTexts:
        """``adapters.ports.Page.hidden_texts``."""
        mask = self._mask()
        texts = tuple(msgspec.structs.replace(one, text=mask(one.text)) for one in self._shown.document.hidden)
        return HiddenTexts(texts=texts, whole=self._shown.document.hidden_whole)

    def blocked(self) -> Blocked:
        """``adapters.ports.Page.blocked``."""
        return self._traffic.blocked(self._shown.url, self._mask())

    def _do(self, action: Action, ref: str | None) -> str:
        if isinstance(action, Press):
            require_key(action.key)
        match action:
            case SwitchTab() | CloseTab():
                raise MeshError("action.not_possible", WITHOUT_TABS)
            case Goto(url=url):
                self._goto(url)
            case Back():
                self._back()
            case Forward():
                self._forward()
            case Reload():
                self._reload()
            case Wait(text=text):
                self._wait(text)
            case Scroll() | Press(target=None) | Assert() | Emulate():
                pass
            case Extract(target=None):
                return "\n".join(self._shown.lines())
            case Extract():
                return self._shown.read(self._shown.target(ref)[0])
            case _:
                self._use(action, *self._shown.target(ref))
        return ""

    def _wait(self, text: str) -> None:
        if text and not any(text.casefold() in line.casefold() for line in self._shown.lines()):
            raise MeshError("action.text_missing", "the text did not appear")

    def _use(self, action: Action, index: int, control: Control) -> None:
        shown, role = self._shown, control.element.role
        if "disabled" in control.element.states or (control.covered and isinstance(action, Click)):
            raise MeshError("action.not_possible", "the element is hidden, disabled or covered", role=role)
        match action:
            case Fill(value=value, typed=typed):
                self._require(role in FIELDS and not (typed and isinstance(value, Secret)))
                before = shown.value(index) if typed else ""
                shown.values[index] = before + self._value(value, control.element)
                self._trigger_change(control)
            case Drag():
                shown.target(self._given.onto)
                self._trigger(control)
            case Upload():
                self._require(control.element.traits.input_type == "file")
            case Select(option=option, also=also):
                self._require({option, *also} <= set(control.element.options))
                shown.values[index] = ", ".join((option, *also))
                self._trigger_change(control)
            case Check(checked=checked):
                self._require(role in _TOGGLES)
                shown.checked[index] = checked
            case Click(button="right") | Hover() | ScrollTo():
                return  # the focus stays where it is
            case Click(count=2) if role in _TOGGLES:
                pass
            case Click() if role in _TOGGLES:
                shown.checked[index] = not shown.checked.get(index, "checked" in control.element.states)
            case Click():
                self._trigger(control)
            case Press(key="Enter"):
                self._trigger(control)
            case _:
                pass
        # The focus stays on the control, unless what it did has led to another document.
        self._shown.active = index if self._shown.document.controls[index : index + 1] == (control,) else -1

    @staticmethod
    def _require(possible: bool) -> None:
        if not possible:
            raise MeshError("action.not_possible", "the element is of another kind")

    def _value(self, value: str | Secret, element: Element) -> str:
        if isinstance(value, Secret):
            return self._secrets.value_for(value.secret, element, self._shown.url)
        if value and takes_no_text(element.traits):
            raise MeshError("action.secret_literal")
        return value

    def _trigger_change(self, control: Control) -> None:
        """A field or a list acts as soon as it changes, if ``changes`` says so."""
        if control.changes:
            self._trigger(control)

    def _trigger(self, control: Control) -> None:
        effect = control.effect
        if effect.stores:
            self._kept.store(self._shown.url)
        if effect.shows:
            document = self._shown.document
            self._shown.document = msgspec.structs.replace(document, controls=(*document.controls, *effect.shows))
        if effect.download:
            self._downloads.append(effect.download)
        if effect.dialog:
            met = Dialog(kind=effect.dialog, message=effect.asks)
            self._dialogs.append(msgspec.structs.replace(met, accepted=self._given.accepts(met)))
        for method, url in effect.fetch:
            self._traffic.send(method, urljoin(self._shown.url, url), "fetch")
        if effect.post:
            self._show("POST", urljoin(self._shown.url, effect.post))
        target = effect.go or effect.popup or (control.element.url if control.element.role == "link" else "")
        if target:
            url = urljoin(self._shown.url, target)
            if effect.popup and self.beside is not None:
                self.beside(url)
            else:
                self._followed = self._show("GET", url) and bool(effect.popup)

    def shows(self, url: str) -> bool:
        """Open ``url`` as the address of a new tab; whether the guard lets it."""
        return self._show("GET", url)

    def take_refused(self, tab: MemoryPage) -> None:
        """Report what was refused of a tab that did not open."""
        self._traffic.take_over(tab._traffic)

    def _goto(self, url: str) -> None:
        require_web(url)
        if not self._show("GET", url):
            raise navigation_refused(self._traffic.last_refused, self._led_by)

    def _back(self) -> None:
        if not self._before:
            raise MeshError("action.not_possible", "there is no page before this one")
        *rest, url = self._before
        left, after = self._shown.url, self._after
        if not self._show("GET", url):
            raise navigation_refused(self._traffic.last_refused, self._led_by)
        self._before, self._after = rest, [*after, left]

    def _forward(self) -> None:
        if not self._after:
            raise MeshError("action.not_possible", "there is no page after this one")
        *rest, url = self._after
        if not self._show("GET", url):
            raise navigation_refused(self._traffic.last_refused, self._led_by)
        self._after = rest

    def _reload(self) -> None:
        if self._shown.url == "about:blank" or self._posted:
            raise MeshError("action.not_possible", "the page has opened nothing yet, or came from a form")
        before, after = self._before, self._after
        if not self._show("GET", self._shown.url.partition("#")[0]):
            raise navigation_refused(self._traffic.last_refused, self._led_by)
        self._before, self._after = before, after

    def _show(self, method: str, url: str) -> bool:
        """Go to ``url`` hop by hop; False if the guard stopped it, and the page stays."""
        sends, left = method == "POST", self._shown.url
        self._led_by = []
        for _ in range(_REDIRECTS_MAX):
            same = url.partition("#")[0] == left.partition("#")[0] and "#" in url
            if not same and not self._traffic.send(method, url, "document", navigation=True):
                return False
            self._led_by.append(site_of(url))
            if url not in self._site.redirects:
                break
            method, url = "GET", self._site.redirects[url]
        document = self._site.document(url)
        if document is None:
            if urlsplit(url).netloc not in {urlsplit(address).netloc for address in self._site.documents}:
                raise MeshError("browser.navigation", "no server answers")
            document = Document(title="", text=("404: Not Found",), status=404)
        if same:  # only the fragment differs: what was typed stays
            self._shown.url = url
        else:
            self._shown = Shown(url, self._kept.shown(url, document))
            self._traffic.shows(url, document.status)
            for sent, address in self._shown.document.pending:
                self._traffic.send(sent, urljoin(url, address), "fetch")
        if left != "about:blank":
            self._before = [*self._before, left]
        self._posted, self._after = sends, []
        return True

    # --- the rest ---

    async def screenshot(self, cover: Covering | None = None) -> bytes:
        """``adapters.ports.Page.screenshot``: one pixel, white, or black if something is covered."""
        self._require_alive()
        if cover is None:
            return _PNG
        # In a thread, as the camera of Chromium's page does it.
        found = await asyncio.to_thread(cover.find, "\n".join(self._shown.painted()))
        if cover.must and not found:
            raise MeshError("action.not_possible", "what must be covered in the picture cannot be placed on the page")
        return BLACK if found else _PNG

    async def close(self) -> None:
        """``adapters.ports.Page.close``."""
        self._gone = True
