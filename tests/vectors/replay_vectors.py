"""Writes ``replay.json``: ``python -m tests.vectors.replay_vectors`` (``--check`` only compares).

Reports are about the session of the first case of ``bundle.json``, and are put together from docs/protocol/replay.md.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import sys
import zipfile
from typing import Any

import cbor2

from tests.vectors.generate import FOLDER

Fields = dict[str, Any]
NAME = "replay.json"
ORIGIN = "http://shop.example:8000"
OTHER = "https://staging.example"

# Name, what was recorded, what was met, how the two compare.
TEXTS: list[tuple[str, str, str, str]] = [
    ("every line as recorded", "- heading: Mugs\n- text: £10.00", "- heading: Mugs\n- text: £10.00", "same"),
    ("nothing on both sides", "", "", "same"),
    ("another price", "- text: £10.00", "- text: £99000.00", "numbers"),
    ("a price with a comma more", "- text: £999", "- text: £1,000.50", "numbers"),
    ("another number of numbers", "- text: 1 2", "- text: 1", "differs"),
    ("a point that ends a sentence", "- text: 10.", "- text: 10", "differs"),
    ("two points in a row", "- text: 1..2", "- text: 3", "differs"),
    ("a number that became a word", "- text: 3 left", "- text: none left", "differs"),
    ("a sign", "- text: -3", "- text: 3", "differs"),
    ("digits of another script", "- text: ٣", "- text: ٤", "differs"),
    ("another word", "- text: In stock", "- text: Sold out", "differs"),
    ("a line more", "- text: 1", "- text: 1\n- text: 2", "differs"),
    ("another indentation", "- text: 1", "  - text: 1", "differs"),
]

# Name, origin it is replayed at, what the page said there, what it says at home.
AT_HOME: list[tuple[str, str, str, str]] = [
    ("its own address", OTHER, f"see {OTHER}/help", f"see {ORIGIN}/help"),
    ("its own address, at the end of a sentence", OTHER, f"this is {OTHER}.", f"this is {ORIGIN}."),
    ("a host below another domain", OTHER, f"{OTHER}.evil.example", f"{OTHER}.evil.example"),
    ("another port", "http://127.0.0.1:80", "http://127.0.0.1:8080/", "http://127.0.0.1:8080/"),
    ("a longer host", OTHER, f"{OTHER}-2/", f"{OTHER}-2/"),
]


def recording() -> tuple[Fields, list[Fields], bytes]:
    """Session, steps and manifest digest of the bundle."""
    bundle = json.loads((FOLDER / "bundle.json").read_text(encoding="utf-8"))["cases"][0]["bundle"]
    with zipfile.ZipFile(io.BytesIO(base64.b64decode(bundle))) as archive:
        manifest = archive.read("manifest.cbor")
        steps = [cbor2.loads(archive.read(name)) for name in sorted(archive.namelist()) if name.startswith("steps/")]
    return cbor2.loads(manifest)["session"], steps, hashlib.sha256(manifest).digest()


def match(index: int, **changes: Any) -> Fields:
    """A step in which everything is as recorded, but for ``changes``."""
    same = dict.fromkeys(("performed", "state", "url", "title", "extracted", "matched"), True)
    return same | {"index": index, "duration_ms": 5, "text": "same"} | changes


def stopped(index: int, **changes: Any) -> Fields:
    """A step that could not be performed."""
    nothing = dict.fromkeys(("performed", "state", "url", "title", "extracted", "matched"), False)
    return nothing | {"index": index, "duration_ms": 5, "error": "action.target_missing"} | changes


def cases() -> list[dict[str, Any]]:
    """A report by its bytes: how many steps matched and how their text compares, or the code."""
    session, steps, digest = recording()
    assert [step["ok"] and len(step["snapshot"]) for step in steps] == [32] * 4
    assert session["start_url"].startswith(ORIGIN)
    browser = {"backend": "launched", "name": "Chromium", "version": "156.0.0.0"}
    whole = [match(index) for index in range(1, 5)]
    good: Fields = {
        "id": "rep-AAAAAAAAAAAAAAAAAAAAA",
        "session": session["id"],
        "manifest": digest,
        "node": session["node"],
        "replayed_ms": 1_700_000_100_000,
        "browser": browser,
        "steps": whole,
        "matched": 4,
        "verdict": "pass",
        "duration_ms": 20,
    }

    def last(**changes: Any) -> Fields:
        return good | {"steps": [*whole[:3], match(4, **changes)]}

    partial = {"matched": 1, "verdict": "partial", "reason": "step 2: not performed (action.target_missing)"}
    fault = {"request": "GET /data", "fault": "status", "status": 500}
    download = {"name": "mugs-2026.csv", "size_bytes": 2, "sha256": bytes(32)}
    dialog = {"kind": "confirm", "message": "Are you\n sure?"}

    def red(reason: str, **changes: Any) -> Fields:
        """The last step does not match, for this reason."""
        return last(matched=False, **changes) | {"matched": 3, "verdict": "partial", "reason": f"step 4: {reason}"}

    def first(reason: str, **changes: Any) -> Fields:
        """The first step, which is no extract as the last one is, does not match."""
        changed = [match(1, matched=False, **changes), *whole[1:]]
        return good | {"steps": changed, "matched": 3, "verdict": "partial", "reason": f"step 1: {reason}"}

    other, beside = {"extracted": False, "held": False}, {"level": "asserted"}
    bob = {"name": "customer", "recorded": "Ada", "value": "Bob"}
    found = {"step": 4, "what": "text", "recorded": "Hello Bob", "met": "Hello Ada", "also": []}
    differing = red("other text", text="differs")

    made: list[tuple[str, Fields, bool]] = [
        ("every step matched", good, True),
        ("numbers and wrappers differ", red("other numbers in the text", text="numbers", state=False), True),
        ("numbers differ", red("other numbers in the text", text="numbers"), True),
        ("a text differs", red("other text", text="differs"), True),
        ("a title differs", red("other title", title=False), True),
        ("an extract reads another value", red("another extracted value", **other), True),
        ("an extract reads another value beside assertions", red("another extracted value", **other) | beside, True),
        ("an extract reads another value and matched", last(extracted=False) | beside, False),
        ("an extract reads another value below its level", last(**other) | {"level": "performed"}, True),
        ("an extract reads another value and holds", red("other extracted text", extracted=False), False),
        ("an extract reads the value and does not hold", red("the assertion did not hold", held=False), False),
        ("what another step reads differs", first("other extracted text", extracted=False), True),
        ("an address differs", red("other address", url=False), True),
        ("a structure differs", red("other controls or headings", state=False, text="differs"), True),
        ("a state that only masks tell apart", last(state=False, text="masked"), True),
        ("an assertion does not hold", first("the assertion did not hold", held=False), True),
        ("a new alert", red("a new alert on the page", alert="alert", text="differs"), True),
        (
            "a new alert beside assertions",
            red("a new status on the page", alert="status", text="differs") | {"level": "asserted"},
            True,
        ),
        ("a new alert below its level", last(alert="alert", text="differs") | {"level": "performed"}, True),
        ("a new alert and matched", last(alert="alert", text="differs") | {"level": "asserted"}, False),
        ("a new alert in the recorded text", red("a new alert on the page", alert="alert"), False),
        ("an alert of another role", red("a new log on the page", alert="log", text="differs"), False),
        ("a request went wrong", red("GET /data was answered with 500", faults=[fault]), True),
        ("a request was refused", red("the guard refused GET /data", faults=[fault | {"fault": "refused"}]), True),
        ("a request went wrong and matched", last(faults=[fault]), False),
        ("a dialog came", red("unexpected dialog: confirm “Are you sure?”, dismissed", dialogs=[dialog]), True),
        ("a download came", red("unexpected download of “mugs-#.csv”", downloads=[download]), True),
        ("a download came and matched", last(downloads=[download]), False),
        ("a dialog came and matched", last(dialogs=[dialog]), False),
        ("numbers differ, and it matched", last(text="numbers"), False),
        ("a text differs below the level of text", last(text="differs", title=False) | {"level": "structure"}, True),
        ("an address differs below the level of structure", last(url=False) | {"level": "asserted"}, True),
        (
            "an assertion does not hold below its level",
            good | {"steps": [match(1, held=False), *whole[1:]], "level": "performed"},
            True,
        ),
        ("an address differs at the level of structure", last(url=False) | {"level": "structure"}, False),
        ("a text that is masked", last(text="masked"), True),
        ("a text that is masked, strictly", last(text="masked") | {"strict": True}, False),
        ("red for a mask, strictly", red("other text", text="masked") | {"strict": True}, True),
        ("a level that is none", good | {"level": "pictures"}, False),
        ("a reason of its own", good | {"reason": "it was slow"}, False),
        ("no reason", red("other text", text="differs") | {"reason": ""}, False),
        ("it stopped", good | {"steps": [whole[0], stopped(2)]} | partial, True),
        ("at another origin", good | {"origin": OTHER}, True),
        ("at an origin that is the recorded one", good | {"origin": ORIGIN}, False),
        ("at an address that is no origin", good | {"origin": f"{OTHER}/"}, False),
        ("of another manifest", good | {"manifest": bytes(32)}, False),
        ("a snapshot and not a word about its text", last(text=""), False),
        (
            "the same by default",
            good | {"steps": [*whole[:3], {k: v for k, v in whole[3].items() if k != "text"}]},
            False,
        ),
        ("a word that is none", last(text="similar"), False),
        (
            "a text of a step that was not performed",
            good | {"steps": [whole[0], stopped(2, text="same")]} | partial,
            False,
        ),
        ("matched against its own parts", last(url=False), False),
        ("a count of its own", good | {"matched": 3}, False),
        ("a verdict of its own", good | {"verdict": "partial"}, False),
        ("steps in another order", good | {"steps": whole[::-1]}, False),
        (
            "it ends early",
            good | {"steps": whole[:3], "matched": 3, "verdict": "partial", "reason": "not every step was performed"},
            False,
        ),
        (
            "it goes on after a stop",
            good | {"steps": [stopped(1), *whole[1:]], "matched": 3, "verdict": "partial"},
            False,
        ),
        ("an input has another value", good | {"inputs": [bob]}, True),
        ("and something differs", differing | {"inputs": [bob], "differences": [found]}, True),
        (
            "and it is told where",
            differing | {"inputs": [bob], "differences": [found | {"place": "row “Ada”", "note": "in another order"}]},
            True,
        ),
        ("and what differs is of no step", differing | {"inputs": [bob], "differences": [found | {"step": 9}]}, False),
        ("and also of no step", differing | {"inputs": [bob], "differences": [found | {"also": [9]}]}, False),
        ("differences without another input", differing | {"differences": [found]}, False),
        ("an input with its own value", good | {"inputs": [bob | {"value": "Ada"}]}, False),
        ("an input with a recorded value of its own", good | {"inputs": [bob | {"recorded": "Eve"}]}, False),
        ("an input that the recording has not", good | {"inputs": [bob | {"name": "amount"}]}, False),
        ("the number of a step that types a secret", good | {"inputs": [bob | {"name": "3"}]}, False),
        ("an input twice", good | {"inputs": [bob, bob]}, False),
        ("an unknown field", good | {"more": 1}, False),
    ]
    return [
        {"name": name, "hex": cbor2.dumps(report, canonical=True).hex()}
        | ({"matched": report["matched"], "text": _counts(report)} if right else {"code": "report.invalid"})
        for name, report, right in made
    ]


def _counts(report: Fields) -> dict[str, int]:
    texts = [step.get("text", "") for step in report["steps"]]
    return {text: texts.count(text) for text in ("same", "masked", "numbers", "differs")}


def render() -> str:
    """The file."""
    texts = [{"name": name, "recorded": old, "met": new, "text": text} for name, old, new, text in TEXTS]
    home = [{"name": name, "origin": there, "met": met, "home": home} for name, there, met, home in AT_HOME]
    made = {"texts": texts, "recorded_origin": ORIGIN, "at_home": home, "reports": cases()}
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


def main(arguments: list[str]) -> int:
    """0, or 1 if ``--check`` finds a difference."""
    file = FOLDER / NAME
    if "--check" not in arguments:
        file.write_text(render(), encoding="utf-8")
    elif file.read_text(encoding="utf-8") != render():
        print(f"{NAME} differs from what its generator makes")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
