"""Finds text of a page that addresses the model that reads it. A finding is never a reason to act. Pure. docs/adr/0044.

First, one search finds all words that such text needs. A rule is tried only near a word of each of its groups
(``instruction_needs``). A rule consists of literal words with bounded gaps, so the time is linear in the text.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from typing import Final

import ahocorasick
import msgspec

from protocol.page.instructions import instruction_families, instruction_rules
from protocol.page.instructions.instruction_needs import needs
from protocol.page.instructions.readings import FOLDED, Folded, TextReading, decoded, said
from protocol.page.seen.names import visible

POINTS_MIN: Final = 4
"""The points from which visible text is a finding."""
POINTS_MIN_HIDDEN: Final = 2
"""The points from which text that only a program sees is a finding."""
FINDINGS_MAX: Final = 50
_QUOTE_CHARS_MAX: Final = 160
_PIECE_CHARS: Final = 96 * 1024
_MARGIN_CHARS: Final = 4 * 1024
"""The characters before and after a piece of text that are read with it."""
_NEAR_CHARS: Final = 240
_BEFORE_CHARS: Final = 140
_AFTER_CHARS: Final = 160
"""The characters after a needed word in which rules are tried."""
_CELL_CHARS: Final = 64
_STEMS: Final = {
    "override": "ignor disregard forget bypass overrid overrule supersed neglect discard abandon set_aside no_attention void drop"
    " missacht vergiss oubli olvida dimentica not_follow stop_following not_bound new_ updated_ real_ actual_ true_"
    " your_new your_real your_true your_only your_sole your_safe your_guard your_restr your_filter your_limit end_of"
    " new_user new_query new_prompt what_you safety_ security_ content_p content_f content_r your_rules your_instruct"
    " your_guide your_polic your_task your_role",
    "persona": "you_are_now you_are_no developer desarrollador sviluppatore developpeur entwickler jailbr unrestrict uncensor"
    " unfilter god_mode god-mode dan_mode modo_ modalita restric restriz no_filter any_filter no_limit any_limit"
    " no_rules any_rules without_any without_filter without_limit content_policy no_content no_guideline filtro filtri"
    " filtre act_as censorship einschr beschrank regeln anything_now limiti",
    "mark": "im_start im_end endoftext |system <system [system [inst [/sys [/inst <<sys thinking> system_prompt> instruction"
    " system: assistant: developer: system_ systemhinweis systemnachricht sistema systeme begin_of end_of start_of"
    " (assistant (ai) (model (agent (llm",
    "addressed": "_ai ai_ ai. _bot bot_ chatbot chat_bot _llm gpt assist agent claude gemini copilot language_model crawler"
    " readers _ki _ia ia_",
    "moment": "when_you whenever_you before_you before_res before_rep before_ans before_con before_sum instead_of in_place"
    " summari describ review translat",
    "reveal": "prompt instruction context_window system_message words_above internal_conf credential api_key api-key apikey"
    " password environment secret admin_page private above so_far preceding before_this your_tools your_func your_plug"
    " your_conf your_mem your_avail your_int your_own your_cont contents_of your_cred your_cur",
    "send": "password credential api_key api-key apikey secret token cookie environment customer user_ user's conversation"
    " chat_history session private confidential internal order_data database donnees kundendaten datos dati contrasena"
    " passwort mots_de_passe summary ssh_key history memory context_w you_to ![ the_user",
    "tool": "send~ delete~ remove~ http~ post~ write~ read~ exec~ run~ fetch~ create~ update~ transfer~ upload~ download~"
    " the_following this_ 169.254 file:// localhost metadata. execute~ shell~ forward~ get~ list~ search~ delete_"
    " empty_ remove_ wipe overwrite",
    "reply": "append include_ insert prepend mention begin_ end_of ende_ hinzugefugt angehangt aggiunto ajoute anadirse repeat"
    " fine_ fin_ in_your in_every in_each echo_ quote_ add_ only_ exactly_ just_ instead",
    "hide": "do_not don't never without",
    "decode": "decode decrypt translate unscramble deobfuscate",
    "memory": "remember memory memori persist retain",
    "comply": "comply obey from_now without_ grant_all exempt disregard granted skip_all this_point here_on henceforth",
}
"""Words that text needs for the rules of a name; an underscore stands for a space, a tilde for an underscore."""
_OTHER_WAYS: Final = {"snoitcurtsni": "reversed", "erongi": "reversed", "vtaber": "rot13", "vafgehpgvba": "rot13"}
_LEET: Final = str.maketrans("013457@$", "oieastas")
_CODED_CHARS_MIN: Final = 24
_CODED: Final = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{24,}={0,6}")
_BINARY: Final = re.compile(r"(?<![A-Za-z0-9+/_-])[01]{8}(?:[ ,][01]{8}){11,}")
_BINARY_BEGINS: Final = re.compile(r"[01]{8}[ ,][01]{8}")
_CODED_85_CHARS_MIN: Final = 24
_CODED_85: Final = re.compile(
    r"<~[!-u]{20,4000}~>|(?<![!-~])(?=[\w-]{0,40}[!#$%&()*+;<>?@^`{|}~])[\w!#$%&()*+;<=>?@^`{|}~-]{40,4000}(?![!-~])"
)
_MORSE: Final = re.compile(r"(?<![.\-/])[.-]{1,6}(?:[ ]{1,2}(?:/ {1,2})?[.-]{1,6}){19,2000}(?![.\-/])")
_MORSE_BEGINS: Final = re.compile(r"[.-] {1,2}(?:/ {1,2})?[.-]{1,6} {1,2}(?:/ {1,2})?[.-]")
_MORSE_CODES: Final = (
    ".- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. -- -. --- .--. --.- .-. ... - ..- ...- .-- -..- -.-- --.."
    " ----- .---- ..--- ...-- ....- ..... -.... --... ---.. ----."
)
_MORSE_LETTERS: Final = dict(zip(_MORSE_CODES.split(), "abcdefghijklmnopqrstuvwxyz0123456789", strict=True))
_TAGS: Final = re.compile("[\U000e0020-\U000e007e]{4,}")
_SPELT: Final = re.compile(r"(?<!\w)\w(?: \w(?!\w)){3,}")
_SPELT_BEGINS: Final = re.compile(r" \w \w(?!\w)")
_WORDY: Final = re.compile(r"(?<![A-Za-z])[A-Za-z]{2,24} [A-Za-z]{2,24}(?![A-Za-z])")


@cache
def _stems() -> dict[str, set[str]]:
    """The names of the rules that need a word, by the word."""
    names: dict[str, set[str]] = {}
    for name, stems in (*_STEMS.items(), *instruction_families.STEMS.items()):
        for stem in stems.split():
            stem = stem if stem.startswith("im_") else stem.replace("_", " ").replace("~", "_")
            names.setdefault(stem, set()).add(name)
    return names


def needed_words() -> tuple[str, ...]:
    """Words of which a text that addresses a model contains at least one, without case and accents, or written backwards or
    shifted. A word can begin or end with a space, or contain one. Text in another code contains none of them.
    """
    return (*_stems(), *_OTHER_WAYS)


class _Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One expression of a rule name."""

    points: int
    pattern: str
    needed: int
    """One bit for each group of words that the text needs."""

    @property
    def fits(self) -> re.Pattern[str]:
        return _compiled(self.pattern)


