"""The room of questions and approvals, with live sessions that ask: who is asked, what an answer allows, and what floods nobody."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from nacl.signing import SigningKey

from adapters.ports.browser import Leaving
from node.approvals import Approvals, OwnerKeys
from node.approvals.stored import QUESTIONS
from node.live.acting import Sought
from node.live.acting.asking import Asking
from node.live.sessions.live_sessions import LiveSessions
from node.live.sessions.verbs import LiveVerbs
from node.sessions.actions.action_files import read_live_steps
from node.verbs import OWNER, Caller, CallerKind, called_by
from node.verbs.nodes.approve import AnswerParams, Asked, ListParams, ShownQuestion, ShowParams, StateParams
from node.verbs.nodes.owner import Changed, ChangeParams
from protocol import limits
from protocol.approval.forms import RequestForm, action_exact, action_form, request_form
from protocol.approval.owners import Owners
from protocol.approval.question import Question
from protocol.errors import MeshError
from protocol.feed import FeedKind
from protocol.page.actions.action import Click, Locator
from protocol.recording.records.manifest import effect_of
from protocol.wire import cbor
from tests.owners import ANNA, BEN, NOW_S, answer, entry
from tests.unit.test_live_sessions import ANNA as AGENT
from tests.unit.test_live_sessions import BRUNO, ORIGIN, Bench

DAY_S = 86_400


class Asks(Bench):
    """Live sessions of a node whose owner is asked."""

    def __init__(self, other: Asks | None = None) -> None:
        """other: a node whose store this one has, as after a restart."""
        super().__init__(other.store if other else None)
        self.browsers._attached = True  # so a press is asked about before it, and not only what it sends
        self._more()

    def _more(self, prove: Any = None) -> None:
        self.keys = OwnerKeys(self.witness, self.store, self.clock, prove)
        self.approvals = Approvals(self.witness, self.store, self.clock, self.keys)
        serving = self.live._serving
        self.live = LiveSessions(
            self.witness, self.live._config, self.store, self.clock, self.browsers, serving, self.approvals.asker
        )
        self._run = {verb.name: (verb, run) for verb, run in LiveVerbs(self.live, read_live_steps).bound.items()}

    async def ready(self) -> Asks:
        await self.witness.load()
        await self.approvals.load()
        return self

    @property
    def now_s(self) -> int:
        return self.clock.now_ms() // 1000

    async def change(self, key: SigningKey, name: str, **more: Any) -> Changed:
        made = entry(self.keys.owners, key, name, **more)
        params = ChangeParams(by=made.by, change=made.change.hex(), signed=made.signed.hex())
        return await self.keys.change(params)

    async def questions(self, *, every: bool = False) -> tuple[Asked, ...]:
        return (await self.approvals.listed(ListParams(all=every))).questions

    async def read(self, id: str) -> Question:
        shown = await self.approvals.show(ShowParams(question=id))
        return cbor.decode_as(bytes.fromhex(shown.question), Question)

    async def say(self, id: str, key: SigningKey = ANNA, **more: Any) -> ShownQuestion:
        """Answer a question: yes for once, unless ``more`` says otherwise."""
        more.setdefault("expires_ms", (self.now_s + 600) * 1000)
        signed = answer(await self.read(id), key, now_s=self.now_s, **more)
        return await self.approvals.answer(AnswerParams(question=id, signed=signed.hex()))

    async def buy(self, session: str, **more: Any) -> Any:
        """Press what needs an approval, in a live session."""
        return await self.call("act", session, action='click: {role: button, name: "Buy now"}', **more)

    async def doubt(self, session: str, **more: Any) -> MeshError:
        """How pressing it is refused."""
        with pytest.raises(MeshError) as caught:
            await self.buy(session, **more)
        return caught.value


@pytest.fixture
async def bench() -> Asks:
    made = await Asks().ready()
    await made.change(ANNA, "anna")
    return made


async def code_of(doing: Any) -> str:
    with pytest.raises(MeshError) as caught:
        await doing
    return caught.value.code


async def test_what_the_gate_refuses_becomes_a_question_that_the_error_names(bench: Asks) -> None:
    """Guard: node/live/acting/gate.py, Gate.admit."""
    session = (await bench.open(by=AGENT)).session
    error = await bench.doubt(session, by=AGENT)
    assert len(await bench.questions()) == 1
    asked = (await bench.questions())[0]
    assert (error.code, error.detail["question"]) == ("risk.refused", asked.id)
    assert asked.id in error.message
    assert (asked.kind, asked.caller, asked.site, asked.state) == ("action", "agent:anna", ORIGIN, "open")
    assert asked.does == f"click button “Buy now” on {ORIGIN}/"
    assert asked.risk == error.detail["level"]
    assert asked.reason == error.detail["reason"]
    shown = await bench.approvals.show(ShowParams(question=asked.id))
    assert (shown.open_requests, shown.answer) == (True, None)
    assert (shown.session, shown.step) != ("", 0), "the recorded step, which has a picture of the page"
    feed = await bench.store.feed(after=0, limit=100)
    assert [change.ids for change in feed.changes if change.kind is FeedKind.QUESTION_ASKED] == [(asked.id,)]


async def test_one_yes_covers_the_action_and_its_requests_once(bench: Asks) -> None:
    """Guard: node/approvals/noting.py, Noting.use."""
    session = (await bench.open()).session
    id = (await bench.doubt(session)).detail["question"]
    await bench.say(id)
    acted = await bench.buy(session)
    assert (acted.blocked, bench.site.reached[-1]) == ((), "POST /buy")
    assert (await bench.approvals.show(ShowParams(question=id))).state == "used"
    await bench.call("navigate", session, url=f"{ORIGIN}/")
    again = await bench.doubt(session)
    assert again.detail["question"] != id
    assert bench.site.reached.count("POST /buy") == 1
    rows = [line.line for line in await bench.store.audit_lines() if b'"approval.used"' in line.line]
    assert len(rows) == 1
    assert b"owner:anna" in rows[0]


async def test_nothing_but_what_the_yes_covers_is_sent_and_only_while_the_action_is_performed(bench: Asks) -> None:
    session = (await bench.open()).session
    await bench.say((await bench.doubt(session)).detail["question"], scope="site")
    await bench.buy(session)
    await bench.call("navigate", session, url=f"{ORIGIN}/")
    told = await bench.call("act", session, action='click: {role: button, name: "Tell me"}', approve_class=4)
    assert told.blocked == ("POST /tell",), "the yes was for another action"
    assert bench.site.reached.count("POST /buy") == 1


async def test_requests_that_the_guard_refused_are_asked_about_and_covered_by_their_form(bench: Asks) -> None:
    """Guard: node/live/acting/gate.py, Gate.performed."""
    session = (await bench.open()).session
    press = 'click: {role: button, name: "Tell me"}'
    await bench.call("act", session, action=press, approve_class=4)
    assert len(await bench.questions()) == 1
    asked = (await bench.questions())[0]
    shown = await bench.say(asked.id, scope="site", expires_ms=(bench.now_s + DAY_S) * 1000)
    assert (asked.kind, shown.requests) == ("request", (f"POST {ORIGIN}/tell",))
    assert asked.reason == f"it sends POST {ORIGIN}/tell"
    acted = await bench.call("act", session, action=press, approve_class=4)
    assert (acted.blocked, bench.site.reached[-1]) == ((), "POST /tell")
    error = await bench.refused("act", session, action=press)
    assert error.code == "risk.refused", "that it may send says nothing about the class of the action"


async def test_a_press_under_the_wall_is_done_and_what_it_would_send_is_asked_about_and_sent_once_after_a_yes(
    bench: Asks,
) -> None:
    """Guard: protocol/risk/requests/requests.py, judge_request."""
    bench.browsers._attached = False
    session = (await bench.open(by=AGENT)).session
    held = await bench.buy(session, by=AGENT)
    assert (held.blocked, bench.site.reached.count("POST /buy")) == (("POST /buy",), 0)
    (asked,) = await bench.questions()
    assert (asked.id, asked.kind, asked.caller) == (held.question, "request", "agent:anna")
    assert asked.risk == held.risk >= 4, "what the control says makes the question graver"
    assert (await bench.buy(session, by=AGENT)).question == held.question, "nothing is asked twice"
    await bench.say(held.question)
    assert (await bench.buy(session, by=AGENT)).blocked == ()
    assert bench.site.reached.count("POST /buy") == 1
    await bench.call("navigate", session, by=AGENT, url=f"{ORIGIN}/")
    assert (await bench.buy(session, by=AGENT)).blocked == ("POST /buy",), "the yes was for once"


async def test_who_asked_sees_how_its_question_stands_and_waits_for_the_answer(bench: Asks) -> None:
    """Guard: node/approvals/questions.py, Approvals.state."""
    session = (await bench.open(by=AGENT)).session
    id = (await bench.doubt(session, by=AGENT)).detail["question"]

    async def state(caller: Caller, wait: int = 0) -> str:
        with called_by(caller):
            return (await bench.approvals.state(StateParams(question=id, wait=wait))).state

    assert [await state(AGENT), await state(OWNER)] == ["open", "open"]
    later = msgspec.structs.replace(AGENT, since_ms=bench.clock.now_ms() + 1)
    for other in (BRUNO, later, msgspec.structs.replace(AGENT, kind=CallerKind.SCHEDULE)):
        assert await code_of(state(other)) == "input.not_found"
    waiting = asyncio.ensure_future(state(AGENT, wait=60))
    async with asyncio.timeout(60):
        while not bench.approvals.listeners:  # noqa: ASYNC110 (there is no event to wait for)
            await asyncio.sleep(0)
    await bench.say(id, yes=False)
    assert (await waiting, bench.approvals.listeners) == ("no", [])


async def test_an_agent_lists_its_own_questions_and_answers_none(bench: Asks) -> None:
    """Guard: node/approvals/questions.py, Approvals.listed."""
    from node.verbs.catalogue import CATALOGUE

    id = (await bench.doubt((await bench.open(by=AGENT)).session, by=AGENT)).detail["question"]
    later = msgspec.structs.replace(AGENT, since_ms=bench.clock.now_ms() + 1)
    for caller, seen in ((AGENT, [id]), (OWNER, [id]), (BRUNO, []), (later, [])):
        with called_by(caller):
            assert [each.id for each in await bench.questions(every=True)] == seen, caller
    full = Caller(kind=CallerKind.AGENT, name="x", scopes=frozenset({"read", "record", "replay", "live", "explore"}))
    for name in ("approve.show", "approve.answer", "owner.list", "owner.change"):
        verb = CATALOGUE[name]
        kinds = [kind for kind in CallerKind if kind not in (CallerKind.OWNER, CallerKind.PAGE)]
        others = [msgspec.structs.replace(full, kind=kind) for kind in kinds]
        assert not any(verb.admits(caller) for caller in (full, *others)), name
        assert verb.tool == "", "no client of MCP is offered it"


async def test_the_owners_token_without_a_signature_of_the_owner_answers_nothing(bench: Asks) -> None:
    """A shell in the same account has the token and the files, but not the passphrase."""
    session = (await bench.open()).session
    id = (await bench.doubt(session)).detail["question"]
    witness = SigningKey(bytes(32))
    for key in (witness, BEN):
        assert await code_of(bench.say(id, key)) == "envelope.key_unknown"
    for signed in ("", "00", "zz"):
        assert await code_of(bench.approvals.answer(AnswerParams(question=id, signed=signed))) in (
            "envelope.invalid",
            "input.invalid",
        )
    assert await code_of(bench.change(BEN, "ben")) == "owner.change"
    assert (await bench.approvals.show(ShowParams(question=id))).state == "open"


async def test_an_answer_counts_once_and_for_its_question_only(bench: Asks) -> None:
    """Guard: node/approvals/questions.py, Approvals.answer."""
    session = (await bench.open()).session
    id = (await bench.doubt(session)).detail["question"]
    signed = answer(await bench.read(id), now_s=bench.now_s).hex()
    await bench.approvals.answer(AnswerParams(question=id, signed=signed))
    assert await code_of(bench.approvals.answer(AnswerParams(question=id, signed=signed))) == "approval.closed"
    again = answer(await bench.read(id), now_s=bench.now_s, scope="site", expires_ms=(bench.now_s + DAY_S) * 1000).hex()
    assert await code_of(bench.approvals.answer(AnswerParams(question=id, signed=again))) == "approval.closed"
    await bench.buy(session)
    await bench.call("navigate", session, url=f"{ORIGIN}/")
    other = (await bench.doubt(session)).detail["question"]
    assert await code_of(bench.approvals.answer(AnswerParams(question=other, signed=signed))) == "approval.invalid"


async def test_a_no_is_remembered_and_the_same_is_not_asked_again(bench: Asks) -> None:
    session = (await bench.open()).session
    id = (await bench.doubt(session)).detail["question"]
    await bench.say(id, yes=False)
    assert (await bench.doubt(session)).detail["question"] == id
    assert await bench.questions() == ()
    bench.clock.advance(601_000)
    session = (await bench.open()).session
    assert (await bench.doubt(session)).detail["question"] != id


async def test_a_no_takes_a_yes_back_and_nothing_takes_back_a_no(bench: Asks) -> None:
    session = (await bench.open()).session
    id = (await bench.doubt(session)).detail["question"]
    end_ms = (bench.now_s + DAY_S) * 1000
    await bench.say(id, scope="site", expires_ms=end_ms)
    await bench.buy(session)
    await bench.call("navigate", session, url=f"{ORIGIN}/")
    assert (await bench.say(id, yes=False, scope="site", expires_ms=end_ms)).state == "no"
    assert (await bench.doubt(session)).code == "risk.refused"
    assert await code_of(bench.say(id, scope="site", expires_ms=end_ms)) == "approval.closed"
    await bench.approvals.load()
    assert (await bench.doubt(session)).code == "risk.refused", "nor does a restart"


async def test_a_question_about_requests_has_the_class_of_what_they_do(bench: Asks) -> None:
    """Guard: protocol/approval/question.py, level_of."""
    asker = bench.approvals.asker(OWNER)
    known: dict[tuple[str, str, tuple[str, ...]], int] = {
        ("POST", "/rows/{n}", ()): 4,
        ("POST", "/rows", ("_method=PUT", "name")): 4,
        ("DELETE", "/rows/{n}", ()): 7,
        ("POST", "/rows/{n}/delete", ()): 7,
        ("POST", "/rows", ("_method=DELETE",)): 7,
        ("POST", "/rows", ("action=delete", "id")): 7,
    }
    for method, path, fields in known:
        assert await asker.ask(made_up(0), (RequestForm(method=method, origin=ORIGIN, path=path, fields=fields),))
    assert [asked.risk for asked in await bench.questions()][::-1] == list(known.values()), "the latest first"


async def test_an_open_question_whose_time_is_over_stays_over_with_the_clock_set_back(bench: Asks) -> None:
    """Guard: node/approvals/keeping.py, KeptQuestions._now_ms."""
    session = (await bench.open()).session
    id = (await bench.doubt(session)).detail["question"]
    await bench.say(id, scope="site")
    sought = await _sought(bench, id)
    bench.clock.advance(600_000)
    assert not bench.approvals.answered(sought, OWNER)
    bench.clock._now_ms -= 300_000
    assert not bench.approvals.answered(sought, OWNER), "nothing was stored in between"


async def test_a_clock_that_is_accepted_ends_every_yes_and_takes_new_ones(bench: Asks) -> None:
    """Guard: node/approvals/keeping.py, KeptQuestions.accept_clock."""
    session = (await bench.open()).session
    id = (await bench.doubt(session)).detail["question"]
    await bench.say(id, scope="site", expires_ms=(bench.now_s + 20 * DAY_S) * 1000)
    bench.clock.advance(10 * DAY_S * 1000)
    await bench.questions()
    bench.clock._now_ms -= 10 * DAY_S * 1000
    again = (await bench.open(by=AGENT)).session
    other = (await bench.doubt(again, by=AGENT)).detail["question"]
    assert await code_of(bench.say(other)) == "approval.invalid", "signed ten days before the latest time"
    assert await bench.approvals.accept_clock(bench.clock.now_ms()) == 1
    assert [asked.state for asked in await bench.questions(every=True)] == ["over", "over"]
    fresh = (await bench.doubt(again, by=AGENT)).detail["question"]
    await bench.say(fresh)
    restarted = await Asks(bench).ready()
    assert restarted.approvals.latest_ms <= bench.clock.now_ms()


async def test_an_approval_ends_with_its_time_and_a_clock_that_is_set_back_revives_nothing(bench: Asks) -> None:
    session = (await bench.open()).session
    id = (await bench.doubt(session)).detail["question"]
    await bench.say(id, scope="site")
    bench.clock.advance(600_000)
    sought = await _sought(bench, id)
    assert not bench.approvals.answered(sought, OWNER, "")
    again = await Asks(bench).ready()
    again.clock._now_ms = bench.clock.now_ms() - 300_000
    assert not again.approvals.answered(sought, OWNER, "")
    assert [asked.state for asked in await again.questions(every=True)][-1] == "over"


async def _sought(bench: Asks, id: str) -> Sought:
    question = await bench.read(id)
    return Sought(
        exact=question.exact, form=question.action, page=question.page, level=question.level, evidence=question.evidence
    )


async def test_answers_outlive_a_restart_and_what_was_used_stays_used(bench: Asks) -> None:
    session = (await bench.open()).session
    once = (await bench.doubt(session)).detail["question"]
    await bench.say(once)
    await bench.buy(session)
    await bench.call("navigate", session, url=f"{ORIGIN}/")
    site = (await bench.doubt(session)).detail["question"]
    await bench.say(site, scope="site")
    sought = await _sought(bench, site)
    again = await Asks(bench).ready()
    assert [each.name for each in again.keys.owners.active] == ["anna"]
    states = {asked.id: asked.state for asked in await again.questions(every=True)}
    assert states == {once: "used", site: "yes"}
    assert again.approvals.answered(sought, OWNER, "")


async def test_a_revoked_key_takes_its_answers_along(bench: Asks) -> None:
    """Guard: node/approvals/keeping.py, KeptQuestions._revoked."""
    await bench.change(BEN, "ben", by="owner", signer=ANNA)
    session = (await bench.open()).session
    id = (await bench.doubt(session)).detail["question"]
    await bench.say(id, BEN, scope="site")
    revoked = await bench.change(BEN, "ben", act="revoke", by="owner", signer=ANNA)
    assert (revoked.state, revoked.ended) == ("revoked", 1)
    assert (await bench.doubt(session)).detail["question"] != id
    assert await code_of(bench.say((await bench.questions())[0].id, BEN)) == "envelope.key_unknown"


async def test_another_agent_of_the_same_name_has_none_of_its_answers(bench: Asks) -> None:
    """Guard: node/approvals/noting.py, Noting._fits."""
    session = (await bench.open(by=AGENT)).session
    id = (await bench.doubt(session, by=AGENT)).detail["question"]
    await bench.say(id, scope="site")
    sought = await _sought(bench, id)
    later = msgspec.structs.replace(AGENT, since_ms=bench.clock.now_ms() + 1)
    assert bench.approvals.answered(sought, AGENT, "")
    assert not bench.approvals.answered(sought, later, "")
    assert not bench.approvals.answered(sought, BRUNO, "")
    assert not bench.approvals.answered(sought, OWNER, "")


def made_up(number: int, origin: str = ORIGIN) -> Sought:
    """One of the many forms that a page can make up."""
    action = Click(target=Locator(role="button", name=f"Button {number}"))
    form = action_form(action, None, f"{origin}/")
    return Sought(exact=action_exact(action, None, origin), form=form, page=origin, level=4, evidence=("unknown",))


@pytest.mark.parametrize("restarted", [False, True])
async def test_a_yes_for_a_site_ends_where_nobody_knows_if_what_it_sent_arrived(bench: Asks, restarted: bool) -> None:
    """Guard: node/approvals/keeping.py, with_fate."""
    asker, sought = bench.approvals.asker(AGENT), made_up(1)
    form = request_form("POST", f"{ORIGIN}/buy")
    effect = effect_of("POST", f"{ORIGIN}/buy")
    leaving = Leaving(number=1, url=f"{ORIGIN}/buy", form=form, exact=bytes(32), effect=effect)
    question = await asker.hold(sought, leaving, leaving.url)
    answering = asyncio.ensure_future(bench.say(question, scope="site"))
    await asker.answered(question)
    assert await asker.spend(question)
    if restarted:
        bench = await Asks(bench).ready()
    else:
        await asker.became(question, "unknown")
    shown = await bench.approvals.show(ShowParams(question=question))
    assert (shown.state, shown.held) == ("over", "unknown")
    assert await bench.approvals.asker(AGENT).covers(sought) == ()
    answering.cancel()


async def test_what_a_control_sends_now_takes_the_place_of_the_question_about_what_it_sent_before(bench: Asks) -> None:
    asker, forms = bench.approvals.asker(AGENT), (request_form("POST", f"{ORIGIN}/buy"),)

    async def ask(body: bytes, number: int = 1) -> str:
        return await asker.ask(made_up(number), forms, (body,))

    first, other = await ask(b"a" * 32), await ask(b"a" * 32, 2)
    assert await ask(b"a" * 32) == first
    second = await ask(b"b" * 32)
    assert {each.id for each in await bench.questions()} == {other, second}
    await bench.say(second, yes=False)
    assert await ask(b"b" * 32) == second, "a no to it is not asked again"


async def test_no_page_and_no_agent_floods_the_owner(bench: Asks) -> None:
    """Guard: node/approvals/noting.py, Noting._full."""
    asker: Asking = bench.approvals.asker(AGENT)
    asked = [await asker.ask(made_up(number)) for number in range(50)]
    assert sum(map(bool, asked)) == limits.QUESTIONS_PER_SITE_MAX
    for site in range(50):
        for number in range(20):
            await asker.ask(made_up(number, f"http://s{site}.test"))
    assert len(await bench.questions()) == limits.QUESTIONS_PER_CALLER_MAX
    for name in range(9):
        other = bench.approvals.asker(msgspec.structs.replace(AGENT, name=f"a{name}"))
        for number in range(80):
            await other.ask(made_up(number, f"http://s{number}.test"))
    assert len(await bench.questions()) == limits.QUESTIONS_OPEN_MAX
    assert await bench.approvals.asker(OWNER).ask(made_up(1)), "what the owner does itself is still asked"


async def test_what_a_search_left_behind_does_not_keep_the_next_one_from_asking(bench: Asks) -> None:
    one, other = (bench.approvals.asker(OWNER, f"sea-{letter * 21}") for letter in "AB")
    first = [await one.ask(made_up(number)) for number in range(limits.QUESTIONS_PER_SITE_MAX + 1)]
    assert first[-1] == ""
    assert await other.ask(made_up(0))
    assert len(await bench.questions()) == limits.QUESTIONS_PER_SITE_MAX
    assert first[0] not in {asked.id for asked in await bench.questions()}
    assert await bench.approvals.asker(OWNER).ask(made_up(1)), "so does a live session"


async def test_the_same_form_is_counted_and_hardly_ever_written(bench: Asks) -> None:
    written: list[str] = []
    put = bench.store.put_row

    async def counting(*args: Any, **more: Any) -> None:
        written.append("")
        await put(*args, **more)

    bench.store.put_row = counting  # type: ignore[method-assign]
    asker = bench.approvals.asker(AGENT)
    found = {await asker.ask(made_up(1)) for _ in range(1_000)}
    assert len(found) == 1
    assert (await bench.questions())[0].times == 1_000
    assert len(written) <= 10


async def test_old_questions_make_room_and_open_ones_do_not_wait_for_ever(bench: Asks) -> None:
    asker = bench.approvals.asker(AGENT)
    first = await asker.ask(made_up(0))
    bench.clock.advance(limits.QUESTION_DAYS * DAY_S * 1000)
    assert await bench.questions() == ()
    assert await code_of(bench.say(first)) == "approval.closed"
    for number in range(limits.QUESTIONS_KEPT_MAX + 40):
        await asker.ask(made_up(number, f"http://s{number}.test"))
        if number % 50 == 0:
            bench.clock.advance(limits.QUESTION_DAYS * DAY_S * 1000)
    assert len(await bench.questions(every=True)) <= limits.QUESTIONS_KEPT_MAX
    assert len(await bench.store.rows(QUESTIONS).find()) <= limits.QUESTIONS_KEPT_MAX


async def test_what_has_no_origin_is_not_asked_about(bench: Asks) -> None:
    assert await bench.approvals.asker(OWNER).ask(made_up(1, "about:blank")) == ""


async def test_a_secret_stands_in_no_question(bench: Asks) -> None:
    """Guard: node/live/acting/asking.py, askable."""
    from node.live.acting.asking import askable
    from protocol.page.secrets.secrets import GivenSecret, Secrets

    secrets = Secrets({"pin": GivenSecret(value="hunter2", origins=(ORIGIN,))}, begins=ORIGIN)
    clean = request_form("POST", f"{ORIGIN}/tell")
    assert askable((clean, request_form("POST", f"{ORIGIN}/tell/hunter2")), secrets) == (clean,)


async def test_a_signed_change_that_breaks_the_rules_is_not_signed_by_the_node(bench: Asks) -> None:
    before = bench.witness.log.checkpoint.size
    assert await code_of(bench.change(BEN, "anna", by="owner", signer=ANNA)) == "owner.change"
    assert bench.witness.log.checkpoint.size == before
    await bench.change(BEN, "ben", by="owner", signer=ANNA)
    assert bench.witness.log.checkpoint.size == before + 1


async def test_the_recovery_key_has_to_be_shown_to_the_node(bench: Asks) -> None:
    """Guard: node/approvals/owner_keys.py, OwnerKeys.change."""
    made = entry(bench.keys.owners, BEN, "ben", by="recovery")
    params = ChangeParams(by="recovery", change=made.change.hex(), signed=made.signed.hex(), words_file="/x")
    assert await code_of(bench.keys.change(params)) == "recovery.invalid"
    shown: list[tuple[str, str]] = []

    async def prove(*files: str) -> None:
        shown.append((files[0], files[1]))

    bench._more(prove)
    await bench.keys.load()
    await bench.keys.change(params)
    assert shown == [("", "/x")]
    assert [each.name for each in bench.keys.owners.active] == ["anna", "ben"]


async def test_a_chain_in_the_store_is_read_up_to_what_holds(bench: Asks) -> None:
    await bench.change(BEN, "ben", by="owner", signer=ANNA)
    again = await Asks(bench).ready()
    assert again.keys.owners == bench.keys.owners
    assert again.keys.owners != Owners(node=again.witness.node)
    listed = await again.keys.listed()
    assert [(each.name, each.state, each.added_ms) for each in listed.owners] == [
        ("anna", "active", NOW_S * 1000),
        ("ben", "active", NOW_S * 1000),
    ]
