"""Creates a capsule from a login that is performed now.

A login is kept only with proof: a page differs between a fresh browser with the state and one without it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable
from typing import Any, Protocol

import msgspec

from adapters.ports.browser import BrowserState, Context, Passkey
from node.capsules.logins.capturing import Capturing
from node.capsules.logins.passkeys import Heard, Passkeys
from node.capsules.seal.basic_login import with_given
from node.capsules.seal.browser_state import from_browser
from node.capsules.seal.login_state import digests
from node.capsules.seal.proving import StateToProve
from node.capsules.seal.reading import state_of
from node.capsules.seal.sealing import within
from node.signing import Witness
from node.verbs import Bound, Tell
from node.verbs.capsules import capsule_login as verbs
from node.verbs.capsules.capsule import PolicyParams
from node.verbs.capsules.capsule_login import KeepParams, LoggedIn, LoginParams
from node.verbs.sessions.session_results import RecordedSession
from protocol.capsule.capsule import BrowserProfile, CapsuleHeader
from protocol.capsule.flows.login import Look, judge_login
from protocol.capsule.hidden import hidden_values
from protocol.capsule.state import CapsuleState
from protocol.errors import MeshError
from protocol.goal import condition
from protocol.page.seen.web_address import require_web
from protocol.recording.records.session import BrowserInfo, Profile
from protocol.trust.origin import origin_of, parse_pattern, widest


class Perform(Protocol):
    """Records the actions of a file; implemented by the room of sessions."""

    def __call__(
        self,
        text: str,
        *,
        name: str,
        secrets: Any,
        allow: tuple[str, ...],
        approve_class: int,
        tell: Tell,
        after: Any,
        before: Any,
        makes: Any,
        persistent: bool,
    ) -> Awaitable[RecordedSession]:
        """before: called with the context and its blank page. after: called once all actions are done, before the context is
        closed. makes: called after each action, to redact what it made. persistent: True for a browser with a profile of its own.
        """


class ProvenLogin(msgspec.Struct, frozen=True, kw_only=True):
    """A login that was done, and its proof."""

    url: str
    until: condition.Condition | None
    state: CapsuleState
    browser: BrowserInfo
    profile: Profile
    session: str = ""


class Logins:
    """Logs in, and keeps logins."""

    def __init__(self, capturing: Capturing, witness: Witness, perform: Perform, passkeys: Passkeys) -> None:
        self._capturing, self._witness = capturing, witness
        self._perform, self._passkeys = perform, passkeys
        self.bound: Bound = {
            verbs.LOGIN: self.login,
            verbs.KEEP: self.keep,
        }

    async def login(self, given: LoginParams, tell: Tell) -> LoggedIn:
        """Perform the steps of a file, and keep what the browser holds after them.

        Checks, in order: this node may sign; address and condition; the steps; that the browser holds something and the page asks
        for no login (``judge_login``); the proof. Errors: those of ``Recordings.record``; ``capsule.not_logged_in``,
        ``capsule.unproven``, those of ``Capsules.keep``.
        """
        self._witness.check_signs()
        require_web(given.url)
        until = _condition(given.until)
        if not given.actions:
            raise MeshError("input.invalid", "name the action file that logs in with --with")
        origins = _origins(given, await self._capturing.replaced(given), given.url)
        held: list[CapsuleState] = []
        registered: list[int] = []
        lent = await self._lent(given)
        heard = Heard(self._passkeys, tell)

        async def before(context: Context) -> None:
            if given.passkey or given.register_passkey:
                await context.hold_passkeys(lent, heard.hear)

        async def after(context: Context) -> None:
            await heard.kept()
            await self._passkeys.keep(now_held := await context.passkeys())
            registered.append(len({each.credential for each in now_held} - {each.credential for each in lent}))
            if given.register_passkey and not registered[0]:
                raise MeshError("capsule.no_passkey", "the steps are done, and the site has made no passkey")
            seen = await context.pages[0].observe()
            found = await (context.last_state(origins) if given.slice else context.state(whole=True))
            state = with_given(await asyncio.to_thread(from_browser, found, CapsuleState()), given.secrets, given.url)
            if given.slice and not state.slice:
                tell({"note": "there is no slice: the browser keeps no IndexedDB of the origins of the capsule"})
            now = Look(seen=seen, held=await asyncio.to_thread(digests, state))
            # The condition is about the page at ``url``, which the proof opens, and not about the page where the steps end.
            if fails := judge_login(Look(), now, None):
                raise MeshError("capsule.not_logged_in", fails)
            held.append(state)

        async def makes(context: Context) -> Iterable[str]:
            # A page can show what it has just stored, and the session of the login may go to others.
            return await asyncio.to_thread(_secrets_of, await context.state(whole=True))

        try:
            done = await self._perform(
                given.actions,
                name=given.name,
                secrets=given.secrets,
                allow=given.allow,
                approve_class=given.approve_class,
                tell=tell,
                after=after,
                before=before,
                makes=makes,
                persistent=given.slice,
            )
        finally:
            await heard.kept()  # kept even if the steps failed: the site knows these passkeys
        login = ProvenLogin(
            url=given.url,
            until=until,
            state=held[0],
            browser=done.browser,
            profile=done.profile,
            session=done.id,
        )
        kept = await self._kept(given, login, tell)
        await self._passkeys.note(heard.used, proven=True)
        return msgspec.structs.replace(kept, registered=registered[0])

    async def _lent(self, given: LoginParams) -> tuple[Passkey, ...]:
        """The passkeys that the browser gets. A new one is registered beside existing ones: the site refuses one too many.

        Errors: ``capsule.no_passkey``, ``store.*``.
        """
        if not given.passkey and not given.register_passkey:
            return ()
        try:
            return await self._passkeys.lend(given.url)
        except MeshError as error:
            if given.passkey or error.code != "capsule.no_passkey":
                raise
            return ()

    async def keep(self, given: KeepParams, tell: Tell) -> LoggedIn:
        """Keep the state of the window in which a person logged in. Errors: as ``login``, without those of the steps."""
        self._witness.check_signs()
        require_web(given.url)
        state = await asyncio.to_thread(_state_of, given.storage)
        until = _condition(given.until)
        login = ProvenLogin(url=given.url, until=until, state=state, browser=given.browser, profile=given.profile)
        return await self._kept(given, login, tell)

    async def _kept(self, given: PolicyParams, login: ProvenLogin, tell: Tell) -> LoggedIn:
        before = await self._capturing.replaced(given)
        origins = _origins(given, before, login.url)
        asked = StateToProve(
            state=within(login.state, origins),
            origins=origins,
            page=login.url,
            until=login.until,
            profile=login.profile,
            whole=given.whole,
            must=True,
        )
        try:
            shown = await self._capturing.prove(asked, tell)
        except MeshError as error:
            if login.session:
                error.detail["session"] = login.session
            raise
        browser = BrowserProfile(name=login.browser.name, version=login.browser.version, profile=login.profile)
        policy = msgspec.structs.replace(given, origins=origins)
        kept = await self._capturing.keep(policy, login.state, browser, shown)
        return LoggedIn(**msgspec.structs.asdict(kept), session=login.session)


def _origins(given: PolicyParams, before: CapsuleHeader | None, url: str) -> tuple[str, ...]:
    """Patterns of the origins whose state a login at ``url`` keeps. before: the capsule that newer state is for."""
    if before is not None:
        return before.policy.origins
    return widest(parse_pattern(each) for each in given.origins or (origin_of(url),))


def _secrets_of(held: BrowserState) -> Iterable[str]:
    return hidden_values(from_browser(held, CapsuleState())).values()


def _state_of(storage: str) -> CapsuleState:
    """The state in a command. Errors: ``input.invalid``, which quotes nothing of it."""
    try:
        found = msgspec.json.decode(storage)
    except msgspec.DecodeError:
        raise MeshError("input.invalid", "this is not the state of a browser") from None
    return state_of(found)


def _condition(given: Any) -> condition.Condition | None:
    return None if given is None else condition.parse(given)