class _Words(msgspec.Struct, frozen=True, kw_only=True):
    """The words that are searched for before a rule is tried."""

    automaton: ahocorasick.Automaton
    """For each word, the names of the rules that need it, and the bits of its groups."""
    rules: dict[str, tuple[_Rule, ...]]
    """By name."""


_compiled = cache(re.compile)
"""Compiles a rule when it is first tried: compiling all takes longer than a short command, which tries few."""


@cache
def _words() -> _Words:
    names = _stems()
    groups: dict[frozenset[str], int] = {}
    rules: dict[str, list[_Rule]] = {name: [] for name in _STEMS}
    for name, points, pattern in instruction_rules.PATTERNS:
        needed = 0
        for group in needs(pattern):
            needed |= groups.setdefault(group, 1 << len(groups))
        rules[name].append(_Rule(points=points, pattern=pattern, needed=needed))
    bits: dict[str, int] = {}
    for group, bit in groups.items():
        for word in group:
            bits[word] = bits.get(word, 0) | bit
    automaton = ahocorasick.Automaton()
    for word in names.keys() | bits.keys():
        automaton.add_word(word, (tuple(sorted(names.get(word, ()))), bits.get(word, 0)))
    automaton.make_automaton()
    return _Words(automaton=automaton, rules={name: tuple(own) for name, own in rules.items()})


class Instruction(msgspec.Struct, frozen=True, kw_only=True):
    """A text that addresses a model."""

    rules: tuple[str, ...]
    """The names of the rules that fit: override, persona, mark, addressed, reveal, send, tool, reply, hide, decode, memory, comply.
    """
    line: int
    """Line of the text, from 1."""
    quote: str
    """The text, cut; invisible characters are shown by their codes."""
    hidden: bool = False
    """True if it was encoded, or in characters that nobody sees."""


