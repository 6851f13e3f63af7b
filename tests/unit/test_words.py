"""What the text model reads in labels of many scripts; where it abstains; what it costs."""

from __future__ import annotations

import time
from importlib import resources

import pytest

from protocol.page.actions.action import Click, Locator
from protocol.page.seen.observation import Element, Observation, Traits
from protocol.risk.pressing.classes import APPROVAL_CLASS, classify
from protocol.risk.words import field_says, grave, say
from protocol.risk.words.anchors import ANCHORS, ANCHORS_MAX
from protocol.risk.words.model import FILE, decode
from protocol.risk.words.text import read, runs, script_of
from tests.tables import each

PAGE = Observation(url="https://shop.example/", title="", text="", elements=())
SIZE_MAX = 2_000_000
LOAD_S_MAX = 0.5
LABEL_S_MAX = 0.002
"""Ten times of what a label takes: this machine may be busy."""


def pressed(name: str, role: str = "button", **traits: object) -> int:
    element = Element(ref="e1", role=role, name=name, traits=Traits(tag="button", **traits))  # type: ignore[arg-type]
    return classify(Click(target=Locator()), element, PAGE).level


# By language: deletes or ends, pays, sends or saves, shows or moves on.
IN_ALL_SCRIPTS = {
    "English": ("Delete my account", "Place order", "Send message", "Show more"),
    "German": ("Konto löschen", "Jetzt bezahlen", "Senden", "Mehr anzeigen"),
    "French": ("Supprimer le compte", "Payer maintenant", "Envoyer", "Voir plus"),
    "Turkish": ("Hesabı sil", "Satın al", "Gönder", "Daha fazla göster"),
    "Polish": ("Usuń konto", "Zapłać teraz", "Wyślij", "Pokaż więcej"),
    "Vietnamese": ("Xóa tài khoản", "Thanh toán ngay", "Gửi", "Xem thêm"),
    "Russian": ("Удалить аккаунт", "Оплатить сейчас", "Отправить", "Показать ещё"),
    "Ukrainian": ("Видалити обліковий запис", "Сплатити зараз", "Надіслати", "Показати більше"),
    "Greek": ("Διαγραφή λογαριασμού", "Αγορά τώρα", "Αποστολή", "Εμφάνιση περισσότερων"),
    "Hebrew": ("מחק חשבון", "שלם עכשיו", "שלח", "הצג עוד"),
    "Arabic": ("حذف الحساب", "ادفع الآن", "إرسال", "عرض المزيد"),
    "Persian": ("حذف حساب", "پرداخت", "ارسال", "نمایش بیشتر"),
    "Hindi": ("खाता हटाएं", "अभी भुगतान करें", "भेजें", ""),
    "Bengali": ("অ্যাকাউন্ট মুছুন", "এখনই কিনুন", "পাঠান", ""),
    "Tamil": ("கணக்கை நீக்கு", "இப்போது வாங்கு", "அனுப்பு", ""),
    "Thai": ("ลบบัญชี", "ชำระเงิน", "ส่ง", ""),
    "Georgian": ("ანგარიშის წაშლა", "იყიდე ახლა", "გაგზავნა", ""),
    "Armenian": ("Ջնջել հաշիվը", "Գնել հիմա", "Ուղարկել", ""),
    "Khmer": ("លុបគណនី", "ទិញឥឡូវនេះ", "ផ្ញើ", ""),
    "Japanese": ("アカウントを削除する", "今すぐ購入", "送信する", "もっと見る"),
    "Chinese": ("删除账户", "立即购买", "提交", "查看更多"),
    "Korean": ("계정 삭제", "지금 결제", "보내기", "더 보기"),
}


@each("language", IN_ALL_SCRIPTS)
def test_grave_labels_are_known_in_each_script_and_others_say_nothing_grave(language: str) -> None:
    deletes, pays, sends, shows = IN_ALL_SCRIPTS[language]
    assert pressed(deletes) == 7
    assert pressed(pays) == 5
    assert pressed(sends) == APPROVAL_CLASS
    assert not list(grave(shows))


