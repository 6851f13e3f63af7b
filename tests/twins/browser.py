"""The in-memory twin of a browser: a site as data, for tests of everything above the browser port.

A site is a set of documents; a control says which requests using it sends and where it leads. Guard, secrets and error
codes are those of the real adapters; the contract suite holds all to the same assertions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urljoin, urlsplit

import msgspec

from adapters.browser.caused import Caused, FrameDocument
from adapters.browser.state import of_tabs, plain_state, read_state, write_state
from adapters.browser.view import Mask, masker
from adapters.ports import NOTHING, Blocked, BrowserState, Given, Outcome, Passkey
from protocol.approval.forms import RequestForm, request_form
from protocol.errors import MeshError
from protocol.page.action import (
    WITHOUT_TABS,
    Action,
    Assert,
    Back,
    Check,
    Click,
    CloseTab,
    Drag,
    Extract,
    Fill,
    Forward,
    Goto,
    Hover,
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
from protocol.page.covering import Covering
from protocol.page.dialogs import Dialog, DialogKind
from protocol.page.downloads import Download
from protocol.page.hidden_text import HiddenText, HiddenTexts
from protocol.page.keys import require_key
from protocol.page.locator import hidden, require_selector, several
from protocol.page.observation import INTERACTIVE_ROLES, Element, Observation, Tree, truncate
from protocol.page.secrets import NO_SECRETS, Secrets, takes_no_text
from protocol.page.web_address import require_web
from protocol.recording.session import BrowserInfo, Profile
from protocol.risk.refused import PROBED_PAGE, Refused, may_be_allowed, navigation_refused, refused, request_line
from protocol.risk.refused import site_of as bare_site
from protocol.risk.requests import GuardPolicy, judge_request
from protocol.risk.sockets import judge_socket
from tests.twins.tabs import MemoryTabs

_FIELDS = frozenset({"textbox", "searchbox", "spinbutton"})
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


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """What using a control does."""

    go: str = ""
    """Address it leads to by a GET."""
    post: str = ""
    """Address it submits to by a POST, and then shows."""
    fetch: tuple[tuple[str, str], ...] = ()
    """``(method, address)`` of requests by scripts; ``WS`` for a socket."""
    late: tuple[tuple[str, str], ...] = ()
    """The same of a timer, which runs when a probe lets time pass."""
    popup: str = ""
    """Address it opens beside the page."""
    download: Download | None = None
    dialog: DialogKind | None = None
    asks: str = ""
    """What the dialog says."""


class Control(msgspec.Struct, frozen=True, kw_only=True):
    """An element (its ``ref`` is given when it is observed) and what using it does."""

    element: Element
    effect: Effect = Effect()
    changes: bool = False
    """Whether the effect comes as soon as something is typed or chosen."""
    covered: bool = False
    """Whether another element lies over it."""
    hidden: bool = False
    """Whether it is not shown: no observation lists it."""
    selectors: tuple[str, ...] = ()
    attributes: tuple[tuple[str, str], ...] = ()
    """Those of its HTML that a test reads."""
    values: tuple[tuple[str, str], ...] = ()
    """Label and value of a select's options."""
    level: int = 0
    """It stands in the last control before it of a lower level."""

    @property
    def listed(self) -> bool:
        """Whether an observation lists it; as in ``view``, mere wrappers are left out."""
        return not self.hidden and (self.element.role != "generic" or bool(self.element.name))


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """One page of a site."""

    title: str
    controls: tuple[Control, ...] = ()
    text: tuple[str, ...] = ()
    """Loose text, line by line. ``COOKIES`` and ``ITEMS`` stand for what the site reads as the document is shown."""
    cookies: tuple[tuple[str, str], ...] = ()
    """Set when it is shown, as are ``items`` in the localStorage of its origin."""
    status: int = 200
    console: tuple[str, ...] = ()
    """Errors in the console."""
    items: tuple[tuple[str, str], ...] = ()
    offers: bool = False
    """Whether its answer offers to bind the session to the device."""
    hidden: tuple[HiddenText, ...] = ()
    """What no person sees."""
    hidden_whole: bool = True
    """Whether it can be read to its end."""
    late: tuple[tuple[str, str], ...] = ()
    """``(method, address)`` of requests that its timers send whenever a probe lets time pass."""
    later: tuple[Control, ...] = ()
    """Controls that it shows too once its origin has stored an item."""