def instructions_in(text: str, *, hidden: bool = False) -> tuple[Instruction, ...]:
    """The parts of ``text`` that address a model, at most ``FINDINGS_MAX``. hidden: True if no person sees the text."""
    finding = _Findings(text).finding
    kept: dict[tuple[int, tuple[str, ...]], Instruction] = {}
    for begin, first, last, stop in _pieces(text):
        for start, end, rules, unseen in _found(text[begin:stop], hidden=hidden):
            if first <= begin + start < last:
                one = finding(begin + start, begin + end, rules, hidden=unseen)
                kept.setdefault((one.line, one.rules), one)
        if len(kept) >= FINDINGS_MAX:
            break
    return tuple(sorted(kept.values(), key=lambda one: one.line))[:FINDINGS_MAX]


def _pieces(text: str) -> Iterator[tuple[int, int, int, int]]:
    """Pieces of ``text`` as (begin, first, last, stop). A finding in a piece counts if it begins between ``first`` and ``last``.

    Pieces are short because a regular expression blocks every thread, and because the map from a reading to its text takes a
    hundred bytes for each character.
    """
    first = 0
    while first < len(text) or not first:
        last = min(first + _PIECE_CHARS, len(text))
        if last < len(text):
            # Pieces end between lines if possible: a cut inside a word would break encoded text.
            last = max(text.rfind("\n", last - _MARGIN_CHARS, last), last - _MARGIN_CHARS) + 1
        yield max(first - _MARGIN_CHARS, 0), max(first - 2 * _NEAR_CHARS, 0), last, min(last + _MARGIN_CHARS, len(text))
        first = last
        if not text:
            return


def _found(text: str, *, hidden: bool) -> Iterator[tuple[int, int, tuple[str, ...], bool]]:
    """The parts of ``text`` that address a model, each with its rules, and True if it is hidden."""
    reading = said(TextReading(text))
    for start, end, rules in _scan(reading, hidden=hidden):
        parts = reading.parts(start, end)
        begin = next((one for one, other in parts if text[one:other].strip()), parts[0][0])
        yield begin, parts[-1][1], rules, hidden
    if (escaped := decoded(reading)) is not None:
        for start, end, rules in _scan(escaped, hidden=True):
            first, last = escaped.parts(start, end)[0][0], escaped.parts(start, end)[-1][1]
            if escaped.text[start:end] not in text[first:last]:  # without an escape inside, the text is not hidden
                yield first, last, rules, True
    for start, end, plain in _coded(text):
        for *_, rules in _scan(TextReading(plain), hidden=True):
            yield start, end, rules, True


