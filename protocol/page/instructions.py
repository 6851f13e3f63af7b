"""Text of a page that speaks to the model that reads it: findings, never a reason to act. Pure. docs/adr/0045.

Words that such text needs are looked for first, all at once; only around them the rules are tried. Each rule is of literal words
with bounded gaps, so the time is linear in the text.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import re
from collections.abc import Iterator
from typing import Final

import ahocorasick
import msgspec

from protocol.page.instruction_rules import RULES
from protocol.page.names import visible
from protocol.page.readings import FOLDED, Folded, Reading, decoded, said

POINTS_MIN: Final = 4
"""So many points make a finding of text that a person can see."""
POINTS_MIN_HIDDEN: Final = 2
"""Of text that nobody sees but a program."""
FINDINGS_MAX: Final = 50
_QUOTE_CHARS_MAX: Final = 160
_NEAR_CHARS: Final = 240
_STEMS: Final = (  # an underscore stands for a space, but for names of tools
    "ignor disregard forget bypass overrid overrule supersed neglect missacht vergiss oubli olvida dimentica follow bound"
    " instruct directive safety security mode pretend restrict filter polic unrestrict uncensor unfilter jailbr anything"
    " im_start im_end endoftext system [inst <<sys thinking> assist agent chatbot bot llm gpt crawler claude gemini copilot"
    " readers before you reveal prompt verbatim context credential password secret api attacker send_ mail forward upload"
    " exfiltrat webhook externally call_ invoke execute delete empty wipe append include insert angehangt hinzugefugt"
    " aggiunto ajoute anadirse do_not don't never without decode decrypt rot13 base64 memory remember persist comply obey"
    " from_now guideline richtlin regeln regle reglas regole linee_guida anweisung istruzion instruccion consigne document"
    " leak dump configuration admin modo modus modalita restric restriz einschr filtr sans sin_ senza ohne discard abandon"
    " set_aside drop void constraint limit exempt granted skip reply response summar review kundendaten clients clientes"
    " clienti passwor send"
)
_OTHER_WAYS: Final = {"snoitcurtsni": "reversed", "erongi": "reversed", "vtaber": "rot13", "vafgehpgvba": "rot13"}
_LEET: Final = str.maketrans("013457@$", "oieastas")
_CODED: Final = re.compile(r"[A-Za-z0-9+/_-]{24,}={0,6}|(?:[01]{8}[ ,]?){12,}")
_TAGS: Final = re.compile("[\U000e0020-\U000e007e]{4,}")
_SPELT: Final = re.compile(r"(?<!\w)\w(?: \w(?!\w)){3,}")
_WORDY: Final = re.compile(r"[A-Za-z]{2,} [A-Za-z]{2,} ?[A-Za-z]*")


def _words() -> ahocorasick.Automaton:
    automaton = ahocorasick.Automaton()
    stems = (one if one.startswith(("im_", "send_")) else one.replace("_", " ") for one in _STEMS.split())
    for stem in {*stems, *_OTHER_WAYS}:
        automaton.add_word(stem, stem)
    automaton.make_automaton()
    return automaton


_AUTOMATON: Final = _words()


class Instruction(msgspec.Struct, frozen=True, kw_only=True):
    """Text that speaks to a model."""

    rules: tuple[str, ...]
    """Which rules fit: override, persona, mark, addressed, reveal, send, tool, reply, hide, decode, memory, comply."""
    line: int
    """Of the text, from 1."""
    quote: str
    """What it says, cut; what cannot be seen in it is shown by its code."""
    hidden: bool = False
    """Whether it was encoded, or in characters that nobody sees."""


def instructions_in(text: str, *, hidden: bool = False) -> tuple[Instruction, ...]:
    """What of ``text`` speaks to a model, at most ``FINDINGS_MAX``. hidden: whether no person sees the text."""
    reading = said(Reading(text))
    found: list[Instruction] = []
    for start, end, rules in _scan(reading, hidden=hidden):
        found.append(_finding(text, *reading.parts(start, end)[0], rules, hidden=hidden))
    if (escaped := decoded(reading)) is not None:
        for start, end, rules in _scan(escaped, hidden=True):
            first, last = escaped.parts(start, end)[0][0], escaped.parts(start, end)[-1][1]
            if escaped.text[start:end] not in text[first:last]:  # without an escape in it, it is not hidden
                found.append(_finding(text, first, last, rules, hidden=True))
    for start, end, plain in _coded(text):
        for *_, rules in _scan(Reading(plain), hidden=True):
            found.append(_finding(text, start, end, rules, hidden=True))
    kept = {(one.line, one.rules): one for one in reversed(found)}
    return tuple(sorted(kept.values(), key=lambda one: one.line))[:FINDINGS_MAX]


def _finding(text: str, start: int, end: int, rules: tuple[str, ...], *, hidden: bool) -> Instruction:
    quote = " ".join(text[start : min(end, start + 4 * _QUOTE_CHARS_MAX)].split())
    line = text.count("\n", 0, start) + 1
    return Instruction(rules=rules, line=line, quote=visible(quote)[:_QUOTE_CHARS_MAX], hidden=hidden)


def _scan(reading: Reading, *, hidden: bool) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Where in ``reading`` rules of enough points fit within ``_NEAR_CHARS`` of each other."""
    folded = Folded(reading, FOLDED)
    needed = POINTS_MIN_HIDDEN if hidden else POINTS_MIN
    for begin, stop in _windows(folded.text):
        hits = sorted(
            (match.start(), match.end(), name, points)
            for name, points, pattern in RULES
            for match in pattern.finditer(folded.text, begin, stop)
        )
        at = 0
        while at < len(hits):
            group = [hits[at]]
            while at + len(group) < len(hits) and hits[at + len(group)][0] - group[-1][1] < _NEAR_CHARS // 2:
                group.append(hits[at + len(group)])
            at += len(group)
            best: dict[str, int] = {}
            for _, _, name, points in group:
                best[name] = max(best.get(name, 0), points)
            if sum(best.values()) >= needed:
                start, end = group[0][0], max(one[1] for one in group)
                yield *folded.under_span(start, end), tuple(sorted(best))


