"""The records that are stored between the stages."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal, TypeVar

import msgspec

Kind = Literal["click", "fill", "enter", "select"]
REFUSED: Final = "the application refused it"
ONCE: Final = "its effect did not come again"
T = TypeVar("T")


class Place(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A state of a page: its path, and the clicks that lead to it."""

    path: str
    via: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The same in each run."""
        return " >> ".join((self.path, *self.via))


class Control(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A control as ``controls.js`` describes it."""

    selector: str
    kind: Literal["click", "fill", "select"]
    tag: str
    type: str = ""
    role: str = ""
    label: str = ""
    href: str = ""
    form: str = ""
    """Method and address of its form, numbers masked."""
    name: str = ""
    value: str = ""
    plain: bool = False
    """A link and nothing but a link."""
    address: str = ""
    lists: int = 0
    frame: int = 0
    """Which frame of the page, in document order; 0 is the page itself."""

    @property
    def shape(self) -> str:
        """The key that is equal for controls that do the same to different things."""
        if self.plain:
            return f"a {self.href}"
        label = (
            "" if self.kind in ("fill", "select") else "".join("#" if each.isdigit() else each for each in self.label)
        )
        # A row's own name is no other control: the form and the name of the button tell what it does.
        label = "" if self.lists and (self.form or self.href) else label
        return " ".join((self.tag, self.type, self.role, self.href, self.form, self.name, self.value, label))


class Request(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A request that a truth run sent, or a message over a WebSocket, whose method is ``WS``."""

    method: str
    url: str
    kind: str
    """As the browser names it."""
    navigation: bool = False
    body: str = ""
    content_type: str = ""
    override: str = ""
    """The method that a header names in place of it."""
    acted: bool = False
    """True if it came after the action."""


class Truth(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The effect of one action on one control."""

    application: str
    place: Place
    control: Control
    kind: Kind
    effect: tuple[str, ...] = ()
    """Kinds of changes that are no noise; empty: harmless."""
    error: str = ""
    """Why it could not be acted on, or why what it does is not known: it then counts nowhere."""
    repeated: bool = False
    """True if it had an effect and was done once more."""
    requests: tuple[Request, ...] = ()
    seconds: float = 0

    @property
    def performed(self) -> bool:
        """True if the action was carried out, even if nothing is known of its effect."""
        return self.error in ("", REFUSED, ONCE)

    @property
    def key(self) -> str:
        """Of a run that need not be repeated."""
        return "|".join((self.application, self.place.key, str(self.control.frame), self.control.selector, self.kind))


class Verdict(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The guard's verdict on the requests of one action."""

    application: str
    part: str
    place: str
    kind: Kind
    label: str
    effect: tuple[str, ...] = ()
    passed: str = ""
    """Of what may have made the effect, the first request that is sent; a dash if none is known. Empty: all of it is held."""
    held: tuple[str, ...] = ()
    """The held requests of the action itself, with the reason."""
    loading: bool = False
    """True if a request is held that loading pages also sends by itself."""


class Searched(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The reach and the changes of a search in one application."""

    application: str
    part: str
    login: bool
    """True if it began with a capsule."""
    seconds: float
    states: int = 0
    """Different states of pages that it saw."""
    actions: int = 0
    """Actions that it found: the nodes of its tree."""
    visits: int = 0
    effect: tuple[str, ...] = ()
    """Kinds of changes in the copy: there must be none."""
    visit: tuple[str, ...] = ()
    """Kinds of changes that opening pages makes too."""
    error: str = ""


class Book:
    """Records in a file that grows by a line each."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)

    def read(self, kind: type[T]) -> list[T]:
        """Everything in it; a line that was cut off by an interruption is left out."""
        if not self._path.is_file():
            return []
        found = []
        for line in self._path.read_bytes().splitlines():
            try:
                found.append(msgspec.json.decode(line, type=kind))
            except msgspec.DecodeError:
                continue
        return found

    def add(self, record: msgspec.Struct) -> None:
        """One more."""
        with self._path.open("ab") as file:
            file.write(msgspec.json.encode(record) + b"\n")
