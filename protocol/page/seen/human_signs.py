"""The signs by which a page asks its visitor to prove to be a person: pattern, weight, reason. Read by ``turned_away``.

Patterns match text in lower case without accents. A sign of weight 2 is a request to prove something; a sign of weight 1 only names
the subject, which an article may do as well. The words are those of the languages in which such pages are written most. A page in
another language is found by its form: see ``turned_away``.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_GAP: Final = r"\W{1,8}(?:\w{1,24}\W{1,8}){0,%d}"

_PROVE: Final = (
    r"(?:verify|verifying|prove|confirm|make sure|ensure|check(?:ing)?|show us|bestatig\w{1,3}|beweis\w{1,3}|prufen|uberprufen|verifizier\w{1,3}"
    r"|verifi\w{1,4}|confirm\w{1,4}|prouv\w{1,3}|assurer|comprueb\w{1,3}|comprob\w{1,3}|demuestr\w{1,3}|asegur\w{1,5}|conferm\w{1,4}"
    r"|dimostr\w{1,4}|comprov\w{1,3}|controleer|bevestig\w{0,3}|potwierdz\w{0,3}|podtverdi\w{1,4}|подтверд\w{1,4}|убедит\w{1,5}|докажит\w{1,3})"
)
_PERSON: Final = (
    r"(?:humans?|humanity|a (?:real )?person|not an? (?:robot|bot)|kein(?:e|en)? (?:robot\w{0,3}|bot)|ein mensch|mensch(?:lich)?"
    r"|humain\w{0,2}|pas un robot|human[oa]|no (?:eres|soy|es) un robot|uman[oi]|non sei un robot|nao e um robo|ser humano"
    r"|een mens|geen robot|czlowiekiem|robotem|человек\w{0,3}|не робот)"
)


class Sign(NamedTuple):
    """One sign."""

    pattern: re.Pattern[str]
    weight: int
    reason: str
    """Continues the sentence “the page …”."""


def _sign(weight: int, reason: str, pattern: str) -> Sign:
    return Sign(re.compile(pattern), weight, reason)


SIGNS: Final[tuple[Sign, ...]] = (
    _sign(2, "asks to prove that a person is there", rf"\b{_PROVE}{_GAP % 5}{_PERSON}\b"),
    _sign(
        2,
        "asks if its visitor is a person",
        r"\bare you (?:an? )?(?:human|robot|bot|real person)\b|\bsind sie ein (?:mensch|roboter)\b",
    ),
    _sign(
        2,
        "has a box to say that no robot is there",
        r"\bi(?:'|’)?\s?a?m (?:not a robot|human)\b|\bich bin (?:kein roboter|ein mensch)\b|\bje ne suis pas un robot\b|\bno soy un robot\b|\bnon sono un robot\b|\bnao sou um robo\b|\bik ben geen robot\b|\bnie jestem robotem\b|я не робот|我不是机器人|ロボットではありません",
    ),
    _sign(
        2,
        "checks the browser before it lets it in",
        r"\b(?:checking|verifying|reviewing|validating)\b(?:\W{1,3}\w{1,16}){0,3}\W{1,3}(?:browser|connection)\b|\b(?:review|verify|check)\b(?:\W{1,3}\w{1,16}){0,2}\W{1,3}security of your connection\b|\b(?:browser|verbindung)\b(?:\W{1,3}\w{1,16}){0,3}\W{1,3}(?:uberpruft|gepruft)\b",
    ),
    _sign(
        2,
        "says that its visitor looks like a program",
        r"\b(?:unusual|suspicious|automated|abnormal|robotic) (?:\w{1,16} ){0,2}(?:traffic|requests?|queries|activity|access|behaviou?r)\b|\b(?:ungewohnlich\w{0,3}|automatisiert\w{0,3}) (?:datenverkehr|zugriff\w{0,2}|anfragen)\b|\btrafic (?:inhabituel|suspect)\b|\btrafico (?:inusual|sospechoso)\b|\btraffico (?:insolito|anomalo)\b",
    ),
    _sign(
        2,
        "asks for the characters of a picture",
        r"\b(?:enter|type|copy|write|input)\b(?:\W{1,3}\w{1,16}){0,3}\W{1,3}(?:characters|letters|text|code|digits|words?)\b(?:\W{1,3}\w{1,16}){0,4}\W{1,3}(?:image|picture|you see|shown|displayed|below)\b",
    ),
    _sign(
        2,
        "asks to press, slide or choose something that a program finds hard",
        r"\bpress (?:and|&) hold\b|\b(?:slide|drag)\b(?:\W{1,3}\w{1,16}){0,6}\W{1,3}(?:puzzle|slider|verify|secure|unlock|complete)\b|\bselect all (?:images|squares|pictures)\b",
    ),
    _sign(1, "speaks of a captcha", r"\w{0,12}captcha\b|\bturnstile\b"),
    _sign(
        1,
        "speaks of a security check",
        r"\bsecurity (?:check|verification|challenge)\b|\bsicherheits(?:uberprufung|abfrage)\b|\bcontrole de securite\b",
    ),
    _sign(1, "asks to wait a moment", r"\b(?:just|one) (?:a )?moment\b|\beinen moment\b|\bun instant\b|\bun momento\b"),
    _sign(1, "denies access", r"\baccess (?:denied|to this page has been denied)\b|\battention required\b"),
)