class _Findings:
    """The findings in one text."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _ends(self) -> list[int]:
        """The ends of lines, computed once: counting lines for each finding would take quadratic time."""
        return [match.start() for match in re.finditer("\n", self._text)]

    def finding(self, start: int, end: int, rules: tuple[str, ...], *, hidden: bool) -> Instruction:
        text = self._text
        start += len(text[start:end]) - len(text[start:end].lstrip())
        quote = " ".join(text[start : min(end, start + 4 * _QUOTE_CHARS_MAX)].split())
        line = bisect_left(self._ends, start) + 1
        return Instruction(rules=rules, line=line, quote=visible(quote)[:_QUOTE_CHARS_MAX], hidden=hidden)


def _scan(reading: TextReading, *, hidden: bool) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """The places in ``reading`` where rules with enough points fit within ``_NEAR_CHARS`` of each other."""
    folded = Folded(reading, FOLDED)
    needed = POINTS_MIN_HIDDEN if hidden else POINTS_MIN
    hits = sorted(
        (match.start(), match.end(), name, rule.points)
        for name, rule, begin, stop in _fitting(folded.text)
        for match in rule.fits.finditer(folded.text, begin, stop)
    )
    at = 0
    while at < len(hits):
        begin, last = hits[at][:2]
        best: dict[str, int] = {}
        while at < len(hits) and (
            not best or (hits[at][0] - last < _NEAR_CHARS // 2 and hits[at][1] - begin < 2 * _NEAR_CHARS)
        ):
            _, end, name, points = hits[at]
            best[name] = max(best.get(name, 0), points)
            last = max(last, end)
            at += 1
        if sum(best.values()) >= needed:
            yield *folded.under_span(begin, last), tuple(sorted(best))


def _fitting(text: str) -> Iterator[tuple[str, _Rule, int, int]]:
    """Rules by name, and parts of ``text`` that hold a word of each group that the rule needs."""
    found, cells = _windows(text)
    for name, windows in found.items():
        rules = _words().rules[name]
        for begin, stop in windows:
            held = 0
            for bits in cells[begin // _CELL_CHARS : stop // _CELL_CHARS + 1]:
                held |= bits
            for rule in rules:
                if held & rule.needed == rule.needed:
                    yield name, rule, begin, stop


def _windows(text: str) -> tuple[dict[str, list[tuple[int, int]]], list[int]]:
    """The parts of ``text`` near a needed word, by the name of the rules; and the bits of the groups found in each cell of
    ``_CELL_CHARS`` characters.
    """
    found: dict[str, list[tuple[int, int]]] = {}
    cells = [0] * (len(text) // _CELL_CHARS + 1)
    for last, (names, bits) in _words().automaton.iter(text):
        if bits:
            cells[last // _CELL_CHARS] |= bits
        for name in names:
            windows = found.setdefault(name, [])
            begin, stop = max(last - _BEFORE_CHARS, 0), last + _AFTER_CHARS
            if windows and windows[-1][1] >= begin:
                windows[-1] = (windows[-1][0], stop)
            else:
                windows.append((begin, stop))
    return found, cells


def _coded(text: str) -> Iterator[tuple[int, int, str]]:
    """Encoded parts of the text, each with its decoded text: in tags, spelt, reversed, shifted, with digits for letters, in base64,
    base32, base85, hexadecimal, binary or Morse code.
    """
    if not text.isascii():
        for match in _TAGS.finditer(text):
            yield *match.span(), "".join(chr(ord(char) - 0xE0000) for char in match[0])
    for start, end in _long_words(text):
        for match in _CODED.finditer(text, start, end):
            if plain := _decoded(match[0]):
                yield *match.span(), plain
        for match in _CODED_85.finditer(text, start, end) if end - start >= _CODED_85_CHARS_MIN else ():
            if plain := _decoded_85(match[0]):
                yield *match.span(), plain
    for match in _BINARY.finditer(text) if _BINARY_BEGINS.search(text) else ():
        if plain := _decoded(match[0]):
            yield *match.span(), plain
    for match in _MORSE.finditer(text) if _MORSE_BEGINS.search(text) else ():
        said_words = (word.split() for word in match[0].split("/"))
        yield *match.span(), " ".join("".join(_MORSE_LETTERS.get(code, "?") for code in word) for word in said_words)
    lowered = text.lower()
    for word, way in _OTHER_WAYS.items():
        covered = 0
        for found in re.finditer(word, lowered):
            start, end = max(found.start() - _NEAR_CHARS, 0), found.end() + _NEAR_CHARS
            if found.start() < covered:
                continue
            covered = end
            part = lowered[start:end]
            yield start, min(end, len(text)), part[::-1] if way == "reversed" else codecs.decode(part, "rot13")
    covered = 0
    for match in _SPELT.finditer(text) if _SPELT_BEGINS.search(text) else ():
        # Windows overlap by half, so text that begins in the first half is read whole, and each character is read twice at most.
        if match.start() >= covered:
            start, covered = match.start(), match.end() + _NEAR_CHARS
            end = min(covered + _NEAR_CHARS, len(text))
            yield start, end, _SPELT.sub(lambda found: found[0].replace(" ", ""), text[start:end])
    leet = lowered.translate(_LEET)
    if leet != lowered and (
        ("ignore" in leet and "ignore" not in lowered) or ("instruct" in leet and "instruct" not in lowered)
    ):
        at = max(leet.find("ignore"), 0)
        yield at, min(at + _NEAR_CHARS, len(text)), leet


def _long_words(text: str) -> Iterator[tuple[int, int]]:
    """The words that are long enough to be encoded text."""
    at = 0
    for word in text.split():
        if len(word) >= _CODED_CHARS_MIN:
            at = text.index(word, at)
            yield at, at + len(word)
            at += len(word)


def _decoded(coded: str) -> str:
    """The words that a piece of text holds in some encoding; empty if it holds none."""
    bare = coded.rstrip("=")
    ways: tuple[Callable[[], bytes], ...] = (
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


def _decoded_85(coded: str) -> str:
    """The words that ``coded`` holds in ASCII85 or base85; empty if it holds none."""
    ascii85 = coded.startswith("<~")
    try:
        plain = (base64.a85decode(coded, adobe=True) if ascii85 else base64.b85decode(coded)).decode()
    except ValueError:
        return ""
    return plain if _WORDY.search(plain) and plain.isprintable() else ""