@pytest.mark.parametrize("tokens", [("btn", "info"), ("menu", "item"), ("nav", "tab"), ("close", "icon")])
@pytest.mark.parametrize(
    "name",
    [
        "今すぐ支払う", "全部删除", "Удалить аккаунт", "حذف الكل", "Διαγραφή όλων", "모두 삭제", "מחק הכל", "सभी हटाएं",
        "Info löschen", "Supprimer le menu", "Cancelar suscripción", "Zrušit předplatné", "Close ticket",
        "Cancel my gym contract", "Pause subscription", "Forward to all",
    ],
)  # fmt: skip
def test_no_class_of_css_makes_a_label_harmless_that_is_not(name: str, tokens: tuple[str, ...]) -> None:
    for role in ("button", "menuitem", "switch", "checkbox"):
        assert pressed(name, role, tokens=tokens) >= APPROVAL_CLASS


@each("name", ["Info löschen", "Menu verwijderen", "Supprimer le menu", "Show all delete", "Details Delete"])
def test_a_grave_word_in_a_label_counts_beside_harmless_ones(name: str) -> None:
    """Guard: protocol/risk/words/__init__.py, _hidden."""
    assert [each.level for each in grave(name)] == [7]


@each("name", ["Blue mug", "Кнопка", "Mike", "2024", "マグカップ", "Clear filters", "Order by", "Cancel"])
def test_a_name_of_a_thing_and_a_view_say_nothing_grave(name: str) -> None:
    assert not list(grave(name))


def test_labels_of_fields_are_told_from_labels_of_buttons() -> None:
    assert field_says("Password").kind == "secret" and say("Password").level == 0
    assert field_says("Номер карты").kind == "card"
    assert field_says("Vorname").level == 0


@each(
    ("label", "text", "parts"),
    [
        ("  DELETE\u00a0 All ", "delete all", ()),
        ("Löschen (3)", "löschen 0", ()),
        ("İptal", "iptal", ()),
        ("أرسِل", "أرسل", ()),
        ("ＰＡＹ", "pay", ()),
        ("Menu · Πληρωμή", "menu πληρωμή", ("menu", "πληρωμή")),
        ("削除する", "削除する", ()),
        ("", "", ()),
    ],
)
def test_a_label_is_read_in_one_spelling_and_taken_apart_where_its_script_changes(
    label: str, text: str, parts: tuple[str, ...]
) -> None:
    assert read(label) == text
    assert runs(text) == parts


def test_the_script_is_that_of_most_letters() -> None:
    assert [script_of(text) for text in ("menu", "меню", "削除", "する", "0", "ᚠ")] == [
        "Latin", "Cyrillic", "Han", "Kana", "", "Other",
    ]  # fmt: skip


def test_the_list_of_fixed_labels_does_not_grow() -> None:
    assert len(ANCHORS) <= ANCHORS_MAX


def test_the_weights_are_small_and_quickly_read() -> None:
    data = (resources.files("protocol.risk.words") / FILE).read_bytes()
    began = time.perf_counter()
    decode(data)
    assert time.perf_counter() - began < LOAD_S_MAX
    assert len(data) <= SIZE_MAX


def test_a_label_is_quickly_read() -> None:
    labels = [f"Permanently delete item number {chr(97 + at % 26)}{chr(97 + at // 26)}" for at in range(200)]
    say("Next")
    began = time.perf_counter()
    for label in labels:
        say(label)
    assert (time.perf_counter() - began) / len(labels) < LABEL_S_MAX


@each(("apart", "joined"), [("删 除", "删除"), ("支 付", "支付"), ("退 订", "退订")])
def test_two_letters_that_a_page_has_put_apart_are_one_word(apart: str, joined: str) -> None:
    assert say(apart) == say(joined)
    assert say(apart).certain
