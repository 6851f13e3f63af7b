"""The few labels whose kind is fixed, and the pictures that stand for words."""

from __future__ import annotations

from typing import Final

KINDS: Final = ("other", "view", "search", "begin", "change", "pay", "access", "destroy", "card", "secret")
"""The kinds that the text model tells apart; ``scripts/labels/rules.py`` says what each is."""

LEVELS: Final = {"begin": 4, "change": 4, "pay": 5, "access": 6, "destroy": 7, "card": 5, "secret": 6, "clear": 7}
"""The class of a control, or of a field, that says it; the other kinds say nothing. ``clear`` is of fixed labels only, for what may
empty a choice of filters as well as a store: on a link, or on a button that the browser lets empty its form, it only leans.
"""

CLOSERS: Final = frozenset({
    "cancel", "abbrechen", "annuler", "cancelar", "annulla", "annuleren", "anuluj", "отмена", "取消", "キャンセル", "취소", "إلغاء",
    "close", "schliessen", "fermer", "cerrar", "fechar", "chiudi", "sluiten", "zamknij", "закрыть", "关闭", "關閉", "閉じる",
    "닫기", "إغلاق",
})  # fmt: skip
"""Labels that lead out of a dialog or a form: what is said there is not what they do."""

ASKING: Final = frozenset({
    "how", "what", "why", "when", "where", "who", "which", "can", "could", "does", "do", "is", "are", "will", "wie",
    "was", "warum", "wann", "wo", "wer", "kann", "comment", "pourquoi", "quand", "puis", "como", "cómo", "por", "qué",
    "cuando", "cuándo", "puedo", "come", "perché", "posso", "hoe", "waarom", "kan", "как", "почему", "можно",
})  # fmt: skip
"""Words with which a question begins."""

ANCHORS_MAX: Final = 50
"""The list below is for labels of one or two words that mean several things. It must not grow into a table of words."""
ANCHORS: Final[dict[str, str]] = {
    "reset": "clear", "clear": "clear", "clear all": "clear", "reset all": "clear", "order": "pay", "place the order": "pay",
    "x": "other", "sure": "other", "wishlist": "other", "clear filters": "search", "clear all filters": "search",
    "reset filters": "search", "clear search": "search", "remove filter": "search", "order by": "search",
    "order by price": "search", **dict.fromkeys(CLOSERS, "view"),
}  # fmt: skip
"""English labels of any site, read in full, which the text model would misread."""

PICTURES: Final[dict[str, str]] = {
    "\U0001f5d1": "destroy", "\U0001f6ae": "destroy", "\U0001f4b3": "pay", "\U0001f4b8": "pay", "\U0001f511": "access",
    "\U0001f513": "access",
}  # fmt: skip
"""Pictures that say something grave where no letters stand beside them."""
