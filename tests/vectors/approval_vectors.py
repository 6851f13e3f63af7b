"""Writes ``approval.json``: ``python -m tests.vectors.approval_vectors`` (``--check`` only compares).

Keys, questions and envelopes are put together from docs/protocol/approval.md, without the code under test.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sys
from typing import Any

import cbor2
from nacl.signing import SigningKey

from tests.vectors.generate import FOLDER, node_id

NAME = "approval.json"
ANNA, BEN, NODE_KEY = (SigningKey(bytes([number]) * 32) for number in (1, 2, 3))
NODE = node_id(bytes(NODE_KEY.verify_key))
NOW_S = 1_700_000_000
SHOP = "https://shop.example"
Fields = dict[str, Any]

PATHS: list[tuple[str, str, str]] = [
    ("a number", "/cart/12/add", "/cart/{n}/add"),
    ("a number of 20 digits", "/x/" + "9" * 20, "/x/{n}"),
    ("a number of 21 digits", "/x/" + "g" + "9" * 20, "/x/" + "g" + "9" * 20),
    ("a UUID", "/u/3fa85f64-5717-4562-B3FC-2c963f66afa6/", "/u/{id}/"),
    ("hexadecimal digits with a number among them", "/c/deadbeef0042/x", "/c/{id}/x"),
    ("hexadecimal digits that may be a word", "/c/deadbeefcafe/x", "/c/deadbeefcafe/x"),
    ("eleven of them", "/c/deadbeef004/x", "/c/deadbeef004/x"),
    ("a title", "/brands/del-monte-7", "/brands/del-monte-7"),
    ("digits of another script", "/a/٣", "/a/٣"),
    ("an escaped slash", "/a%2f7/7", "/a%2f7/7"),
    ("a backslash", "/a\\7/7", "/a\\7/7"),
    ("the root", "/", "/"),
]


def check_digit(text: str) -> str:
    """The Luhn mod 32 check digit of base32 text."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
    products = [alphabet.index(char) * (1 + position % 2) for position, char in enumerate(text)]
    return alphabet[-sum(product // 32 + product % 32 for product in products) % 32]


def owner_id(key: SigningKey) -> str:
    """The id of an owner's key."""
    digest = hashlib.sha256(b"trailmesh-owner-v1\0" + bytes(key.verify_key)).digest()
    body = base64.b32encode(digest[:13]).decode()[:20]
    return f"own-{body}{check_digit(body)}"


def sign1(payload: bytes, key: SigningKey, *, kind: str = "approval.2", at_s: int = NOW_S, issuer: str = "") -> bytes:
    """An envelope by an owner's key."""
    claims = {1: issuer or owner_id(key), 6: at_s, 7: b"u" * 16}
    header = {1: -8, 3: f"application/vnd.trailmesh.{kind}+cose", 4: bytes(key.verify_key)[:8], 15: claims}
    protected = cbor2.dumps(header, canonical=True)
    signature = key.sign(cbor2.dumps(["Signature1", protected, b"", payload])).signature
    return cbor2.dumps(cbor2.CBORTag(18, [protected, {}, payload, signature]), canonical=True)


def question(**changes: Any) -> Fields:
    """What is asked, with every field."""
    form = {"does": "click", "role": "button", "name": "Add to cart", "value": "", "origin": SHOP, "path": "/p/{n}"}
    asked: Fields = {
        "id": "que-AAAAAAAAAAAAAAAAAAAAA",
        "node": NODE,
        "kind": "action",
        "exact": b"e" * 32,
        "action": form,
        "requests": [],
        "open_requests": True,
        "level": 4,
        "evidence": ["says “add”"],
        "page": f"{SHOP}/p/7",
        "caller": "agent:shopper",
        "search": "",
        "session": "",
        "step": 0,
        "asked_ms": NOW_S * 1000,
        "exacts": [],
        "address": "",
        "size": 0,
    }
    return asked | changes


def encoded(asked: Fields) -> bytes:
    """The bytes of a question."""
    return cbor2.dumps(asked, canonical=True)


def digest(asked: Fields) -> bytes:
    """What an approval signs of it."""
    return hashlib.sha256(b"trailmesh-question-v2\0" + encoded(asked)).digest()


def approval(asked: Fields, **changes: Any) -> Fields:
    """A yes for once."""
    said: Fields = {
        "node": asked["node"],
        "question": asked["id"],
        "digest": digest(asked),
        "yes": True,
        "scope": "once",
        "expires_ms": (NOW_S + 600) * 1000,
    }
    return said | changes


def cases() -> list[Fields]:
    """An envelope and the question it answers: what it says, or the code."""
    asked = question()
    search = question(search="sea-AAAAAAAAAAAAAAAAAAAAA")
    request = {"method": "POST", "origin": SHOP, "path": "/x", "query": [], "fields": [], "body": "unread"}
    unread = question(kind="request", open_requests=False, requests=[request])
    pay = question(level=5)
    other = question(page=f"{SHOP}/p/8")

    def case(name: str, asked: Fields, said: Fields, code: str = "", key: SigningKey = ANNA, **more: Any) -> Fields:
        payload = cbor2.dumps(said, canonical=True)
        told = {key: said[key] for key in ("yes", "scope", "expires_ms")} if not code else {"code": code}
        made = sign1(payload, key, **more)
        return {"name": name, "question": encoded(asked).hex(), "hex": made.hex(), "now_s": NOW_S} | told

    day_s = 86_400
    return [
        case("yes, once", asked, approval(asked)),
        case("no", asked, approval(asked, yes=False)),
        case("for the site, for 90 days", asked, approval(asked, scope="site", expires_ms=(NOW_S + 90 * day_s) * 1000)),
        case("for the search", search, approval(search, scope="search")),
        case("by an owner of class 4", asked, approval(asked), key=BEN),
        case("a no of class 5 by that owner", pay, approval(pay, yes=False), key=BEN),
        case("a yes of class 5 by that owner", pay, approval(pay), "owner.refused", key=BEN),
        case("by the witness key", asked, approval(asked), "envelope.key_unknown", key=NODE_KEY),
        case(
            "by another key under an owner's id",
            asked,
            approval(asked),
            "envelope.key_unknown",
            key=NODE_KEY,
            issuer=owner_id(ANNA),
        ),
        case("of another kind", asked, approval(asked), "envelope.kind", kind="owner-change"),
        case("for a search where none asked", asked, approval(asked, scope="search"), "approval.invalid"),
        case("once, of a body that was not read", unread, approval(unread)),
        case("for the site, of a body that was not read", unread, approval(unread, scope="site"), "approval.invalid"),
        case("of a question that says something else", asked, approval(other), "approval.invalid"),
        case("of another question", asked, approval(asked, question="que-AAAAAAAAAAAAAAAAAAAB6"), "approval.invalid"),
        case("of another node", asked, approval(asked, node=node_id(bytes(32))), "approval.invalid"),
        case("signed an hour and a second ago", asked, approval(asked), "approval.invalid", at_s=NOW_S - 3_601),
        case("signed an hour ahead", asked, approval(asked, expires_ms=(NOW_S + 4_000) * 1000), at_s=NOW_S + 3_600),
        case("it has expired", asked, approval(asked, expires_ms=NOW_S * 1000), "approval.invalid"),
        case(
            "for longer than 90 days",
            asked,
            approval(asked, expires_ms=(NOW_S + 90 * day_s) * 1000 + 1),
            "approval.invalid",
        ),
        case("a scope that is none", asked, approval(asked, scope="always"), "message.invalid"),
        case("an unknown field", asked, approval(asked, more=1), "message.invalid"),
    ]


def render() -> str:
    """The file."""
    statement = cbor2.dumps(approval(question()), canonical=True)
    whole = cbor2.loads(sign1(statement, ANNA)).value
    made = {
        "node": NODE,
        "owners": [
            {"id": owner_id(key), "key": bytes(key.verify_key).hex(), "level_max": level}
            for key, level in ((ANNA, 7), (BEN, 4))
        ],
        "paths": [{"name": name, "path": path, "form": form} for name, path, form in PATHS],
        "digest": digest(question()).hex(),
        "statement": {
            "payload": statement.hex(),
            "hex": cbor2.dumps(["Signature1", whole[0], b"", statement]).hex(),
            "signature": whole[3].hex(),
            "envelope": sign1(statement, ANNA).hex(),
        },
        "cases": cases(),
    }
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


def main(arguments: list[str]) -> int:
    """Write the file, or compare it."""
    path = FOLDER / NAME
    if "--check" in arguments:
        fresh = path.read_text(encoding="utf-8") == render()
        print(f"{path.name} is {'fresh' if fresh else 'stale'}")
        return 0 if fresh else 1
    path.write_text(render(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
