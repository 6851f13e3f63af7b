"""Numbers the traps and puts them into families."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Trap:
    """One control on the page of its family."""

    number: int
    family: int
    markup: str
    writes: tuple[str, ...] = ()
    """``METHOD PATH`` of the requests that change something; ``METHOD PATH ~ TEXT`` of those whose body holds the text."""
    idiom: bool = False
    """True if its page has the scripts that stand for frameworks."""


class Maker:
    """Numbers the traps."""

    def __init__(self) -> None:
        self.made: list[Trap] = []
        self.family = 0

    def begin(self) -> None:
        """The next family."""
        self.family += 1

    def begin_development(self) -> None:
        """The next family of the development part."""
        self.family += 2 - self.family % 2

    @property
    def next(self) -> int:
        """The number of the next trap."""
        return len(self.made) + 1

    def add(self, markup: str, *writes: str, idiom: bool = False) -> None:
        """``{n}`` is its number."""
        number = self.next
        put = str(number)
        self.made.append(
            Trap(
                number=number,
                family=self.family,
                markup=markup.replace("{n}", put),
                writes=tuple(each.replace("{n}", put) for each in writes),
                idiom=idiom,
            )
        )