def _windows(text: str) -> Iterator[tuple[int, int]]:
    """What lies near a word that a rule needs."""
    begin = stop = -1
    for last, _ in _AUTOMATON.iter(text):
        if last - _NEAR_CHARS > stop:
            if stop > 0:
                yield max(begin, 0), stop
            begin = last - _NEAR_CHARS
        stop = last + _NEAR_CHARS
    if stop > 0:
        yield max(begin, 0), stop


def _coded(text: str) -> Iterator[tuple[int, int, str]]:
    """What is written in another way, and what it says: in tags, spelt, reversed, shifted, with digits for letters, in base64,
    base32, hexadecimal or binary.
    """
    for match in _TAGS.finditer(text):
        yield *match.span(), "".join(chr(ord(char) - 0xE0000) for char in match[0])
    for match in _CODED.finditer(text):
        if plain := _decoded(match[0]):
            yield *match.span(), plain
    lowered = text.lower()
    for word, way in _OTHER_WAYS.items():
        for found in re.finditer(word, lowered):
            start, end = max(found.start() - _NEAR_CHARS, 0), found.end() + _NEAR_CHARS
            part = lowered[start:end]
            yield start, min(end, len(text)), part[::-1] if way == "reversed" else codecs.decode(part, "rot13")
    for match in _SPELT.finditer(text):
        start, end = match.start(), min(match.end() + _NEAR_CHARS, len(text))
        yield start, end, match[0].replace(" ", "") + text[match.end() : end]
    leet = lowered.translate(_LEET)
    if leet != lowered and (
        ("ignore" in leet and "ignore" not in lowered) or ("instruct" in leet and "instruct" not in lowered)
    ):
        at = max(leet.find("ignore"), 0)
        yield at, min(at + _NEAR_CHARS, len(text)), leet


def _decoded(coded: str) -> str:
    """The words that a piece of text holds in some encoding; empty if it holds none."""
    bare = coded.rstrip("=")
    ways = (
        lambda: bytes.fromhex(bare) if re.fullmatch(r"(?:[0-9a-fA-F]{2})+", bare) else b"",
        lambda: bytes(int(one, 2) for one in re.findall("[01]{8}", coded)) if set(coded) <= set("01 ,") else b"",
        lambda: base64.b32decode(bare + "=" * (-len(bare) % 8)) if re.fullmatch("[A-Z2-7]+", bare) else b"",
        lambda: base64.b64decode(bare + "=" * (-len(bare) % 4), altchars=b"-_" if "-" in bare or "_" in bare else None),
    )
    for way in ways:
        try:
            plain = way().decode()
        except (binascii.Error, ValueError):
            continue
        if _WORDY.search(plain) and plain.isprintable():
            return plain
    return ""