class Kept:
    """Cookies and localStorage of a context: by host and by origin."""

    def __init__(self) -> None:
        self._cookies: dict[str, dict[str, str]] = {}
        self._items: dict[str, dict[str, str]] = {}
        self.offers: list[str] = []
        self._tabs: dict[str, dict[str, str]] = {}
        self._apart: list[dict[str, Any]] = []

    def shown(self, url: str, document: Document) -> Document:
        """``document`` as it is at ``url``, once it has set what it sets."""
        parts = urlsplit(url)
        cookies = self._cookies.setdefault(parts.hostname or "", {})
        items = self._items.setdefault(f"{parts.scheme}://{parts.netloc}", {})
        read = {"COOKIES": _pairs(cookies), "ITEMS": _pairs(items)}
        controls = (*document.controls, *(document.later if items else ()))
        cookies.update(document.cookies)
        items.update(document.items)
        origin = f"{parts.scheme}://{parts.netloc}"
        if document.offers and origin not in self.offers:
            self.offers.append(origin)
        text = tuple(read.get(line, line) for line in document.text)
        return msgspec.structs.replace(document, text=text, controls=controls)

    def take(self, state: BrowserState) -> None:
        """Begin with ``state``. Errors: ``input.invalid``."""
        stored = read_state(state)
        for cookie in stored.cookies:
            self._cookies.setdefault(cookie.domain, {})[cookie.name] = cookie.value
        # Its documents have no frames: what is kept for one stays as it was.
        self._apart = [each for each in plain_state(stored)["origins"] if "storageKey" in each]
        for origin in (each for each in stored.origins if not each.storageKey):
            self._items[origin.origin] = {item.name: item.value for item in origin.localStorage}
        self._tabs = of_tabs(stored)

    def state(self, *, whole: bool = False) -> BrowserState:
        """What there is now. Its documents read no sessionStorage: what a context began with is still there."""
        listed = [(host, name, value) for host, known in self._cookies.items() for name, value in known.items()]
        cookies = [{"name": name, "value": value, "domain": host, "path": "/"} for host, name, value in listed]
        items = {
            origin: [{"name": name, "value": value} for name, value in known.items()]
            for origin, known in self._items.items()
            if known
        }
        origins = [{"origin": origin, "localStorage": listed} for origin, listed in items.items()]
        stored = {"cookies": cookies, "origins": origins}
        return write_state(stored, self._tabs, (), self._apart) if whole else write_state(stored)


def _states(item: Element) -> str:
    return "".join(f" [{state}]" for state in item.states if state != "active")


def _pairs(known: Mapping[str, str]) -> str:
    return "; ".join(f"{name}={value}" for name, value in known.items()) or "none"


class MemorySite:
    """Documents by address (without query), redirects, and the log of what reached the site."""

    def __init__(self, documents: Mapping[str, Document], redirects: Mapping[str, str] | None = None) -> None:
        self.documents = dict(documents)
        self.redirects = dict(redirects or {})
        self.reached: list[str] = []
        self.answers: dict[str, int] = {}
        """HTTP status of what scripts ask for, by path; 0: no answer ever comes."""

    def document(self, url: str) -> Document | None:
        """What stands at ``url``."""
        bare = url.partition("#")[0]
        return self.documents.get(bare) or self.documents.get(bare.partition("?")[0])


