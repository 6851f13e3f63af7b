"""Questions, approvals and the keys of owners as records: what holds, what does not, and how far a form reaches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from nacl.signing import SigningKey

from protocol import ids, limits
from protocol.approval.approval import VerifiedAnswer, holds, open_approval, reopen, seal, statement
from protocol.approval.forms import UNREAD, action_exact, action_form, action_words, path_form, request_form
from protocol.approval.leaving import request_exact
from protocol.approval.owners import OwnerEntry, Owners, owner_id, sign_change
from protocol.approval.question import Cover, Question, cover_of, digest_of, level_of
from protocol.errors import MeshError
from protocol.page.actions.action import Action, Check, Click, Fill, Goto, Locator, Press, Secret, Select
from protocol.page.seen.observation import Element
from protocol.wire import cbor, envelope
from tests.owners import ANNA, BEN, CARL, NOW_S, UNIQUE, answer, approval, begun, entry
from tests.tables import each

NODE = ids.node_id(bytes(SigningKey(bytes(32)).verify_key))
OTHER_NODE = ids.node_id(bytes(ANNA.verify_key))
SHOP = "https://shop.example"
PAGE = f"{SHOP}/products/7?color=red"
ADD = Click(target=Locator(role="button", name="Add to cart"))
NOW_MS = NOW_S * 1000


def question(action: Action = ADD, page: str = PAGE, **more: Any) -> Question:
    """What is asked about ``action``."""
    given: dict[str, Any] = {
        "id": ids.make_id("que", bytes(13)),
        "node": NODE,
        "kind": "action",
        "exact": action_exact(action, None, page),
        "action": action_form(action, None, page),
        "level": 4,
        "evidence": ("says “add”",),
        "caller": "agent:shopper",
        "asked_ms": NOW_MS,
    }
    return Question(**given | more)


ASKED = question()
SEARCH = "sea-AAAAAAAAAAAAAAAAAAAC4"


def refused(doing: Callable[..., object], *args: Any, **more: Any) -> tuple[str, str]:
    """Code and message with which ``doing`` is refused."""
    with pytest.raises(MeshError) as caught:
        doing(*args, **more)
    return caught.value.code, caught.value.message


def held(asked: Question = ASKED, **more: Any) -> VerifiedAnswer:
    return open_approval(answer(asked, **more), asked, begun(NODE), now_ms=NOW_MS)


def allowed(
    by: VerifiedAnswer,
    asked: Question,
    action: Action = ADD,
    page: str = PAGE,
    *,
    level: int = 4,
    caller: str = "agent:shopper",
    search: str = "",
    now_ms: int = NOW_MS,
) -> bool:
    exact, form = action_exact(action, None, page), action_form(action, None, page)
    return holds(by, asked, exact=exact, form=form, level=level, caller=caller, search=search, now_ms=now_ms)


# --- forms -----------------------------------------------------------------------------------------------------------


@each(
    ("path", "form"),
    [
        ("/cart/12/add", "/cart/{n}/add"),
        ("/u/3fa85f64-5717-4562-b3fc-2c963f66afa6/", "/u/{id}/"),
        ("/c/deadbeef0042cafe/x", "/c/{id}/x"),
        ("/brands/del-monte", "/brands/del-monte"),
        ("/v2/items", "/v2/items"),
        ("/deadbeefcafe/x", "/deadbeefcafe/x"),
        ("/a%2F7/7", "/a%2F7/7"),
        ("//7", "//{n}"),
    ],
)
def test_only_what_looks_like_an_id_is_replaced_in_a_path(path: str, form: str) -> None:
    assert path_form(path) == form


def test_a_form_is_the_same_for_another_id_and_for_nothing_else() -> None:
    """Guard: protocol/approval/forms.py, action_form."""
    known = action_form(ADD, None, PAGE)
    assert action_form(ADD, None, f"{SHOP}/products/8") == known
    others: list[tuple[Action, str]] = [
        (ADD, "http://shop.example/products/7"),
        (ADD, "https://shop.example:444/products/7"),
        (ADD, "https://www.shop.example/products/7"),
        (ADD, f"{SHOP}/products/7/all"),
        (ADD, f"{SHOP}/products/latest"),
        (Click(target=Locator(role="button", name="Add to cart ")), PAGE),
        (Click(target=Locator(role="link", name="Add to cart")), PAGE),
        (Click(target=Locator(role="button", name="Add to cart"), count=2), PAGE),
        (Click(target=Locator(role="button", name="Add to cart"), button="right"), PAGE),
        (Check(target=Locator(role="button", name="Add to cart")), PAGE),
    ]
    assert all(action_form(action, None, page) != known for action, page in others)


def test_what_is_typed_chosen_or_pressed_is_part_of_the_form_but_no_secret_is() -> None:
    field = Locator(role="textbox", name="Amount")
    forms = [
        action_form(action, None, PAGE)
        for action in (
            Fill(target=field, value="1"),
            Fill(target=field, value="1000"),
            Fill(target=field, value="1", typed=True),
            Fill(target=field, value=Secret(secret="pin")),
            Select(target=field, option="1"),
            Press(key="Enter", target=field),
            Check(target=field, checked=False),
        )
    ]
    assert len(set(forms)) == len(forms)
    assert "pin" in forms[3].value


def test_two_long_names_that_begin_alike_are_two_forms() -> None:
    long = "a" * (limits.FORM_TEXT_CHARS_MAX + 5)
    forms = {action_form(Click(target=Locator(role="button", name=long + end)), None, PAGE).name for end in ("x", "y")}
    assert len(forms) == 2
    assert all(len(name) <= limits.FORM_TEXT_CHARS_MAX for name in forms)


def test_exactly_this_action_differs_by_address_place_and_row() -> None:
    """Guard: protocol/approval/forms.py, action_exact."""
    row = Element(ref="e1", role="button", name="Delete", context="Order 7")
    act = Click(target=Locator(role="button", name="Delete"))
    known = action_exact(act, row, PAGE)
    assert action_exact(act, row, f"{PAGE}#top") == known
    second = Click(target=Locator(role="button", name="Delete", nth=1))
    assert known != action_exact(act, row, f"{SHOP}/products/7?color=blue")
    assert known != action_exact(second, row, PAGE)
    assert known != action_exact(act, msgspec.structs.replace(row, context="Order 8"), PAGE)
    assert action_form(act, row, PAGE) == action_form(second, row, PAGE)


def test_the_form_of_opening_an_address_has_the_address() -> None:
    form = action_form(Goto(url=f"{SHOP}/items/7?do=x"), None, "about:blank")
    assert (form.origin, form.path, form.value) == (SHOP, "/items/{n}", f"{SHOP}/items/7?do=x")


POST = request_form("POST", f"{SHOP}/cart/7/add", "application/json", '{"sku": "a", "qty": 1}')


@each(
    ("method", "url", "kind", "body"),
    [
        ("PUT", f"{SHOP}/cart/8/add", "application/json", '{"sku":"b","qty":2}'),
        ("POST", "https://evil.example/cart/8/add", "application/json", '{"sku":"b","qty":2}'),
        ("POST", f"{SHOP}/cart/8/remove", "application/json", '{"sku":"b","qty":2}'),
        ("POST", f"{SHOP}/cart/8/add?all=1", "application/json", '{"sku":"b","qty":2}'),
        ("POST", f"{SHOP}/cart/8/add", "application/json", '{"sku":"b","qty":2,"role":"admin"}'),
        ("POST", f"{SHOP}/cart/8/add", "application/json", '{"sku":"b","qty":2,"qty":3}'),
        ("POST", f"{SHOP}/cart/8/add", "application/json", '[{"sku":"b","qty":2}]'),
        ("POST", f"{SHOP}/cart/8/add", "application/x-www-form-urlencoded", "sku=b&qty=2"),
        ("POST", f"{SHOP}/cart/8/add", "text/plain", '{"sku":"b","qty":2}'),
        ("POST", f"{SHOP}/cart/8/add", "application/json", None),
        ("POST", f"{SHOP}/cart/8/add", "application/json", ""),
        ("POST", f"{SHOP}/cart%2f8/add", "application/json", '{"sku":"b","qty":2}'),
    ],
)
def test_a_request_of_another_form_is_not_covered(method: str, url: str, kind: str, body: str | None) -> None:
    """Guard: protocol/approval/question.py, Cover.covers."""
    cover = Cover(requests=(POST,), level=7)
    assert cover.covers("post", f"{SHOP}/cart/8/add#x", "application/json; charset=utf-8", '{"qty":2,"sku":"b"}')
    assert not cover.covers(method, url, kind, body)


@each(
    ("one", "other"),
    [
        ('{"operationName":"Cart","query":"q"}', '{"operationName":"DeleteAccount","query":"q"}'),
        ('{"query":"mutation { add }"}', '{"query":"mutation { wipe }"}'),
        ('{"jsonrpc":"2.0","method":"cart.add","params":[1]}', '{"jsonrpc":"2.0","method":"cart.clear","params":[1]}'),
        ('{"action":{"do":1}}', '{"action":{"do":2}}'),
        ('{"calls":[{"method":"save"}]}', '{"calls":[{"method":"delete"}]}'),
        (
            '{"extensions":{"persistedQuery":{"sha256Hash":"a"}}}',
            '{"extensions":{"persistedQuery":{"sha256Hash":"b"}}}',
        ),
    ],
)
def test_a_field_that_chooses_what_is_done_counts_with_its_value(one: str, other: str) -> None:
    """Guard: protocol/approval/forms.py, _names."""
    forms = [request_form("POST", f"{SHOP}/api", "application/json", body) for body in (one, other)]
    assert forms[0] != forms[1]
    query = [request_form("GET", f"{SHOP}/x?{text}") for text in ("action=show&id=1", "action=drop&id=1")]
    assert query[0] != query[1]


def test_a_body_that_is_not_read_as_fields_counts_as_a_whole() -> None:
    one, other = (request_form("POST", f"{SHOP}/x", "text/csv", body) for body in ("a,1", "a,2"))
    assert one != other
    assert one.body.startswith("sha256:")
    assert request_form("POST", f"{SHOP}/x", "multipart/form-data", None).body == UNREAD
    deep = "[" * 100_000
    assert request_form("POST", f"{SHOP}/x", "application/json", deep).body.startswith("sha256:")
    many = "&".join(f"a{number}=1" for number in range(limits.FORM_FIELDS_MAX + 1))
    assert request_form("POST", f"{SHOP}/x", "application/x-www-form-urlencoded", many).body.startswith("sha256:")


def test_a_body_that_sites_read_in_two_ways_counts_as_a_whole() -> None:
    """Guard: protocol/approval/forms.py, _part."""
    form, parts = "application/x-www-form-urlencoded", "multipart/form-data; boundary=B"
    line = 'Content-Disposition: form-data; name="note"'
    for kind, body in (
        (form, "_token=a;_method=delete"),
        (parts, f'--B\r\nX: name="note"\r\n{line}\r\n\r\na\r\n--B--\r\n'),
        (parts, "--B\r\nContent-Disposition: form-data; name=_method\r\n\r\ndelete\r\n--B--\r\n"),
        (parts, f"--B\r\n{line}; name*=utf-8''_method\r\n\r\ndelete\r\n--B--\r\n"),
        (parts, f'--B\r\n{line}; x-name="_method"\r\n\r\ndelete\r\n--B--\r\n'),
        (parts, f"--B\r\n{line}\r\n\r\na\n--B\n{line.replace('note', '_method')}\n\ndelete\r\n--B--\r\n"),
        (parts, f"--B\r\n{line}\r\n\r\na--B\r\n{line.replace('note', '_token')}\r\n\r\nb\r\n--B--\r\n"),
        (parts, f"preamble\r\n--B\r\n{line}\r\n\r\na\r\n--B--\r\n"),
        (parts, '--B\r\nContent-Disposition: form-data; name="a\\"\r\n\r\na\r\n--B--\r\n'),
        (f"{parts}; boundary=C", f"--B\r\n{line}\r\n\r\na\r\n--B--\r\n"),
        ("multipart/form-data; xboundary=B; boundary=C", f"--B\r\n{line}\r\n\r\na\r\n--B--\r\n"),
        ("application/json", '{"\\ud800": 1}'),
    ):
        assert request_form("POST", SHOP, kind, body).body.startswith("sha256:"), body
    whole = request_form("POST", SHOP, parts, f"--B\r\n{line}\r\n\r\na\r\n--B--\r\n")
    assert (whole.body, whole.fields) == ("multipart", ("note",))


def test_what_headers_and_long_texts_say_counts_and_no_length_hides_it() -> None:
    one, other = (
        request_form("POST", SHOP, "", "", (f"x-winter-request-handler: {deed}",)) for deed in ("onSave", "onDelete")
    )
    assert one != other and one.fields == ("x-winter-request-handler: onSave",)
    assert not Cover(requests=(one,)).covers("POST", SHOP, "", "", chosen=other.fields)
    assert [
        level_of(request_form(f"POST as {each}", SHOP)) for each in ("put", "delete", f"put,{'x' * 40},delete")
    ] == [4, 7, 7]
    long = [request_form("POST", f"{SHOP}/{'/' * limits.FORM_TEXT_CHARS_MAX}{end}") for end in ("save", "wipe")]
    assert long[0] != long[1]
    assert request_form("GET", f"{SHOP}/x?a=1;action=drop").query == ("a", "action=drop")


@each(("value", "again", "same"), [("Zk3_9bAq", "p0Tt-77x", True), ("keep", "wipe", False)])
def test_only_what_looks_like_a_token_is_taken_for_one(value: str, again: str, same: bool) -> None:
    """Guard: protocol/approval/leaving.py, _without_nonces."""
    kind = {"content-type": "application/x-www-form-urlencoded"}
    exacts = {request_exact("POST", SHOP, kind, f"nonce={each}&item=7") for each in (value, again)}
    assert (len(exacts) == 1) is same


def test_a_yes_for_once_is_for_the_digest_where_the_body_is_known() -> None:
    unread = request_form("POST", f"{SHOP}/file", "", None)
    known, url = request_form("POST", f"{SHOP}/buy", "", "a"), f"{SHOP}/buy"
    cover = Cover(requests=(known, unread), level=4, exacts=frozenset({b"a" * 32}))
    assert cover.covers("POST", url, "", "a", exact=b"a" * 32)
    assert not cover.covers("POST", url, "", "a", exact=b"b" * 32)
    assert not cover.covers("POST", f"{SHOP}/sell", "", "a", exact=b"a" * 32)
    assert cover.covers("POST", f"{SHOP}/file", "", None)
    assert not cover.covers("POST", url, "", None)


def test_a_preflight_is_covered_where_the_request_it_announces_is() -> None:
    cover = Cover(requests=(POST,), level=4)
    assert cover.covers("POST", f"{SHOP}/cart/9/add", "", "", announced=True)
    assert not cover.covers("DELETE", f"{SHOP}/cart/9/add", "", "", announced=True)
    assert not cover.covers("POST", f"{SHOP}/cart/9/drop", "", "", announced=True)


@each(
    ("kind", "body", "covered"),
    [
        ("application/x-www-form-urlencoded", "sku=7&action=add", True),
        ("application/x-www-form-urlencoded", "sku=7&action=delete", False),
        ("application/x-www-form-urlencoded", "sku=7&_method=PUT", False),
        ("application/json", '{"op":"delete","sku":7}', False),
        ("application/json", '{"op":"add","sku":7}', True),
    ],
)
def test_a_field_that_says_delete_is_no_part_of_what_is_not_known_yet(kind: str, body: str, covered: bool) -> None:
    cover = cover_of(question(open_requests=True), once=False)
    assert cover.covers("POST", f"{SHOP}/cart", kind, body) is covered
    assert cover_of(question(open_requests=True, level=7), once=False).covers("POST", f"{SHOP}/cart", kind, body)
    assert not cover.covers("POST as DELETE", f"{SHOP}/cart", kind, body)


@each(
    ("method", "url", "at_four", "at_seven"),
    [
        ("POST", f"{SHOP}/cart", True, True),
        ("POST", f"{SHOP}/items/7/delete", False, True),
        ("DELETE", f"{SHOP}/cart/7", False, True),
        ("POST", "https://shop.example.evil.test/cart", False, False),
        ("POST", "http://shop.example/cart", False, False),
        ("GET", f"{SHOP}/items/7/delete", False, True),
    ],
)
def test_requests_that_are_not_known_yet_stay_at_the_origin_and_below_the_class(
    method: str, url: str, at_four: bool, at_seven: bool
) -> None:
    """Guard: protocol/approval/question.py, Cover._open."""
    for level, expected in ((4, at_four), (7, at_seven)):
        cover = cover_of(question(level=level, open_requests=True), once=False)
        assert cover.covers(method, url, "application/json", '{"any":1}') is expected
    assert not cover_of(ASKED, once=False).covers("POST", f"{SHOP}/cart", "", "")


# --- approvals -------------------------------------------------------------------------------------------------------


def test_an_approval_by_an_owner_holds_for_its_question() -> None:
    found = held()
    assert (found.owner, found.approval.scope) == (owner_id(bytes(ANNA.verify_key)), "once")
    assert allowed(found, ASKED)


def test_an_approval_that_was_copied_to_another_question_site_or_node_is_refused() -> None:
    """Guard: protocol/approval/approval.py, open_approval."""
    signed, owners = answer(ASKED), begun(NODE)
    for other in (
        question(id=ids.make_id("que", b"1" * 13)),
        question(page=f"{SHOP}/products/8"),
        question(page="https://other.example/products/7"),
        question(level=7),
        question(caller="agent:other"),
        question(open_requests=True),
        question(requests=(POST,)),
        question(search=SEARCH),
        question(evidence=("something else",)),
    ):
        assert refused(open_approval, signed, other, owners, now_ms=NOW_MS)[0] == "approval.invalid"
    there = question(node=OTHER_NODE)
    assert refused(lambda: open_approval(signed, there, begun(OTHER_NODE), now_ms=NOW_MS))[0] == "approval.invalid"


def test_only_an_active_owner_answers() -> None:
    witness, owners = SigningKey(bytes(32)), begun(NODE)
    for key in (witness, BEN):
        code, _ = refused(open_approval, answer(ASKED, key), ASKED, owners, now_ms=NOW_MS)
        assert code == "envelope.key_unknown"
    # Under Anna's id, by another key: the key id differs, and so would the signature.
    header = envelope.EnvelopeHeader(issuer=owner_id(bytes(ANNA.verify_key)), issued_s=NOW_S, unique=UNIQUE)
    forged = envelope.seal(cbor.encode(approval(ASKED)), kind="approval", key=BEN, header=header)
    assert refused(lambda: open_approval(forged, ASKED, owners, now_ms=NOW_MS))[0] == "envelope.key_unknown"
    message = envelope.seal(cbor.encode(approval(ASKED)), kind="owner-change", key=ANNA, header=header)
    assert refused(lambda: open_approval(message, ASKED, owners, now_ms=NOW_MS))[0] == "envelope.kind"
    signed = answer(ASKED)
    broken = signed[:-1] + bytes([signed[-1] ^ 1])
    assert refused(lambda: open_approval(broken, ASKED, owners, now_ms=NOW_MS))[0] == "envelope.signature"


def test_a_revoked_key_answers_nothing_and_what_it_answered_does_not_reopen() -> None:
    """Guard: protocol/approval/owners.py, Owners.find_key."""
    owners = begun(NODE)
    gone = owners.follow(entry(owners, ANNA, act="revoke", by="owner"), now_s=NOW_S)
    assert refused(lambda: open_approval(answer(ASKED), ASKED, gone, now_ms=NOW_MS))[0] == "envelope.key_unknown"
    assert reopen(answer(ASKED), ASKED, owners).approval.yes
    assert refused(lambda: reopen(answer(ASKED), ASKED, gone))[0] == "envelope.key_unknown"


@each("off_s", [-limits.APPROVAL_FRESH_S - 1, limits.APPROVAL_FRESH_S + 1])
def test_an_answer_that_was_signed_at_another_time_is_refused(off_s: int) -> None:
    """Guard: protocol/approval/approval.py, open_approval."""
    signed = answer(ASKED, now_s=NOW_S + off_s, expires_ms=(NOW_S + off_s + 600) * 1000)
    code, _ = refused(lambda: open_approval(signed, ASKED, begun(NODE), now_ms=NOW_MS))
    assert code == "approval.invalid"


@each("after_s", [0, -1, limits.APPROVAL_DAYS_MAX * 86_400 + 1])
def test_an_expiry_is_after_the_signature_and_within_the_limit(after_s: int) -> None:
    signed = answer(ASKED, expires_ms=(NOW_S + after_s) * 1000)
    assert refused(lambda: open_approval(signed, ASKED, begun(NODE), now_ms=NOW_MS))[0] == "approval.invalid"


def test_an_owner_approves_up_to_its_class_and_says_no_to_everything() -> None:
    """Guard: protocol/approval/owners.py, Owners.require."""
    owners = begun(NODE)
    owners = owners.follow(entry(owners, BEN, "ben", by="owner", signer=ANNA, level_max=4), now_s=NOW_S)
    pay = question(level=5)
    assert open_approval(answer(ASKED, BEN), ASKED, owners, now_ms=NOW_MS).approval.yes
    assert refused(lambda: open_approval(answer(pay, BEN), pay, owners, now_ms=NOW_MS))[0] == "owner.refused"
    assert not open_approval(answer(pay, BEN, yes=False), pay, owners, now_ms=NOW_MS).approval.yes


def test_a_scope_that_does_not_fit_the_question_is_refused() -> None:
    assert refused(lambda: held(scope="search"))[0] == "approval.invalid"
    unread = question(kind="request", requests=(request_form("POST", SHOP, "x/y", None),))
    assert held(unread).approval.scope == "once"
    assert refused(lambda: held(unread, scope="site"))[0] == "approval.invalid"


def test_once_is_for_exactly_this_action_of_this_caller() -> None:
    """Guard: protocol/approval/approval.py, holds."""
    found = held()
    assert allowed(found, ASKED)
    assert not allowed(found, ASKED, page=f"{SHOP}/products/8")
    assert not allowed(found, ASKED, caller="agent:other")
    assert not allowed(found, ASKED, caller="owner")


def test_a_search_is_for_the_form_in_that_search_whoever_works_on_it() -> None:
    asked = question(search=SEARCH)
    found = held(asked, scope="search")
    assert allowed(found, asked, page=f"{SHOP}/products/8", search=SEARCH, caller="owner")
    assert not allowed(found, asked, search="sea-AAAAAAAAAAAAAAAAAAAB6")
    assert not allowed(found, asked)
    assert not allowed(found, asked, page="https://other.example/products/8", search=SEARCH)


def test_a_site_is_for_the_form_of_this_caller_everywhere_at_the_origin() -> None:
    """Guard: protocol/approval/approval.py, holds."""
    found = held(scope="site")
    assert allowed(found, ASKED, page=f"{SHOP}/products/9")
    assert allowed(found, ASKED, page=f"{SHOP}/products/9", search=SEARCH)
    assert not allowed(found, ASKED, page=f"{SHOP}/orders/9")
    assert not allowed(found, ASKED, caller="agent:other")
    assert not allowed(found, ASKED, action=Click(target=Locator(role="button", name="Buy now")))


def test_requests_are_allowed_with_the_control_and_page_that_sent_them_and_with_no_other() -> None:
    asked = question(kind="request", requests=(POST,))
    found = held(asked, scope="site")
    other = Press(key="Enter", target=Locator(role="searchbox", name="Find"))
    assert allowed(found, asked, page=f"{SHOP}/products/9")
    assert not allowed(found, asked, action=other, page=f"{SHOP}/products/9", level=1)
    assert not allowed(found, asked, page=f"{SHOP}/help", level=1)
    assert not allowed(found, asked, page="https://other.example/products/9", level=1)


def test_no_answer_allows_an_action_that_has_become_more_dangerous() -> None:
    """Guard: protocol/approval/approval.py, holds."""
    assert allowed(held(), ASKED, level=3)
    assert not allowed(held(), ASKED, level=5)
    assert not allowed(held(yes=False), ASKED)


def test_an_approval_holds_from_its_signature_to_its_expiry() -> None:
    """Guard: protocol/approval/approval.py, holds."""
    found = held()
    assert allowed(found, ASKED, now_ms=NOW_MS + 599_999)
    assert not allowed(found, ASKED, now_ms=NOW_MS + 600_000)
    assert not allowed(found, ASKED, now_ms=NOW_MS - limits.CLOCK_SKEW_S * 1000 - 1), "the clock was set back"


def test_a_key_that_is_kept_elsewhere_signs_the_same_bytes() -> None:
    said = approval(ASKED, scope="site")
    bare = statement(said, bytes(ANNA.verify_key), now_s=NOW_S, unique=UNIQUE)
    joined = envelope.from_signed(bare, ANNA.sign(bare).signature)
    assert joined == seal(said, ANNA, now_s=NOW_S, unique=UNIQUE)
    assert open_approval(joined, ASKED, begun(NODE), now_ms=NOW_MS).approval == said
    for statement_, signature in ((bare, b""), (bare[:-1], bytes(64)), (b"", bytes(64)), (cbor.encode([1]), bytes(64))):
        assert refused(envelope.from_signed, statement_, signature)[0] == "envelope.invalid"


def test_an_approval_with_a_field_that_is_not_known_is_refused() -> None:
    plain = {**msgspec.to_builtins(approval(ASKED), builtin_types=(bytes,)), "all": True}
    header = envelope.EnvelopeHeader(issuer=owner_id(bytes(ANNA.verify_key)), issued_s=NOW_S, unique=UNIQUE)
    sealed = envelope.seal(cbor.encode(plain), kind="approval", key=ANNA, header=header)
    assert refused(lambda: open_approval(sealed, ASKED, begun(NODE), now_ms=NOW_MS))[0] == "message.invalid"


def test_words_of_a_page_stay_between_their_quotation_marks() -> None:
    form = action_form(Click(target=Locator(role="button", name="OK” on https://bank.example")), None, PAGE)
    assert action_words(form).endswith(f"on {SHOP}/products/{{n}}")
    assert digest_of(ASKED) != digest_of(question(action=Click(target=Locator(role="button", name="Add")))), "all of it"


# --- owners ----------------------------------------------------------------------------------------------------------


def test_the_first_key_vouches_for_itself_and_there_is_no_second_first_one() -> None:
    """Guard: protocol/approval/owners.py, Owners.follow."""
    owners = begun(NODE)
    assert [(each.name, each.by, each.level_max) for each in owners.active] == [("anna", "first", 7)]
    assert refused(lambda: owners.follow(entry(owners, BEN, "ben"), now_s=NOW_S))[0] == "owner.change"
    gone = owners.follow(entry(owners, ANNA, act="revoke", by="owner"), now_s=NOW_S)
    assert gone.active == ()
    assert refused(lambda: gone.follow(entry(gone, BEN, "ben"), now_s=NOW_S))[0] == "owner.change"


@each("by", ["owner", "first"])
def test_a_key_cannot_vouch_for_itself_once_there_is_an_owner(by: str) -> None:
    """Guard: protocol/approval/owners.py, Owners._voucher."""
    owners = begun(NODE)
    assert refused(lambda: owners.follow(entry(owners, BEN, "ben", by=by), now_s=NOW_S))[0] in (
        "owner.change",
        "envelope.key_unknown",
    )


def test_an_owner_of_every_class_vouches_for_others_and_one_of_fewer_does_not() -> None:
    """Guard: protocol/approval/owners.py, Owners._voucher."""
    owners = begun(NODE)
    owners = owners.follow(entry(owners, BEN, "ben", by="owner", signer=ANNA, level_max=5), now_s=NOW_S)
    assert [each.name for each in owners.active] == ["anna", "ben"]
    adding = entry(owners, CARL, "carl", by="owner", signer=BEN)
    revoking = entry(owners, ANNA, "anna", act="revoke", by="owner", signer=BEN)
    for change in (adding, revoking):
        assert refused(owners.follow, change, now_s=NOW_S)[0] == "owner.refused"
    leaving = entry(owners, BEN, "ben", act="revoke", by="owner", level_max=5)
    assert [each.name for each in owners.follow(leaving, now_s=NOW_S).active] == ["anna"]


def test_a_change_of_another_node_or_of_an_earlier_state_is_refused() -> None:
    """Guard: protocol/approval/owners.py, Owners.follow."""
    owners, there = begun(NODE), begun(OTHER_NODE)
    adding = entry(owners, BEN, "ben", by="owner", signer=ANNA)
    assert refused(lambda: there.follow(adding, now_s=NOW_S))[0] == "owner.change"
    later = owners.follow(entry(owners, CARL, "carl", by="owner", signer=ANNA), now_s=NOW_S)
    assert refused(lambda: later.follow(adding, now_s=NOW_S))[0] == "owner.change", "replayed"
    again = owners.follow(adding, now_s=NOW_S)
    assert refused(lambda: again.follow(adding, now_s=NOW_S))[0] == "owner.change"


def test_a_signature_over_another_change_is_refused() -> None:
    """Guard: protocol/approval/owners.py, Owners._voucher."""
    owners = begun(NODE)
    signed = entry(owners, BEN, "ben", by="owner", signer=ANNA)
    swapped = msgspec.structs.replace(signed, change=entry(owners, CARL, "carl", by="owner", signer=ANNA).change)
    assert refused(lambda: owners.follow(swapped, now_s=NOW_S))[0] == "owner.change"


def test_a_key_and_a_name_are_used_once() -> None:
    owners = begun(NODE)
    for key, name in ((ANNA, "again"), (BEN, "anna")):
        adding = entry(owners, key, name, by="owner", signer=ANNA)
        assert refused(owners.follow, adding, now_s=NOW_S)[0] == "owner.change"
    owners = owners.follow(entry(owners, BEN, "ben", by="owner", signer=ANNA), now_s=NOW_S)
    owners = owners.follow(entry(owners, BEN, "ben", act="revoke", by="owner"), now_s=NOW_S)
    back = entry(owners, BEN, "ben", by="owner", signer=ANNA)
    assert refused(lambda: owners.follow(back, now_s=NOW_S))[0] == "owner.change", "a revoked key never comes back"
    anew = owners.follow(entry(owners, CARL, "ben", by="owner", signer=ANNA), now_s=NOW_S)
    assert [each.name for each in anew.active] == ["anna", "ben"]


def test_the_recovery_key_lets_a_new_key_in_and_an_old_one_out() -> None:
    owners = begun(NODE)
    owners = owners.follow(entry(owners, BEN, "ben", by="recovery"), now_s=NOW_S)
    assert [(each.name, each.by) for each in owners.active] == [("anna", "first"), ("ben", "recovery")]
    change = owners.change("revoke", "anna", bytes(ANNA.verify_key))
    revoked = owners.follow(OwnerEntry(by="recovery", change=cbor.encode(change)), now_s=NOW_S)
    assert [each.name for each in revoked.active] == ["ben"]
    stray = OwnerEntry(
        by="recovery", change=cbor.encode(change), signed=sign_change(change, BEN, now_s=NOW_S, unique=UNIQUE)
    )
    assert refused(lambda: owners.follow(stray, now_s=NOW_S))[0] == "owner.change"
    nobody = entry(owners, CARL, "carl", by="recovery", signer=BEN)
    assert refused(lambda: owners.follow(nobody, now_s=NOW_S))[0] == "envelope.key_unknown", "it must hold the new key"


def test_there_are_at_most_so_many_owners() -> None:
    owners = begun(NODE)
    for number in range(limits.OWNERS_MAX - 1):
        key = SigningKey(bytes([number + 1]) * 32)
        owners = owners.follow(entry(owners, key, f"o{number}", by="owner", signer=ANNA), now_s=NOW_S)
    one_more = entry(owners, BEN, "ben", by="owner", signer=ANNA)
    assert refused(lambda: owners.follow(one_more, now_s=NOW_S))[0] == "owner.change"
    assert refused(lambda: Owners(node=NODE).named("anna"))[0] == "owner.unknown"
