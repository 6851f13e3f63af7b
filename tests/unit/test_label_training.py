"""How the text model is made: what English labels ask for, how catalogues are read, that a fit learns, what thresholds hold to."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pytest

from protocol.risk.words.anchors import KINDS
from protocol.risk.words.features import features
from protocol.risk.words.model import decode, encode
from scripts.labels.catalogues import Message, messages
from scripts.labels.choosing import header_of, quantised, thresholds_of
from scripts.labels.dataset import Label, seeds, weighed
from scripts.labels.fetch import applications
from scripts.labels.fitting import examples_of, fit, logits
from scripts.labels.reporting import report
from scripts.labels.rules import kind_of
from tests.tables import each


@each(
    ("english", "kind"),
    [
        ("Delete", "destroy"),
        ("&Delete %s", "destroy"),
        ("Cancel my gym contract", "destroy"),
        ("Are you sure you want to delete this?", "destroy"),
        ("This action cannot be undone.", "destroy"),
        ("Close ticket", "change"),
        ("Pause subscription", "change"),
        ("Forward to all", "change"),
        ("Edit user", "begin"),
        ("Pay now", "pay"),
        ("Change password", "access"),
        ("Password", "secret"),
        ("Card number", "card"),
        ("Next", "view"),
        ("Move up", "view"),
        ("Copy link", "view"),
        ("Accept all cookies", "view"),
        ("Clear filters", "search"),
        ("How to delete files", "other"),
        ("Username", "other"),
        ("Deleted", "other"),
        ("Login failed", "other"),
        ("Order", ""),
        ("", ""),
        ("%s", ""),
    ],
)
def test_an_english_label_has_one_kind_or_is_not_taught(english: str, kind: str) -> None:
    assert kind_of(english) == kind


def test_catalogues_of_several_forms_give_pairs_of_english_and_another_language(tmp_path: Path) -> None:
    for code, said in (("en", "Save"), ("de", "Speichern")):
        (tmp_path / "json").mkdir(exist_ok=True)
        (tmp_path / "json" / f"{code}.json").write_text(json.dumps({"form": {"save": said}}))
        (tmp_path / "yaml").mkdir(exist_ok=True)
        (tmp_path / "yaml" / f"{code}.yml").write_text(f"{code}:\n  form:\n    save: {said} all\n")
        (tmp_path / "php").mkdir(exist_ok=True)
        (tmp_path / "php" / f"{code}.php").write_text(f"<?php\n$labels['save'] = '{said} now';\n")
        (tmp_path / "js").mkdir(exist_ok=True)
        (tmp_path / "js" / f"{code}.js").write_text(f"export default {{ save: '{said} it' }};\n")
    catalogue = tmp_path / "locale" / "de" / "LC_MESSAGES"
    catalogue.mkdir(parents=True)
    po = 'msgid "Send"\nmsgstr "Senden"\n\n#, fuzzy\nmsgid "Old"\nmsgstr "Alt"\n\n#. Default: "Close"\nmsgid "id"\nmsgstr "Zu"\n'
    (catalogue / "a.po").write_text(po)
    (catalogue / "b.mo").write_bytes(_mo("Delete", "Entfernen"))
    found = {message for message in messages(tmp_path) if message.language == "de"}
    assert found == {
        Message("de", "Save", "Speichern"),
        Message("de", "Save all", "Speichern all"),
        Message("de", "Save now", "Speichern now"),
        Message("de", "Save it", "Speichern it"),
        Message("de", "Send", "Senden"),
        Message("de", "Close", "Zu"),
        Message("de", "Delete", "Entfernen"),
    }


def _mo(english: str, said: str) -> bytes:
    one, other = english.encode(), said.encode()
    head = struct.pack("<7I", 0x950412DE, 0, 1, 28, 36, 0, 44)
    rows = struct.pack("<4I", len(one), 44, len(other), 45 + len(one))
    return head + rows + one + b"\0" + other + b"\0"


def test_an_application_is_used_for_one_part_and_each_part_has_some() -> None:
    parts = {entry["part"] for entry in applications().values()}
    assert parts == {"train", "tune", "test"}
    assert {entry["client"] for entry in applications().values()} == {"pip", "npm", "apt"}


def test_seeds_are_labels_of_known_kinds_in_many_languages() -> None:
    found = seeds()
    assert {label.kind for label in found} <= set(KINDS)
    assert len({label.language for label in found}) >= 40


TAUGHT = [
    Label(f"{verb} {thing}", kind, "en", f"app{number}")
    for number, thing in enumerate(("page", "user", "file", "row", "list", "mail"))
    for verb, kind in (("delete", "destroy"), ("show", "view"), ("send", "change"))
]


def test_a_fit_learns_what_it_is_taught_and_its_file_gives_the_same_answers() -> None:
    examples = examples_of(list(weighed(TAUGHT)))
    weights, bias = fit(examples, len(KINDS), rounds=60)
    assert [KINDS[kind] for kind in logits(examples, weights, bias).argmax(axis=1)] == [
        KINDS[kind] for kind in examples.kinds
    ]
    header, small = header_of(weights, bias, examples, TAUGHT)
    model = decode(encode(header, small))
    chances = model.probabilities("delete note")
    assert max(chances, key=chances.__getitem__) == "destroy"
    assert sum(chances.values()) == pytest.approx(1)
    # Six labels of three kinds are too few to show anything: no script is called readable.
    assert header.thresholds.view == {}


def test_a_label_passes_for_a_name_below_the_highest_chance_at_which_few_dangerous_ones_do() -> None:
    other, view, change = (KINDS.index(kind) for kind in ("other", "view", "change"))
    chances = np.zeros((40, len(KINDS)), dtype=np.float32)
    # Of forty dangerous labels six look like names, and a tenth of them may pass for one.
    chances[:, change] = 0.9
    chances[:6, change] = (0.055, 0.155, 0.255, 0.355, 0.405, 0.455)
    chances[:, other] = 1 - chances[:, change]
    harmless = np.zeros((20, len(KINDS)), dtype=np.float32)
    harmless[:, view] = 1
    found = thresholds_of(
        np.concatenate([chances, harmless]), np.array([change] * 40 + [view] * 20), ["delete"] * 40 + ["show"] * 20
    )
    assert found.quiet == 0.4


def test_small_weights_are_near_the_fitted_ones() -> None:
    weights = np.random.default_rng(1).normal(size=(4096, 3)).astype(np.float32)
    small, scales = quantised(weights)
    assert np.abs(small * scales - weights).mean() < 0.02


def test_features_do_not_depend_on_the_place_of_a_run_and_grow_with_the_text() -> None:
    assert set(features("delete").tolist()) & set(features("undelete it").tolist())
    assert len(features("a")) < len(features("ab")) < len(features("ab cd"))


def test_the_report_counts_by_script_and_language() -> None:
    labels = [Label("удалить", "destroy", "ru", "a")] * 30 + [Label("далее", "view", "ru", "a")] * 10
    page = report(labels, size=1, applications={"a": ("test", 40, "00")})
    assert "| Cyrillic | 10 | 0.00 % | 100.00 % |" in page
    assert "| ru | 10 |" in page
    assert "| a | test | 40 | `00` |" in page
