"""The few labels whose kind is fixed, and the pictures that stand for words."""

from __future__ import annotations

from typing import Final

KINDS: Final = ("other", "view", "search", "begin", "change", "pay", "access", "destroy", "card", "secret")
"""What the text model tells apart; ``scripts/labels/rules.py`` says what each is."""

LEVELS: Final = {
    "view": 1, "search": 1, "begin": 4, "change": 4, "pay": 5, "access": 6, "destroy": 7, "card": 5, "secret": 6,
    "draft": 3, "clear": 7,
}  # fmt: skip
"""The class of a control, or of a field, that says it; ``other`` says nothing. Two kinds are of fixed labels only: ``draft``, and
``clear`` for what may empty a choice of filters as well as a store. On a link, or on a button that the browser lets empty its form,
``clear`` only leans.
"""

CANCELS: Final = frozenset({
    "cancel", "abbrechen", "annuler", "cancelar", "annulla", "annuleren", "anuluj", "отмена", "取消",
    "キャンセル", "취소", "إلغاء",
})  # fmt: skip
"""Labels that give up a form, or an order that stands beside them."""
CLOSERS: Final = CANCELS | {
    "close", "schliessen", "fermer", "cerrar", "fechar", "chiudi", "sluiten", "zamknij", "закрыть", "关闭",
    "關閉", "閉じる", "닫기", "إغلاق",
}  # fmt: skip
"""Labels that close a view, or end what stands beside them: in a row of a list that is an order, a booking."""

CROSSES: Final = frozenset({"×", "x"})
"""A cross closes a view, too; in a row of a list it mostly takes the row away."""

ASKING: Final = frozenset({
    "how", "what", "why", "when", "where", "who", "which", "can", "could", "does", "do", "is", "are", "will", "wie",
    "was", "warum", "wann", "wo", "wer", "kann", "comment", "pourquoi", "quand", "puis", "como", "cómo", "por", "qué",
    "cuando", "cuándo", "puedo", "come", "perché", "posso", "hoe", "waarom", "kan", "как", "почему", "можно",
})  # fmt: skip
"""Words with which a question begins."""

COOKIE_ANSWERS: Final = frozenset({
    "accept", "accept all", "accept cookies", "accept all cookies", "allow all", "allow all cookies",
    "reject", "reject all", "reject all cookies", "decline", "deny", "only necessary",
    "only necessary cookies", "necessary only", "akzeptieren", "alle akzeptieren", "ablehnen",
    "alle ablehnen", "accepter", "tout accepter", "refuser", "tout refuser", "aceptar", "aceptar todo",
    "rechazar", "rechazar todo", "accetta", "accetta tutti", "rifiuta", "rifiuta tutti", "accepteren",
    "weigeren", "принять", "принять все", "отклонить", "全部接受", "拒绝", "すべて許可", "拒否", "قبول الكل", "رفض",
})  # fmt: skip
"""What is answered to a dialog about cookies, and elsewhere to whatever is asked there."""

ANCHORS_MAX: Final = 90
"""The list below is for labels of one or two words that mean several things. It must not grow into a table of words."""
ANCHORS: Final[dict[str, str]] = {
    "ok": "change", "okay": "change", "yes": "change", "continue": "change", "apply": "change", "post": "change", "book": "change",
    "like": "change", "follow": "change", "start": "change", "stop": "change", "new": "begin", "save draft": "draft",
    "reset": "clear", "clear": "clear", "clear all": "clear", "reset all": "clear", "bin": "destroy", "drop": "destroy",
    "order": "pay", "transfer": "pay", "upgrade": "pay",
    "sure": "other",
    "no": "view", "got it": "view", "wishlist": "view", "more": "view", "less": "view", "first": "view", "last": "view",
    "next": "view", "back": "view", "order history": "view",
    "clear filters": "search", "clear all filters": "search", "reset filters": "search", "clear search": "search",
    "remove filter": "search", "update search": "search", "order by": "search", "sort by": "search",
    "order by price": "search", "postcode lookup": "search", "apply filters": "search", "place the order": "pay",
    **dict.fromkeys(CLOSERS, "view"),
}  # fmt: skip
"""English labels of any site, read in full."""

SENDERS: Final = frozenset({
    "ok", "okay", "submit", "apply", "update", "run", "execute", "continue", "set", "go",
    "anwenden", "übernehmen", "absenden", "aktualisieren", "ausführen", "appliquer", "valider", "soumettre", "actualiser",
    "aplicar", "aceptar", "actualizar", "atualizar", "applica", "aggiorna", "toepassen", "bijwerken", "zastosuj",
    "применить", "обновить", "ок", "应用", "套用", "更新", "确定", "確定", "提交", "適用", "実行",
    "적용", "확인", "تطبيق", "uygula",
    "senden", "enviar", "envoyer", "invia", "verzenden", "отправить", "送信", "gönder", "continuar", "continuer", "确认",
    "submit query", "submit search", "run report", "convert",
})  # fmt: skip
"""Labels by which most sites send the filters of a list as well as settings."""

SIGNS: Final[dict[str, str]] = {
    "x": "view",
    "×": "view",
    "…": "view",
    "›": "view",
    "‹": "view",
    "»": "view",
    "«": "view",
    "+": "begin",
}
"""Labels of one sign."""

PICTURES: Final[dict[str, str]] = {
    "\U0001f5d1": "destroy", "\U0001f6ae": "destroy", "\U0001f4b3": "pay", "\U0001f4b8": "pay", "\U0001f6d2": "change",
    "\U0001f511": "access", "\U0001f513": "access", "\U0001f4e4": "change", "\U0001f4e8": "change", "\u2709": "change",
    "\U0001f4be": "change", "\u270f": "begin", "\u2795": "begin",
}  # fmt: skip
"""What a picture says where no letters stand beside it. Those that only show a way (arrows, magnifiers) are not listed."""
