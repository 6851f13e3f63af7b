"""The few labels with a fixed kind, and the pictures that stand for words."""

from __future__ import annotations

from typing import Final

KINDS: Final = ("other", "view", "search", "begin", "change", "pay", "access", "destroy", "card", "secret")
"""The kinds that the text model distinguishes; ``scripts/labels/rules.py`` defines each."""

LEVELS: Final = {"begin": 4, "change": 4, "pay": 5, "access": 6, "destroy": 7, "card": 5, "secret": 6, "clear": 7}
"""The class of a control, or of a field, with a label of this kind; other kinds have none. ``clear`` is for fixed labels only,
which may empty a choice of filters as well as a store. On a link, or on a button with the native effect of emptying its form,
it only suggests the class.
"""

CLOSERS: Final = frozenset({
    "cancel", "abbrechen", "annuler", "cancelar", "annulla", "annuleren", "anuluj", "отмена", "取消", "キャンセル", "취소", "إلغاء",
    "close", "schliessen", "fermer", "cerrar", "fechar", "chiudi", "sluiten", "zamknij", "закрыть", "关闭", "關閉", "閉じる",
    "닫기", "إغلاق",
})  # fmt: skip
"""Labels that leave a dialog or a form: the text of the dialog does not describe their effect."""

ASKING: Final = frozenset({
    "how", "what", "why", "when", "where", "who", "which", "can", "could", "does", "do", "is", "are", "will", "wie",
    "was", "warum", "wann", "wo", "wer", "kann", "comment", "pourquoi", "quand", "puis", "como", "cómo", "por", "qué",
    "cuando", "cuándo", "puedo", "come", "perché", "posso", "hoe", "waarom", "kan", "как", "почему", "можно",
})  # fmt: skip
"""Words with which a question begins."""

ANCHORS_MAX: Final = 50
"""The list below is for labels of one or two words with several meanings. It must not grow into a table of words."""
ANCHORS: Final[dict[str, str]] = {
    "reset": "clear", "clear": "clear", "clear all": "clear", "reset all": "clear", "order": "pay", "place the order": "pay",
    "x": "other", "sure": "other", "wishlist": "other", "clear filters": "search", "clear all filters": "search",
    "reset filters": "search", "clear search": "search", "remove filter": "search", "order by": "search",
    "order by price": "search", **dict.fromkeys(CLOSERS, "view"),
}  # fmt: skip
"""English labels of any site, compared as a whole, which the text model would misread."""

PICTURES: Final[dict[str, str]] = {
    "\U0001f5d1": "destroy", "\U0001f6ae": "destroy", "\U0001f4b3": "pay", "\U0001f4b8": "pay", "\U0001f511": "access",
    "\U0001f513": "access",
}  # fmt: skip
"""Pictures with a grave meaning, if the label has no letters."""
