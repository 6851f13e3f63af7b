"""Short ids (``e17``) by which a caller names elements of a live session. An id never comes to mean another element."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import Locator
from protocol.page.actions.locator import locate
from protocol.page.seen.observation import Element, Observation

_ID: Final = re.compile(r"e[1-9][0-9]{0,8}", re.ASCII)
_SAID_CHARS_MAX: Final = 80
_BY_ID: Final = "id/"


def by_id(given: str) -> Locator:
    """A locator that stands for the element with this id, until its page is known (``ElementIds.locator``)."""
    return Locator(selectors=(_BY_ID + given,))


def id_in(locator: Locator | None) -> str:
    """The id in a locator that ``by_id`` has made; empty for any other."""
    first = locator.selectors[0] if locator is not None and locator.selectors else ""
    return first.removeprefix(_BY_ID) if first.startswith(_BY_ID) else ""


class Named:
    """One observation, and the ids of its elements. An element gets its id when it is first asked for, so that ids stay short."""

    def __init__(self, observation: Observation, ids: Mapping[str, str], give: Callable[[str], str]) -> None:
        """ids: those that are given already, by ref of the observation. give: gives one to the element with a ref."""
        self.observation, self._give = observation, give
        self.given = dict(ids)
        self._refs = {each: ref for ref, each in ids.items()}

    def id(self, ref: str) -> str:
        """The id of the element with this ref."""
        if (known := self.given.get(ref)) is not None:
            return known
        given = self.given[ref] = self._give(ref)
        self._refs[given] = ref
        return given

    def element(self, given: str) -> Element | None:
        """The element with this id; None if the observation has none."""
        ref = self._refs.get(given)
        return self.observation.element(ref) if ref is not None else None


class ElementIds:
    """The ids of one live session, and what its caller was told about each element."""

    def __init__(self, plain: Callable[[str], str] = str) -> None:
        """plain: takes secrets out of a text for the caller."""
        self._plain = plain
        self._ids: dict[str, str] = {}
        """By identity; those that were seen last are at the end."""
        self._told: dict[str, Element] = {}
        """By id: the element as the caller saw it last."""
        self._last: Named | None = None
        self._own: dict[str, str] = {}
        """The identities of its elements, by ref."""
        self._count = 0

    def name(self, observation: Observation, identities: Mapping[str, str]) -> Named:
        """``observation`` with ids. identities: ``Page.identities`` of it."""
        own = {item.ref: identities.get(item.ref) or _likeness(item, observation) for item in observation.elements}
        built = self._built_anew(observation, own)
        found: dict[str, str] = {}
        for ref, identity in own.items():
            if given := self._ids.pop(identity, "") or built.get(ref):
                found[ref] = self._ids[identity] = given
        self._own = own
        self._last = Named(observation, found, lambda ref: self._next(own[ref]))
        return self._last

    def _built_anew(self, observation: Observation, own: Mapping[str, str]) -> dict[str, str]:
        """Ids for elements that the page has removed and built anew, by their new refs.

        Scripts redraw whole lists. The new elements have the ids of the old ones if both mean the same and are equal in number.
        At another address only links keep their ids: their target says what they mean, wherever they stand.
        """
        last = self._last
        if last is None:
            return {}
        same = _address(last.observation) == _address(observation)
        now, before = set(own.values()), set(self._own.values())
        lost, new = defaultdict[Meaning, list[str]](list), defaultdict[Meaning, list[str]](list)
        for element in last.observation.elements:
            if (same or element.link) and self._own[element.ref] not in now:
                lost[_meaning(element)].append(last.given.get(element.ref, ""))
        for element in observation.elements if lost else ():
            if own[element.ref] not in before and own[element.ref] not in self._ids:
                new[_meaning(element)].append(element.ref)
        return {
            ref: given
            for meaning, refs in new.items()
            if len(lost[meaning]) == len(refs)
            for ref, given in zip(refs, lost[meaning], strict=True)
            if given
        }

    def _next(self, identity: str) -> str:
        assert self._last is not None, "ids are given to the elements of a page"
        self._count += 1
        self._ids[identity] = given = f"e{self._count}"
        while len(self._ids) > max(limits.ELEMENT_IDS_MAX, len(self._last.given) + 1):
            self._told.pop(self._ids.pop(next(iter(self._ids))), None)  # those of this page stand at the end
        return given

    def told(self, given: str) -> Element | None:
        """The element with the id ``given`` as the caller saw it last; None if it was not shown."""
        return self._told.get(given)

    def tell(self, named: Named, given: Iterable[str]) -> None:
        """Note that the caller sees these elements of ``named`` now, by their ids."""
        for each in given:
            if (element := named.element(each)) is not None:
                self._told[each] = element

    def element(self, given: str, named: Named) -> Element:
        """The element with the id ``given`` on the page ``named``.

        Errors: ``input.invalid`` (not an id), ``live.stale_ref`` (the caller was not shown this element, it is gone, or it says
        something else than the caller was shown; the error says what it says now).
        """
        if _ID.fullmatch(given) is None:
            raise MeshError("input.invalid", f"{given[:40]!r} is not an id of an element; an id looks like e17")
        told, now = self._told.get(given), named.element(given)
        if told is None:
            raise MeshError("live.stale_ref", f"{given} was not shown: look for the element first", ref=given)
        if now is None:
            raise MeshError("live.stale_ref", f"{given} {self._words(told)} is not on the page now", ref=given)
        if _meaning(told) != _meaning(now):
            self._told[given] = now
            raise MeshError(
                "live.stale_ref", f"{given} was {self._words(told)} and is {self._words(now)} now", ref=given
            )
        return now

    def locator(self, given: str, named: Named) -> Locator:
        """The locator of the element with the id ``given`` on the page ``named``. Errors: those of ``element``."""
        return locate(self.element(given, named), named.observation)

    def _words(self, element: Element) -> str:
        name, context = (self._plain(text)[:_SAID_CHARS_MAX] for text in (element.name, element.context))
        return element.role + (f" “{name}”" if name else "") + (f" in “{context}”" if context else "")


Meaning = tuple[str, str, str, str, str]


def _meaning(element: Element) -> Meaning:
    """The properties by which a caller means an element. Its value and its states do not matter: an action changes them."""
    return element.role, element.name, element.context, element.url, element.frame


def _address(observation: Observation) -> str:
    return observation.url.partition("#")[0]


def _likeness(element: Element, observation: Observation) -> str:
    """The identity of an element without one of its own: its place among those that look alike at its address."""
    alike = [item.ref for item in observation.alike(element)]
    return "\n".join((_address(observation), element.frame, element.role, element.name, str(alike.index(element.ref))))