class MemoryBrowser:
    """``adapters.ports.Browser`` over a ``MemorySite``."""

    def __init__(self, site: MemorySite) -> None:
        self._site = site
        self._contexts: list[MemoryContext] = []
        self._ended = asyncio.Event()

    @property
    def info(self) -> BrowserInfo:
        """Backend, name and version."""
        return BrowserInfo(backend="memory", name="memory", version="1")

    @property
    def turned_away(self) -> Mapping[tuple[str, str], int]:
        """``adapters.ports.Browser.turned_away``: it has no tunnel."""
        return {}

    async def open(
        self, profile: Profile, guard: GuardPolicy, *, state: BrowserState | None = None, tabs: bool = False
    ) -> MemoryContext:
        """``adapters.ports.Browser.open``."""
        if self._ended.is_set():
            raise MeshError("browser.crashed", "the browser is not running")
        context = MemoryContext(self.new_page, guard, tabs=tabs)
        if state is not None:
            context.kept.take(state)
        self._contexts.append(context)
        return context

    def new_page(self, guard: GuardPolicy, kept: Kept) -> MemoryPage:
        """A new page of a context."""
        return MemoryPage(self._site, guard, kept)

    @property
    def has_ended(self) -> bool:
        """Whether it runs no more."""
        return self._ended.is_set()

    def crash(self) -> None:
        """End as a killed process would."""
        self._ended.set()
        for context in self._contexts:
            context.crash()

    async def ended(self) -> None:
        """``adapters.ports.Browser.ended``."""
        await self._ended.wait()

    async def close(self) -> None:
        """``adapters.ports.Browser.close``."""
        self.crash()


class MemoryContext:
    """``adapters.ports.Context`` over a ``MemorySite``."""

    def __init__(
        self, new_page: Callable[[GuardPolicy, Kept], MemoryPage], guard: GuardPolicy, *, tabs: bool = False
    ) -> None:
        self._new_page = new_page
        self._guard = guard
        self._has_tabs = tabs
        self._pages: list[MemoryPage | MemoryTabs] = []
        self._gone = False
        self._passkeys: tuple[Passkey, ...] = ()
        self.kept = Kept()

    @property
    def pages(self) -> tuple[MemoryPage | MemoryTabs, ...]:
        """``adapters.ports.Context.pages``."""
        return tuple(page for page in self._pages if page.is_open)

    async def page(self) -> MemoryPage | MemoryTabs:
        """``adapters.ports.Context.page``."""
        self._require_open()
        page = MemoryTabs(self._one) if self._has_tabs else self._one()
        self._pages = [*self.pages, page]
        return page

    def _one(self) -> MemoryPage:
        return self._new_page(self._guard, self.kept)

    async def state(self, *, whole: bool = False) -> BrowserState:
        """``adapters.ports.Context.state``."""
        self._require_open()
        return self.kept.state(whole=whole)

    async def hold_passkeys(self, held: Sequence[Passkey]) -> None:
        """``adapters.ports.Context.hold_passkeys``. Its pages have no scripts, so none is made or used here."""
        self._require_open()
        self._passkeys = tuple(held)

    async def passkeys(self) -> tuple[Passkey, ...]:
        """``adapters.ports.Context.passkeys``."""
        self._require_open()
        return self._passkeys

    def note_offers(self) -> list[str]:
        """``adapters.ports.Context.note_offers``."""
        self.kept.offers = []
        return self.kept.offers

    def _require_open(self) -> None:
        if self._gone:
            raise MeshError("browser.crashed", "the context is closed, or its browser not running")

    def crash(self) -> None:
        """End as a killed process would."""
        self._gone = True
        for page in self._pages:
            page.crash()

    async def close(self) -> None:
        """``adapters.ports.Context.close``."""
        self.crash()


