"""What a page of the twin shows: a document, what was typed and chosen in it since, and how an observation lists it."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from urllib.parse import urljoin

import msgspec

from protocol.errors import MeshError
from protocol.page.actions.action import Locator
from protocol.page.actions.locator import hidden, several
from protocol.page.seen.observation import INTERACTIVE_ROLES, Cut, Element, Observation, Tree, truncate
from tests.twins.browser.site import Control, Document

FIELDS = frozenset({"textbox", "searchbox", "spinbutton"})
Mask = Callable[[str], str]


class Shown:
    """The document of a page. Its controls are named by their place in it, and by refs of the last observation."""

    _documents = itertools.count(1)

    def __init__(self, url: str = "about:blank", document: Document | None = None) -> None:
        self.url = url
        self._number = next(self._documents)
        self.document = document or Document(title="")
        self.values: dict[int, str] = {}
        self.checked: dict[int, bool] = {}
        self.active = -1
        """The control that has the focus; -1 for none."""
        self._order: dict[str, int] = {}

    def passwords(self) -> list[str]:
        """What stands in password fields: it is masked wherever the page says it again."""
        controls = enumerate(self.document.controls)
        return [self.value(index) for index, control in controls if control.element.traits.input_type == "password"]

    def value(self, index: int) -> str:
        """What stands in a field."""
        return self.values.get(index, self.document.controls[index].element.value)

    @property
    def was_observed(self) -> bool:
        """Whether its controls have refs."""
        return bool(self._order)

    # --- observing ---

    def identities(self) -> dict[str, str]:
        """``adapters.ports.Page.identities``."""
        seen: Counter[int] = Counter()
        found = {}
        for ref, index in self._order.items():
            control = id(self.document.controls[index])
            seen[control] += 1
            found[ref] = f"{self._number}.{control}.{seen[control]}"
        return found

    def observe(self, mask: Mask) -> Observation:
        """The page now; its refs replace those of the observation before."""
        self._order = {}
        counts: dict[str, int] = {}
        elements: list[Element] = []
        places: list[int] = []
        for index, control in enumerate(self.document.controls):
            places.append(len(elements) if control.listed else -1)
            if not control.listed:
                continue
            frame = control.element.frame
            counts[frame] = counts.get(frame, 0) + 1
            ref = f"{frame}e{counts[frame]}"
            self._order[ref] = index
            elements.append(self._seen(index, ref, mask))
        lines = [
            f'- {item.role} "{item.name}"{_states(item)}' + (f": {item.value}" if item.value else "")
            for item in elements
        ]
        lines.extend(f"- {mask(line)}" for line in self.document.text)
        lines = [" ".join(line.split()) for line in lines]
        return Observation(
            url=mask(self.url),
            title=mask(self.document.title),
            text=truncate("\n".join(lines)),
            elements=tuple(elements),
            lines=tuple(range(len(elements))),
            tree=self._tree(places, mask),
            cut=(Cut(bound="document", left_out=1),) if self.document.unfinished else (),
        )

    def _tree(self, places: list[int], mask: Mask) -> Tree:
        controls = self.document.controls
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

    def _seen(self, index: int, ref: str, mask: Mask) -> Element:
        element = self.document.controls[index].element
        states = set(element.states)
        if index in self.checked:
            states.discard("checked")
            states.update({"checked"} if self.checked[index] else ())
        if index == self.active:
            states.add("active")
        return msgspec.structs.replace(
            element,
            ref=ref,
            name=mask(element.name),
            value="" if element.traits.input_type == "password" else mask(self.value(index)),
            states=tuple(sorted(states)),
            url=mask(urljoin(self.url, element.url)) if element.url else "",
        )

    # --- finding ---

    def find(self, selector: str, frame: str, within: str, mask: Mask) -> Element | None:
        """As ``adapters.ports.Page.find``, for a selector of a known form."""
        every = [
            index
            for index, control in enumerate(self.document.controls)
            if selector in control.selectors and control.element.frame == frame and self._stands(index, within)
        ]
        visible = [index for index in every if not self.document.controls[index].hidden]
        if every and not visible:
            raise hidden(selector)
        if len(visible) > 1:
            raise several(selector, len(visible))
        return self._found(visible[0], frame, mask) if visible else None

    def hindrance(self, target: Locator, ref: str) -> str:
        """As ``adapters.ports.Page.hindrance``."""
        fits = [
            control
            for index, control in enumerate(self.document.controls)
            if (self._order.get(ref) == index if ref else self._meant(control, target))
        ]
        if not fits:
            return ""
        if fits[0].hidden:
            return "it is not displayed (display: none)"
        return "it is disabled" if "disabled" in fits[0].element.states else ""

    @staticmethod
    def _meant(control: Control, target: Locator) -> bool:
        element = control.element
        if target.selectors:
            return target.selectors[0] in control.selectors
        return (element.role, element.name) == (target.role, target.name)

    def _found(self, index: int, frame: str, mask: Mask) -> Element:
        refs = {index: ref for ref, index in self._order.items()}
        if index in refs:
            return self._seen(index, refs[index], mask)
        # No observation lists it: it gets a ref of its own, and says in which listed element it stands.
        ref = f"{frame}x{index}"
        self._order[ref] = index
        around = [other for other in refs if self._stands(index, refs[other]) and self._takes(other)]
        return msgspec.structs.replace(self._seen(index, ref, mask), inside=refs[max(around)] if around else "")

    def _takes(self, index: int) -> bool:
        return self.document.controls[index].element.role in INTERACTIVE_ROLES

    def _stands(self, index: int, within: str) -> bool:
        """Whether a control stands in the one with the ref ``within``."""
        if not within:
            return True
        around = self._order[within]
        between = self.document.controls[around + 1 : index + 1]
        return index > around and all(each.level > self.document.controls[around].level for each in between)

    def target(self, ref: str | None) -> tuple[int, Control]:
        """The control that a ref of the last observation names. Errors: ``action.target_missing``."""
        index = self._order.get(ref or "")
        if index is None:
            raise MeshError("action.target_missing", f"no element {ref} in the last observation")
        return index, self.document.controls[index]

    # --- reading ---

    def lines(self) -> list[str]:
        """Names of all controls, then the loose text."""
        return [*(item.element.name for item in self.document.controls), *self.document.text]

    def read(self, index: int) -> str:
        """What a person reads in a control; nothing in a password field."""
        element = self.document.controls[index].element
        if element.traits.input_type == "password":
            return ""
        return self.value(index) if element.role in FIELDS else element.name

    def painted(self) -> Iterator[str]:
        """What a picture shows."""
        yield from self.document.text
        for index, control in enumerate(self.document.controls):
            if not control.hidden:
                yield control.element.name
                yield self.read(index)


def _states(item: Element) -> str:
    return "".join(f" [{state}]" for state in item.states if state != "active")
