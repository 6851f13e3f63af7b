"""The weights of all features of the heuristics, each with its reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from protocol.goal.words import word_set


class Weight(NamedTuple):
    """One feature's weight and why it has it."""

    value: float
    reason: str


WEIGHTS: Final[Mapping[str, Weight]] = {
    # its words
    "words": Weight(3.0, "its name says what the goal is about; rare words on the page count more"),
    "exact": Weight(1.2, "its name says nothing else: a filter or category, not one of many things that mention it"),
    "around": Weight(0.8, "its card or section is about the goal"),
    "address": Weight(0.8, "its address names what the goal is about, though its label may not"),
    "slot": Weight(3.0, "it is named like a value the goal gives word for word"),
    "ordinal": Weight(1.0, "it is the third when the third is asked for"),
    # orders and bounds
    "kind": Weight(1.8, "it names the kind of thing that is wanted (products, entries)"),
    "answers": Weight(2.4, "the goal is a question, and this is where a site answers some"),
    "sort": Weight(2.6, "it brings the list into the order that puts the answer first"),
    "bound": Weight(2.6, "it filters by the bound the goal sets"),
    "fits": Weight(1.0, "its card states numbers within the goal's bounds; breaking one counts against it"),
    "leads": Weight(
        3.0, "in the wanted order and within the bounds it is the first: the answer, as far as the page can tell"
    ),
    "common": Weight(-2.6, "several cards link there: what the things have in common leads away from them"),
    "unsorted": Weight(-4.0, "one of many things while the list is not yet in the wanted order"),
    # fields
    "search": Weight(
        1.7, "typing what is wanted into a search field is a short way on most sites; a fitting link is shorter"
    ),
    "search_slot": Weight(2.4, "a value given word for word is what search fields are for"),
    "shorter_query": Weight(-1.0, "fewer words find more than is wanted: the second try"),
    "slot_key": Weight(2.5, "the field's label is what the goal calls the value"),
    "slot_type": Weight(1.5, "the field takes this kind of value: e-mail, number, date"),
    "wrong_type": Weight(-3.0, "the field takes another kind of value"),
    "stray_fill": Weight(-2.0, "nothing ties this value to this field"),
    "overwrite": Weight(-1.5, "the field holds something already"),
    "enter": Weight(3.2, "a filled search field only needs the key"),
    "submit_ready": Weight(2.8, "the form around it was filled and not yet sent"),
    "submit_early": Weight(-1.6, "nothing was filled in: it leads to where we are, or to an error"),
    # going round in circles
    "applied": Weight(-3.5, "it is chosen already, or the page shows already what it asks for"),
    "here": Weight(-4.0, "it leads to the page we are on"),
    "known": Weight(-2.5, "all it says the page is about already"),
    "undo": Weight(-2.0, "it takes away something the goal wanted: a query or filter is missing from its address"),
    # furniture
    "boilerplate": Weight(-2.2, "help, legal, login and basket links are on every page; not when the goal names them"),
    "machine": Weight(-1.8, "the same in a form for programs or printers; not when the goal asks for it"),
    "home": Weight(-1.5, "back to the start"),
    "frame": Weight(-0.4, "header and footer are the same on every page"),
    "elsewhere": Weight(-2.5, "another site"),
    "more": Weight(0.5, "the next page or more of the list, when nothing better offers"),
    "back": Weight(-1.0, "the previous page of a list was seen on the way here"),
    "nameless": Weight(-1.5, "neither name nor icon words say what it does"),
    "button": Weight(-0.4, "a button more often acts than leads on"),
    "irrelevant_choice": Weight(-1.5, "a box or option that shares nothing with the goal narrows to the wrong things"),
    "side_effect": Weight(-0.8, "per risk class above 1: the harmless one first"),
}

BOILERPLATE: Final = word_set(
    """
    contact privacy cookie term imprint legal policy accessibility login logout sign log register account cart
    basket bag checkout wish wishlist favourite newsletter subscribe unsubscribe preference career press blog
    social facebook instagram twitter language currency feedback sitemap skip copyright
    """
)
MACHINE_WORDS: Final = word_set("json csv xml rss atom yaml sql raw download export print pdf api")
ANSWER_WORDS: Final = word_set("help faq support guide service question information")
MORE_WORDS: Final = frozenset(["next", "more", "older", "forward"])
BACK_WORDS: Final = frozenset(["previous", "prev", "back", "newer"])