class MemoryPage:
    """``adapters.ports.Page`` over a ``MemorySite``."""

    def __init__(self, site: MemorySite, policy: GuardPolicy, kept: Kept | None = None) -> None:
        self._site = site
        self._policy = policy
        self._kept = kept or Kept()
        self._url = "about:blank"
        self._before: list[str] = []
        """Addresses that lie before it in its history, …"""
        self._after: list[str] = []
        """… and those it was gone back from, the nearest last."""
        self._posted = False
        """Whether it was shown by a POST."""
        self._document = Document(title="")
        self._values: dict[int, str] = {}
        self._checked: dict[int, bool] = {}
        self._active = -1
        self._order: dict[str, int] = {}
        self._secrets = NO_SECRETS
        self._late: list[tuple[str, str]] = []
        self._stays = False
        self._refused: list[Refused] = []
        self._led_by: list[str] = []
        self._forms: dict[RequestForm, None] = {}
        self._dialogs: list[Dialog] = []
        self._downloads: list[Download] = []
        self._told = 0
        self._followed = False
        self.beside: Callable[[str], bool] | None = None
        """What opens an address beside the page; without it, the page goes there itself."""
        self._given = NOTHING
        self._gone = False
        self._caused = Caused()
        self._unanswered: list[tuple[str, str]] = []

    @property
    def is_open(self) -> bool:
        """Whether it can still be driven."""
        return not self._gone

    def crash(self) -> None:
        """From now on every call says ``browser.crashed``."""
        self._gone = True

    # --- observing ---

    def _mask(self) -> Mask:
        hidden = [
            self._values.get(index, control.element.value)
            for index, control in enumerate(self._document.controls)
            if control.element.traits.input_type == "password"
        ]
        return masker(self._secrets, [value for value in hidden if len(value) > 1])

    async def observe(self) -> Observation:
        """``adapters.ports.Page.observe``."""
        self._require_alive()
        mask = self._mask()
        self._order = {}
        counts: dict[str, int] = {}
        elements: list[Element] = []
        places: list[int] = []
        for index, control in enumerate(self._document.controls):
            places.append(len(elements) if control.listed else -1)
            if not control.listed:
                continue
            frame = control.element.frame
            counts[frame] = counts.get(frame, 0) + 1
            ref = f"{frame}e{counts[frame]}"
            self._order[ref] = index
            elements.append(self._seen(index, control.element, ref, mask))
        lines = [
            f'- {item.role} "{item.name}"{_states(item)}' + (f": {item.value}" if item.value else "")
            for item in elements
        ]
        lines.extend(f"- {mask(line)}" for line in self._document.text)
        lines = [" ".join(line.split()) for line in lines]
        return Observation(
            url=mask(self._url),
            title=mask(self._document.title),
            text=truncate("\n".join(lines)),
            elements=tuple(elements),
            lines=tuple(range(len(elements))),
            tree=self._tree(places, mask),
        )

    def _tree(self, places: list[int], mask: Mask) -> Tree:
        controls = self._document.controls
        around: list[int] = []
        parents: list[int] = []
        for index, control in enumerate(controls):
            while around and controls[around[-1]].level >= control.level:
                around.pop()
            parents.append(around[-1] if around else -1)
            around.append(index)
        return Tree(
            parents=tuple(parents),
            roles=tuple(control.element.role for control in controls),
            said=tuple("" if control.hidden else mask(control.element.name) for control in controls),
            elements=tuple(places),
        )

    def _seen(self, index: int, element: Element, ref: str, mask: Mask) -> Element:
        value = self._values.get(index, element.value)
        states = set(element.states)
        if index in self._checked:
            states.discard("checked")
            states.update({"checked"} if self._checked[index] else ())
        if index == self._active:
            states.add("active")
        return msgspec.structs.replace(
            element,
            ref=ref,
            name=mask(element.name),
            value="" if element.traits.input_type == "password" else mask(value),
            states=tuple(sorted(states)),
            url=mask(urljoin(self._url, element.url)) if element.url else "",
        )

    async def find(self, selector: str, frame: str = "", *, within: str = "") -> Element | None:
        """``adapters.ports.Page.find``."""
        self._require_alive()
        require_selector(selector)
        if not self._order:
            await self.observe()
        every = [
            index
            for index, control in enumerate(self._document.controls)
            if selector in control.selectors and control.element.frame == frame and self._stands(index, within)
        ]
        visible = [index for index in every if not self._document.controls[index].hidden]
        if every and not visible:
            raise hidden(selector)
        if len(visible) > 1:
            raise several(selector, len(visible))
        refs = {index: ref for ref, index in self._order.items()}
        if not visible:
            return None
        index = visible[0]
        control = self._document.controls[index]
        if index not in refs:
            self._order[f"{frame}n{index}"] = index
            around = [other for other in refs if self._stands(index, refs[other]) and self._takes(other)]
            inside = refs[max(around)] if around else ""
            seen = self._seen(index, control.element, f"{frame}n{index}", self._mask())
            return msgspec.structs.replace(seen, inside=inside)
        return self._seen(index, control.element, refs[index], self._mask())

    def _takes(self, index: int) -> bool:
        return self._document.controls[index].element.role in INTERACTIVE_ROLES

    def _stands(self, index: int, within: str) -> bool:
        """Whether a control stands in the one with the ref ``within``."""
        if not within:
            return True
        around = self._order[within]
        between = self._document.controls[around + 1 : index + 1]
        return index > around and all(each.level > self._document.controls[around].level for each in between)

    def _require_alive(self) -> None:
        if self._gone:
            raise MeshError("browser.crashed")

    async def option_label(self, ref: str, value: str) -> str:
        """``adapters.ports.Page.option_label``."""
        self._require_alive()
        _, control = self._target(ref)
        labels = [label for label, known in control.values if known == value]
        if labels and control.element.options.count(labels[0]) > 1:
            raise MeshError("action.not_possible", "several options of the list have the same label", option=labels[0])
        return labels[0] if labels else ""

    async def read(self, ref: str | None = None, attribute: str = "") -> str | None:
        """``adapters.ports.Page.read``."""
        self._require_alive()
        if ref is None:
            return self._mask()(self._text())
        index, control = self._target(ref)
        if attribute:
            hides = control.element.traits.input_type == "password" and attribute == "value"
            return "" if hides else dict(control.attributes).get(attribute)
        return self._mask()(self._read(index, control))

    async def pause(self, pause_ms: int, *, ahead_ms: int = 0) -> None:
        """``adapters.ports.Page.pause``; nothing here takes time."""
        self._require_alive()
        if ahead_ms and self._policy.probe:
            due, self._late = self._late, []
            for method, url in (*due, *self._document.late):
                self._sent(method, urljoin(self._url, url), "fetch", False)

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
    ) -> Outcome:
        """``adapters.ports.Page.perform``; nothing here takes time, so ``expect`` and ``timeout_ms`` have no effect."""
        self._require_alive()
        self._secrets = secrets or self._secrets
        self._caused.begin()
        self._unanswered.clear()
        self._given, self._stays = given, given.stays
        self._followed = False
        try:
            extracted = self._do(action, ref)
        finally:
            self._given = NOTHING
        mask = self._mask()
        blocked = self.blocked()
        dialogs, self._dialogs = tuple(self._dialogs), []
        downloads, self._told = tuple(self._downloads[self._told :]), len(self._downloads)
        seen, read = await self.observe(), mask(extracted)
        return Outcome(
            observation=seen,
            extracted=read,
            blocked=blocked.requests,
            blocked_by=blocked.rules,
            blocked_forms=blocked.forms,
            dialogs=dialogs,
            downloads=downloads,
            tab=self._followed,
            faults=self._caused.end(self._unanswered, self._url, mask),
        )

    def downloads(self) -> tuple[Download, ...]:
        """``adapters.ports.Page.downloads``."""
        return tuple(self._downloads)

    def console_errors(self) -> tuple[str, ...]:
        """``adapters.ports.Page.console_errors``."""
        return tuple(self._document.console)

    async def hidden_texts(self) -> HiddenTexts:
        """``adapters.ports.Page.hidden_texts``."""
        mask = self._mask()
        texts = tuple(msgspec.structs.replace(one, text=mask(one.text)) for one in self._document.hidden)
        return HiddenTexts(texts=texts, whole=self._document.hidden_whole)

    def blocked(self) -> Blocked:
        """``adapters.ports.Page.blocked``."""
        mask = self._mask()
        refused, self._refused = self._refused, []
        requests = tuple(mask(request_line(each, self._url)) for each in refused)
        forms, self._forms = tuple(self._forms), {}
        return Blocked(requests, tuple(each.rule for each in refused), forms)

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
            case Scroll() | Press(target=None) | Assert():
                pass
            case Extract(target=None):
                return self._text()
            case Extract():
                return self._read(*self._target(ref))
            case _:
                self._use(action, *self._target(ref))
        return ""

    def _text(self) -> str:
        return "\n".join([*(item.element.name for item in self._document.controls), *self._document.text])

    def _wait(self, text: str) -> None:
        shown = [*(item.element.name for item in self._document.controls), *self._document.text]
        if text and not any(text.casefold() in line.casefold() for line in shown):
            raise MeshError("action.text_missing", "the text did not appear")

    def _target(self, ref: str | None) -> tuple[int, Control]:
        index = self._order.get(ref or "")
        if index is None:
            raise MeshError("action.target_missing", f"no element {ref} in the last observation")
        return index, self._document.controls[index]

    def _read(self, index: int, control: Control) -> str:
        if control.element.traits.input_type == "password":
            return ""
        return (
            self._values.get(index, control.element.value) if control.element.role in _FIELDS else control.element.name
        )

    def _use(self, action: Action, index: int, control: Control) -> None:
        role = control.element.role
        if "disabled" in control.element.states or (control.covered and isinstance(action, Click)):
            raise MeshError("action.not_possible", "the element is hidden, disabled or covered", role=role)
        match action:
            case Fill(value=value, typed=typed):
                self._require(role in _FIELDS and not (typed and isinstance(value, Secret)))
                before = self._values.get(index, control.element.value) if typed else ""
                self._values[index] = before + self._value(value, control.element)
                self._trigger_change(control)
            case Drag():
                self._target(self._given.onto)
            case Upload():
                self._require(control.element.traits.input_type == "file")
            case Select(option=option, also=also):
                self._require({option, *also} <= set(control.element.options))
                self._values[index] = ", ".join((option, *also))
                self._trigger_change(control)
            case Check(checked=checked):
                self._require(role in _TOGGLES)
                self._checked[index] = checked
            case Click(button="right") | Hover() | ScrollTo():
                return  # the focus stays where it is
            case Click(count=2) if role in _TOGGLES:
                pass
            case Click() if role in _TOGGLES:
                self._checked[index] = not self._checked.get(index, "checked" in control.element.states)
            case Click():
                self._trigger(control)
            case Press(key="Enter"):
                self._trigger(control)
            case _:
                pass
        self._active = index if self._document.controls[index : index + 1] == (control,) else -1

    @staticmethod
    def _require(possible: bool) -> None:
        if not possible:
            raise MeshError("action.not_possible", "the element is of another kind")

    def _value(self, value: str | Secret, element: Element) -> str:
        if isinstance(value, Secret):
            return self._secrets.value_for(value.secret, element, self._url)
        if value and takes_no_text(element.traits):
            raise MeshError("action.secret_literal")
        return value

    def _trigger_change(self, control: Control) -> None:
        """A field or a list acts as soon as it changes, if ``changes`` says so."""
        if control.changes:
            self._trigger(control)

    def _trigger(self, control: Control) -> None:
        effect = control.effect
        if effect.download:
            self._downloads.append(effect.download)
        if effect.dialog:
            met = Dialog(kind=effect.dialog, message=effect.asks)
            self._dialogs.append(msgspec.structs.replace(met, accepted=self._given.accepts(met)))
        for method, url in effect.fetch:
            self._sent(method, urljoin(self._url, url), "fetch", False)
        self._late += effect.late
        if effect.post:
            self._show("POST", urljoin(self._url, effect.post))
        target = effect.go or effect.popup or (control.element.url if control.element.role == "link" else "")
        if target:
            url = urljoin(self._url, target)
            if effect.popup and self.beside is not None:
                self.beside(url)
            else:
                self._followed = self._show("GET", url) and bool(effect.popup)

    def shows(self, url: str) -> bool:
        """Open ``url`` as the address of a new tab; whether the guard lets it."""
        return self._show("GET", url)

    def take_refused(self, tab: MemoryPage) -> None:
        """Report what was refused of a tab that did not open."""
        self._refused += tab._refused

    def _goto(self, url: str) -> None:
        require_web(url)
        if not self._show("GET", url):
            raise navigation_refused(self._refused[-1], self._led_by)

    def _back(self) -> None:
        if not self._before:
            raise MeshError("action.not_possible", "there is no page before this one")
        *rest, url = self._before
        left, after = self._url, self._after
        if not self._show("GET", url):
            raise navigation_refused(self._refused[-1], self._led_by)
        self._before, self._after = rest, [*after, left]

    def _forward(self) -> None:
        if not self._after:
            raise MeshError("action.not_possible", "there is no page after this one")
        *rest, url = self._after
        if not self._show("GET", url):
            raise navigation_refused(self._refused[-1], self._led_by)
        self._after = rest

    def _reload(self) -> None:
        if self._url == "about:blank" or self._posted:
            raise MeshError("action.not_possible", "the page has opened nothing yet, or came from a form")
        before, after = self._before, self._after
        if not self._show("GET", self._url.partition("#")[0]):
            raise navigation_refused(self._refused[-1], self._led_by)
        self._before, self._after = before, after

    def _show(self, method: str, url: str) -> bool:
        """Go to ``url`` hop by hop; False if the guard stopped it, and the page stays."""
        sends = method == "POST"
        self._led_by = []
        for _ in range(_REDIRECTS_MAX):
            same = url.partition("#")[0] == self._url.partition("#")[0] and "#" in url
            if not same and not self._sent(method, url, "document", True):
                return False
            self._led_by.append(bare_site(url))
            if url not in self._site.redirects:
                break
            method, url = "GET", self._site.redirects[url]
        document = self._site.document(url)
        if document is None:
            if urlsplit(url).netloc not in {urlsplit(address).netloc for address in self._site.documents}:
                raise MeshError("browser.navigation", "no server answers")
            document = Document(title="", text=("404: Not Found",), status=404)
        if not same:
            document = self._kept.shown(url, document)
            self._document, self._values, self._checked, self._active = document, {}, {}, -1
            self._caused.documents = (FrameDocument(float(len(self._site.reached)), url, document.status),)
            self._order, self._late = {}, []
        if self._url != "about:blank":
            self._before = [*self._before, self._url]
        self._url, self._posted, self._after = url, sends, []
        return True

    def _sent(self, method: str, url: str, kind: str, navigation: bool) -> bool:
        """Whether a request got through; it is in the site's log or among the refused ones afterwards."""
        parts = urlsplit(url)
        rule = judge_request("GET" if method == "WS" else method, url, kind, navigation, None, self._policy)
        if method == "WS":
            rule = judge_socket(url, self._policy)
        if rule and may_be_allowed(rule) and method != "WS":
            # The twin sends no bodies, and every form of it is read.
            if any(cover.covers(method, url, "", "") for cover in self._given.covers):
                rule = None
            else:
                self._forms[request_form(method, url)] = None
        if not rule and self._stays and kind == "document":
            rule = PROBED_PAGE
        if rule:
            self._refused.append(refused(method, url, rule))
            if method != "WS":
                self._caused.refused(method, url.partition("?")[0])
            return False
        if kind == "document":
            self._caused.sends_document(method, url)
        elif (status := self._site.answers.get(parts.path, 200)) and method != "WS":
            self._caused.answered(method, url, status)
        elif method != "WS":
            self._unanswered.append((method, url))
        self._site.reached.append(f"{method} {parts.path or '/'}" + (f"?{parts.query}" if parts.query else ""))
        return True

    # --- the rest ---

    async def screenshot(self, cover: Covering | None = None) -> bytes:
        """``adapters.ports.Page.screenshot``: one pixel, white, or black if something is covered."""
        self._require_alive()
        if cover is None:
            return _PNG
        shown = [part for index, each in enumerate(self._document.controls) for part in self._painted(index, each)]
        found = cover.find("\n".join([*self._document.text, *shown]))
        if cover.must and not found:
            raise MeshError("action.not_possible", "what must be covered in the picture cannot be placed on the page")
        return BLACK if found else _PNG

    def _painted(self, index: int, control: Control) -> tuple[str, ...]:
        hides = control.element.traits.input_type == "password"
        return () if control.hidden else (control.element.name, "" if hides else self._read(index, control))

    async def close(self) -> None:
        """``adapters.ports.Page.close``."""
        self._gone = True


def site_of(origin: str, pages: Mapping[str, tuple[str, Sequence[Control]]]) -> MemorySite:
    """A site from paths to ``(title, controls)``."""
    return MemorySite(
        {origin + path: Document(title=title, controls=tuple(controls)) for path, (title, controls) in pages.items()}
    )
