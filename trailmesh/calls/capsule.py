# Written by `make client` from node/verbs/; change the declarations instead.
"""The verbs ``capsule.*`` as methods (docs/verbs.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from trailmesh.client.calling import NOTHING, BlockingCalls, Calls, Progress
from trailmesh.records.capsule import (
    BrowserInfo,
    CapsuleList,
    CapsuleTerms,
    CapturedCapsule,
    ChangedPolicy,
    CheckedCapsule,
    ExportedCapsule,
    GivenSecret,
    GrantedList,
    KeptCapsule,
    LoggedIn,
    OfferedCapsule,
    Profile,
    RefreshedCapsule,
    RemovedCapsule,
    RequestedCapsule,
    RevokedCapsule,
    ShownCapsule,
    UnsealedCapsule,
    WorkDone,
)


class CapsuleVerbs(Calls):
    """The verbs ``capsule.*``."""

    async def capture(
        self,
        *,
        name: str = "",
        origins: Sequence[str] = (),
        purpose: str = "",
        tasks: Sequence[Literal["explore", "live", "record", "replay", "schedule"]] = (),
        class_max: int = 2,
        replays_max: int = 100,
        expires_s: int = 0,
        fresh_s: int = 86400,
        mfa_s: int = 0,
        mfa_now: bool = False,
        cross_device: bool = False,
        cross_installation: bool = False,
        consent: bool = False,
        no_probes: bool = False,
        whole: bool = False,
        replaces: str = "",
        file: str = "",
        live: str = "",
        unproven: bool = False,
        user_agent: str = "",
        page: str = "",
        shows: str = "",
        secrets: Mapping[str, GivenSecret | Mapping[str, Any]] = NOTHING,
        progress: Progress | None = None,
    ) -> CapturedCapsule:
        """Keep the login that a file or a live session holds, sealed to this node under a policy.

        name: A name for it. [default: the first host]
        origins: Origin that a browser may contact while it holds the state; may be given again. State of others
        is left out. [default: all that the file has state of; of a login, that of URL]
        purpose: What the login is for, in one line.
        tasks: Kind of work it may be used for; may be given again. [default: every kind]
        class_max: The highest risk class of requests that leave; 1 to 3 allow reads only (docs/risk.md).
        replays_max: How often it may be used.
        expires_s: When it ends, from now: `12h`, `30d`. [default: 7d]
        fresh_s: How long another node may use it without hearing from this one; 0 for never.
        mfa_s: How old the second factor of the login may be when it is used; 0 if none is needed.
        mfa_now: A second factor was given for this login just now.
        cross_device: Let it be used on other machines.
        cross_installation: Let other nodes use it.
        consent: Let nobody use it before an owner has signed (`trailmesh capsule consent`).
        no_probes: Ask for a yes before every press, except links and controls that certainly only read.
        whole: Keep all state of the origins, even state that the page did not need.
        replaces: Capsule to replace with this newer state. It keeps its id, name, policy and grants to agents.
        file: Storage state of Playwright, cookies as JSON, cookies.txt, or a command line of cURL.
        live: Live session with the login, in place of a file. Its current page must need the login.
        unproven: Keep it without checking it on the site, for example if the site cannot be reached from here.
        user_agent: User agent of the browser that the file is from.
        page: Page that only a logged-in user sees: `capsule check` and `capsule refresh` open it.
        shows: Text that this page shows to a logged-in user.
        secrets: USER:PASSWORD for HTTP basic authentication of an origin, and its source (docs/risk.md). Repeat
        for more.
        progress: is told what happens meanwhile.
        """
        found: CapturedCapsule = await self._call(
            "capsule.capture",
            {
                "name": name,
                "origins": origins,
                "purpose": purpose,
                "tasks": tasks,
                "class_max": class_max,
                "replays_max": replays_max,
                "expires_s": expires_s,
                "fresh_s": fresh_s,
                "mfa_s": mfa_s,
                "mfa_now": mfa_now,
                "cross_device": cross_device,
                "cross_installation": cross_installation,
                "consent": consent,
                "no_probes": no_probes,
                "whole": whole,
                "replaces": replaces,
                "file": file,
                "live": live,
                "unproven": unproven,
                "user_agent": user_agent,
                "page": page,
                "shows": shows,
                "secrets": secrets,
            },
            progress,
            CapturedCapsule,
        )
        return found

    async def list(self, *, progress: Progress | None = None) -> CapsuleList:
        """List the capsules on this node.

        progress: is told what happens meanwhile.
        """
        found: CapsuleList = await self._call("capsule.list", {}, progress, CapsuleList)
        return found

    async def granted(self, *, progress: Progress | None = None) -> GrantedList:
        """List the logins with which the caller may begin its work, by the name that `--capsule` and `capsule`
        take.

        progress: is told what happens meanwhile.
        """
        found: GrantedList = await self._call("capsule.granted", {}, progress, GrantedList)
        return found

    async def show(self, capsule: str, *, names: bool = False, progress: Progress | None = None) -> ShownCapsule:
        """Show a capsule: its policy, and the amount of state of each origin.

        capsule: Id or name of the capsule.
        names: Open it and list its state by name, host and expiry, never with values.
        progress: is told what happens meanwhile.
        """
        found: ShownCapsule = await self._call(
            "capsule.show", {"capsule": capsule, "names": names}, progress, ShownCapsule
        )
        return found

    async def terms(self, capsule: str, *, owner: str, to: str = "", progress: Progress | None = None) -> CapsuleTerms:
        """Return the terms that an owner signs to consent: `trailmesh capsule consent` shows them.

        capsule: Id or name of the capsule.
        to: Name or id of the peer that it will be exported to.
        owner: Public key of the owner who consents, in hexadecimal.
        progress: is told what happens meanwhile.
        """
        found: CapsuleTerms = await self._call(
            "capsule.terms", {"capsule": capsule, "to": to, "owner": owner}, progress, CapsuleTerms
        )
        return found

    async def consent(
        self, capsule: str, *, owner: str, signed: str, to: str = "", progress: Progress | None = None
    ) -> KeptCapsule:
        """Store an owner's signed consent: `trailmesh capsule consent` signs it and calls this.

        capsule: Id or name of the capsule.
        to: Name or id of the peer that it will be exported to.
        owner: Public key of the owner who consents, in hexadecimal.
        signed: The consent, an envelope, in hexadecimal.
        progress: is told what happens meanwhile.
        """
        found: KeptCapsule = await self._call(
            "capsule.consent", {"capsule": capsule, "to": to, "owner": owner, "signed": signed}, progress, KeptCapsule
        )
        return found

    async def export(self, capsule: str, *, to: str, out: str, progress: Progress | None = None) -> ExportedCapsule:
        """Seal a capsule to a peer, and write it to a file.

        capsule: Id or name of the capsule.
        to: Name or id of the peer that can open it.
        out: Where to write it.
        progress: is told what happens meanwhile.
        """
        found: ExportedCapsule = await self._call(
            "capsule.export", {"capsule": capsule, "to": to, "out": out}, progress, ExportedCapsule
        )
        return found

    async def import_(self, file: str, *, slice: bool = False, progress: Progress | None = None) -> KeptCapsule:
        """Keep a capsule that a peer exported to this node.

        file: The file of an export.
        slice: Accept files of the other node's browser profile, if the capsule has some. The browser of this
        machine reads them outside of its sandbox.
        progress: is told what happens meanwhile.
        """
        found: KeptCapsule = await self._call("capsule.import", {"file": file, "slice": slice}, progress, KeptCapsule)
        return found

    async def remove(self, capsule: str, *, progress: Progress | None = None) -> RemovedCapsule:
        """Delete a capsule from this node. Its count of uses is kept until it expires.

        capsule: Id or name of the capsule.
        progress: is told what happens meanwhile.
        """
        found: RemovedCapsule = await self._call("capsule.remove", {"capsule": capsule}, progress, RemovedCapsule)
        return found

    async def policy(
        self,
        capsule: str,
        *,
        widen: bool = False,
        origins: Sequence[str] = (),
        tasks: Sequence[Literal["explore", "live", "record", "replay", "schedule"]] = (),
        purpose: str = "",
        class_max: int | None = None,
        replays_max: int | None = None,
        expires_s: int = 0,
        fresh_s: int | None = None,
        mfa_s: int | None = None,
        cross_device: Literal["", "no", "yes"] = "",
        cross_installation: Literal["", "no", "yes"] = "",
        consent: Literal["", "no", "yes"] = "",
        probes: Literal["", "no", "yes"] = "",
        progress: Progress | None = None,
    ) -> ChangedPolicy:
        """Change the policy of a capsule of this node. Fields that are not named stay unchanged.

        capsule: Id or name of the capsule.
        widen: Let it allow more than before. Grants under the old policy end.
        origins: All origins that a browser may contact; may be given again. State of others is left out.
        tasks: All kinds of work it may be used for; may be given again.
        purpose: What the login is for, in one line.
        class_max: The highest risk class of requests that leave; 1 to 3 allow reads only.
        replays_max: How often it may be used, including earlier uses.
        expires_s: When it ends, from now: `12h`, `30d`.
        fresh_s: How long another node may use it without hearing from this one.
        mfa_s: How old the second factor may be; 0 if none is needed.
        cross_device: Whether other machines may use it.
        cross_installation: Whether other nodes may use it.
        consent: Whether an owner must sign first.
        probes: Whether controls may be pressed that are neither links nor certain to only read.
        progress: is told what happens meanwhile.
        """
        found: ChangedPolicy = await self._call(
            "capsule.policy",
            {
                "capsule": capsule,
                "widen": widen,
                "origins": origins,
                "tasks": tasks,
                "purpose": purpose,
                "class_max": class_max,
                "replays_max": replays_max,
                "expires_s": expires_s,
                "fresh_s": fresh_s,
                "mfa_s": mfa_s,
                "cross_device": cross_device,
                "cross_installation": cross_installation,
                "consent": consent,
                "probes": probes,
            },
            progress,
            ChangedPolicy,
        )
        return found

    async def login(
        self,
        url: str,
        *,
        name: str = "",
        origins: Sequence[str] = (),
        purpose: str = "",
        tasks: Sequence[Literal["explore", "live", "record", "replay", "schedule"]] = (),
        class_max: int = 2,
        replays_max: int = 100,
        expires_s: int = 0,
        fresh_s: int = 86400,
        mfa_s: int = 0,
        mfa_now: bool = False,
        cross_device: bool = False,
        cross_installation: bool = False,
        consent: bool = False,
        no_probes: bool = False,
        whole: bool = False,
        replaces: str = "",
        actions: str = "",
        until: Any = None,
        secrets: Mapping[str, GivenSecret | Mapping[str, Any]] = NOTHING,
        allow: Sequence[str] = (),
        approve_class: int = 0,
        passkey: bool = False,
        register_passkey: bool = False,
        slice: bool = False,
        progress: Progress | None = None,
    ) -> LoggedIn:
        """Log in, and keep the login as a capsule.

        name: A name for it. [default: the first host]
        origins: Origin that a browser may contact while it holds the state; may be given again. State of others
        is left out. [default: all that the file has state of; of a login, that of URL]
        purpose: What the login is for, in one line.
        tasks: Kind of work it may be used for; may be given again. [default: every kind]
        class_max: The highest risk class of requests that leave; 1 to 3 allow reads only (docs/risk.md).
        replays_max: How often it may be used.
        expires_s: When it ends, from now: `12h`, `30d`. [default: 7d]
        fresh_s: How long another node may use it without hearing from this one; 0 for never.
        mfa_s: How old the second factor of the login may be when it is used; 0 if none is needed.
        mfa_now: A second factor was given for this login just now.
        cross_device: Let it be used on other machines.
        cross_installation: Let other nodes use it.
        consent: Let nobody use it before an owner has signed (`trailmesh capsule consent`).
        no_probes: Ask for a yes before every press, except links and controls that certainly only read.
        whole: Keep all state of the origins, even state that the page did not need.
        replaces: Capsule to replace with this newer state. It keeps its id, name, policy and grants to agents.
        url: Address that needs the login: it is where a fresh browser shows that the login holds.
        actions: Action file that logs in. Without it a window opens, in which a person logs in.
        until: Condition that only a page with the login meets: YAML, or @FILE, as for `explore run`. [default:
        the form of the login is gone]
        secrets: A secret that the actions name, for the password fields of a site, and its source
        (docs/secrets.md). Repeat for more.
        allow: A request other than GET that may be sent, for example 'POST https://shop.example/login'.
        approve_class: Approve risk classes up to N for this run (docs/risk.md).
        passkey: With --with: give the browser the passkeys that this node has registered at the site.
        register_passkey: With --with: the steps add a passkey to the account; this node keeps it, and never
        gives it away.
        slice: With --with: keep files of the browser's profile too, with keys that no script can read. Such a
        capsule is mounted in the same version of the browser only.
        progress: is told what happens meanwhile.
        """
        found: LoggedIn = await self._call(
            "capsule.login",
            {
                "name": name,
                "origins": origins,
                "purpose": purpose,
                "tasks": tasks,
                "class_max": class_max,
                "replays_max": replays_max,
                "expires_s": expires_s,
                "fresh_s": fresh_s,
                "mfa_s": mfa_s,
                "mfa_now": mfa_now,
                "cross_device": cross_device,
                "cross_installation": cross_installation,
                "consent": consent,
                "no_probes": no_probes,
                "whole": whole,
                "replaces": replaces,
                "url": url,
                "actions": actions,
                "until": until,
                "secrets": secrets,
                "allow": allow,
                "approve_class": approve_class,
                "passkey": passkey,
                "register_passkey": register_passkey,
                "slice": slice,
            },
            progress,
            LoggedIn,
        )
        return found

    async def keep(
        self,
        url: str,
        *,
        storage: str,
        browser: BrowserInfo | Mapping[str, Any],
        name: str = "",
        origins: Sequence[str] = (),
        purpose: str = "",
        tasks: Sequence[Literal["explore", "live", "record", "replay", "schedule"]] = (),
        class_max: int = 2,
        replays_max: int = 100,
        expires_s: int = 0,
        fresh_s: int = 86400,
        mfa_s: int = 0,
        mfa_now: bool = False,
        cross_device: bool = False,
        cross_installation: bool = False,
        consent: bool = False,
        no_probes: bool = False,
        whole: bool = False,
        replaces: str = "",
        until: Any = None,
        profile: Profile | Mapping[str, Any] = NOTHING,
        progress: Progress | None = None,
    ) -> LoggedIn:
        """Keep the login of a window as a capsule: `trailmesh capsule login` calls this.

        name: A name for it. [default: the first host]
        origins: Origin that a browser may contact while it holds the state; may be given again. State of others
        is left out. [default: all that the file has state of; of a login, that of URL]
        purpose: What the login is for, in one line.
        tasks: Kind of work it may be used for; may be given again. [default: every kind]
        class_max: The highest risk class of requests that leave; 1 to 3 allow reads only (docs/risk.md).
        replays_max: How often it may be used.
        expires_s: When it ends, from now: `12h`, `30d`. [default: 7d]
        fresh_s: How long another node may use it without hearing from this one; 0 for never.
        mfa_s: How old the second factor of the login may be when it is used; 0 if none is needed.
        mfa_now: A second factor was given for this login just now.
        cross_device: Let it be used on other machines.
        cross_installation: Let other nodes use it.
        consent: Let nobody use it before an owner has signed (`trailmesh capsule consent`).
        no_probes: Ask for a yes before every press, except links and controls that certainly only read.
        whole: Keep all state of the origins, even state that the page did not need.
        replaces: Capsule to replace with this newer state. It keeps its id, name, policy and grants to agents.
        url: Address that needs the login: it is where a fresh browser shows that the login holds.
        until: Condition that only a page with the login meets: YAML, or @FILE, as for `explore run`. [default:
        the form of the login is gone]
        storage: What the browser holds, as Playwright's storage state.
        browser: The browser in which the person logged in.
        profile: Its profile.
        progress: is told what happens meanwhile.
        """
        found: LoggedIn = await self._call(
            "capsule.keep",
            {
                "name": name,
                "origins": origins,
                "purpose": purpose,
                "tasks": tasks,
                "class_max": class_max,
                "replays_max": replays_max,
                "expires_s": expires_s,
                "fresh_s": fresh_s,
                "mfa_s": mfa_s,
                "mfa_now": mfa_now,
                "cross_device": cross_device,
                "cross_installation": cross_installation,
                "consent": consent,
                "no_probes": no_probes,
                "whole": whole,
                "replaces": replaces,
                "url": url,
                "until": until,
                "storage": storage,
                "browser": browser,
                "profile": profile,
            },
            progress,
            LoggedIn,
        )
        return found

    async def work(
        self,
        peer: str,
        *,
        actions: str = "",
        session: str = "",
        fetch: bool = False,
        seconds: int = 300,
        progress: Progress | None = None,
    ) -> WorkDone:
        """Have a peer do work with a login of its own: the login stays there.

        peer: Name or id of the node that has the login.
        actions: Action file that it records, without secrets.
        session: Session that it replays: one that it recorded for this node, or that this node signed and it has
        imported.
        fetch: Fetch the session too, with its text and pictures; the other node must grant `login:read`.
        seconds: How long to wait for the verdict.
        progress: is told what happens meanwhile.
        """
        found: WorkDone = await self._call(
            "capsule.work",
            {"peer": peer, "actions": actions, "session": session, "fetch": fetch, "seconds": seconds},
            progress,
            WorkDone,
        )
        return found

    async def offer(
        self, capsule: str, *, to: str, withdraw: bool = False, progress: Progress | None = None
    ) -> OfferedCapsule:
        """Let a peer request the cookies of a capsule, and no storage.

        capsule: Id or name of the capsule.
        to: Name or id of the peer that may request them.
        withdraw: No longer. What the peer has by now stays: `trailmesh capsule revoke` ends it.
        progress: is told what happens meanwhile.
        """
        found: OfferedCapsule = await self._call(
            "capsule.offer", {"capsule": capsule, "to": to, "withdraw": withdraw}, progress, OfferedCapsule
        )
        return found

    async def request(self, peer: str, origin: str, *, progress: Progress | None = None) -> RequestedCapsule:
        """Request the cookies of a login of a peer, and keep them as a capsule.

        peer: Name or id of the node that has the login.
        origin: Where the cookies are to be used.
        progress: is told what happens meanwhile.
        """
        found: RequestedCapsule = await self._call(
            "capsule.request", {"peer": peer, "origin": origin}, progress, RequestedCapsule
        )
        return found

    async def check(
        self, capsule: str, *, page: str = "", shows: str = "", progress: Progress | None = None
    ) -> CheckedCapsule:
        """Check whether the login of a capsule still works, and whether it works in another browser.

        capsule: Id or name of the capsule.
        page: Page that only a logged-in user sees. [default: the one given at the capture, else the start page]
        shows: Text that this page shows to a logged-in user. [default: the page is compared with the view of a
        browser without the login]
        progress: is told what happens meanwhile.
        """
        found: CheckedCapsule = await self._call(
            "capsule.check", {"capsule": capsule, "page": page, "shows": shows}, progress, CheckedCapsule
        )
        return found

    async def refresh(
        self, capsule: str, *, page: str = "", shows: str = "", progress: Progress | None = None
    ) -> RefreshedCapsule:
        """Open a page with the login of a capsule, and seal the state that the site has renewed.

        capsule: Id or name of the capsule.
        page: Page that only a logged-in user sees. [default: the one given at the capture, else the start page]
        shows: Text that this page shows to a logged-in user. [default: the page is compared with the view of a
        browser without the login]
        progress: is told what happens meanwhile.
        """
        found: RefreshedCapsule = await self._call(
            "capsule.refresh", {"capsule": capsule, "page": page, "shows": shows}, progress, RefreshedCapsule
        )
        return found

    async def rotate(self, capsule: str, *, progress: Progress | None = None) -> RefreshedCapsule:
        """Seal a capsule anew, with a new key, as its next generation.

        capsule: Id or name of the capsule.
        progress: is told what happens meanwhile.
        """
        found: RefreshedCapsule = await self._call("capsule.rotate", {"capsule": capsule}, progress, RefreshedCapsule)
        return found

    async def revoke(self, capsule: str, *, kill: bool = False, progress: Progress | None = None) -> RevokedCapsule:
        """End a capsule that this node captured, here and on every node it was exported to.

        capsule: Id or name of the capsule.
        kill: Log out on the site first, then show it the old state again to see that it is refused.
        progress: is told what happens meanwhile.
        """
        found: RevokedCapsule = await self._call(
            "capsule.revoke", {"capsule": capsule, "kill": kill}, progress, RevokedCapsule
        )
        return found

    async def unseal(self, capsule: str, *, out: str, progress: Progress | None = None) -> UnsealedCapsule:
        """Write the login of a capsule in clear, as a storage state for a Playwright script.

        capsule: Id or name of the capsule.
        out: Where to write it: a file that is not there yet.
        progress: is told what happens meanwhile.
        """
        found: UnsealedCapsule = await self._call(
            "capsule.unseal", {"capsule": capsule, "out": out}, progress, UnsealedCapsule
        )
        return found


class BlockingCapsuleVerbs(BlockingCalls):
    """The verbs ``capsule.*``, each of which waits until it is done."""

    def capture(
        self,
        *,
        name: str = "",
        origins: Sequence[str] = (),
        purpose: str = "",
        tasks: Sequence[Literal["explore", "live", "record", "replay", "schedule"]] = (),
        class_max: int = 2,
        replays_max: int = 100,
        expires_s: int = 0,
        fresh_s: int = 86400,
        mfa_s: int = 0,
        mfa_now: bool = False,
        cross_device: bool = False,
        cross_installation: bool = False,
        consent: bool = False,
        no_probes: bool = False,
        whole: bool = False,
        replaces: str = "",
        file: str = "",
        live: str = "",
        unproven: bool = False,
        user_agent: str = "",
        page: str = "",
        shows: str = "",
        secrets: Mapping[str, GivenSecret | Mapping[str, Any]] = NOTHING,
        progress: Progress | None = None,
    ) -> CapturedCapsule:
        """Keep the login that a file or a live session holds, sealed to this node under a policy.

        name: A name for it. [default: the first host]
        origins: Origin that a browser may contact while it holds the state; may be given again. State of others
        is left out. [default: all that the file has state of; of a login, that of URL]
        purpose: What the login is for, in one line.
        tasks: Kind of work it may be used for; may be given again. [default: every kind]
        class_max: The highest risk class of requests that leave; 1 to 3 allow reads only (docs/risk.md).
        replays_max: How often it may be used.
        expires_s: When it ends, from now: `12h`, `30d`. [default: 7d]
        fresh_s: How long another node may use it without hearing from this one; 0 for never.
        mfa_s: How old the second factor of the login may be when it is used; 0 if none is needed.
        mfa_now: A second factor was given for this login just now.
        cross_device: Let it be used on other machines.
        cross_installation: Let other nodes use it.
        consent: Let nobody use it before an owner has signed (`trailmesh capsule consent`).
        no_probes: Ask for a yes before every press, except links and controls that certainly only read.
        whole: Keep all state of the origins, even state that the page did not need.
        replaces: Capsule to replace with this newer state. It keeps its id, name, policy and grants to agents.
        file: Storage state of Playwright, cookies as JSON, cookies.txt, or a command line of cURL.
        live: Live session with the login, in place of a file. Its current page must need the login.
        unproven: Keep it without checking it on the site, for example if the site cannot be reached from here.
        user_agent: User agent of the browser that the file is from.
        page: Page that only a logged-in user sees: `capsule check` and `capsule refresh` open it.
        shows: Text that this page shows to a logged-in user.
        secrets: USER:PASSWORD for HTTP basic authentication of an origin, and its source (docs/risk.md). Repeat
        for more.
        progress: is told what happens meanwhile.
        """
        found: CapturedCapsule = self._call(
            "capsule.capture",
            {
                "name": name,
                "origins": origins,
                "purpose": purpose,
                "tasks": tasks,
                "class_max": class_max,
                "replays_max": replays_max,
                "expires_s": expires_s,
                "fresh_s": fresh_s,
                "mfa_s": mfa_s,
                "mfa_now": mfa_now,
                "cross_device": cross_device,
                "cross_installation": cross_installation,
                "consent": consent,
                "no_probes": no_probes,
                "whole": whole,
                "replaces": replaces,
                "file": file,
                "live": live,
                "unproven": unproven,
                "user_agent": user_agent,
                "page": page,
                "shows": shows,
                "secrets": secrets,
            },
            progress,
            CapturedCapsule,
        )
        return found

    def list(self, *, progress: Progress | None = None) -> CapsuleList:
        """List the capsules on this node.

        progress: is told what happens meanwhile.
        """
        found: CapsuleList = self._call("capsule.list", {}, progress, CapsuleList)
        return found

    def granted(self, *, progress: Progress | None = None) -> GrantedList:
        """List the logins with which the caller may begin its work, by the name that `--capsule` and `capsule`
        take.

        progress: is told what happens meanwhile.
        """
        found: GrantedList = self._call("capsule.granted", {}, progress, GrantedList)
        return found

    def show(self, capsule: str, *, names: bool = False, progress: Progress | None = None) -> ShownCapsule:
        """Show a capsule: its policy, and the amount of state of each origin.

        capsule: Id or name of the capsule.
        names: Open it and list its state by name, host and expiry, never with values.
        progress: is told what happens meanwhile.
        """
        found: ShownCapsule = self._call("capsule.show", {"capsule": capsule, "names": names}, progress, ShownCapsule)
        return found

    def terms(self, capsule: str, *, owner: str, to: str = "", progress: Progress | None = None) -> CapsuleTerms:
        """Return the terms that an owner signs to consent: `trailmesh capsule consent` shows them.

        capsule: Id or name of the capsule.
        to: Name or id of the peer that it will be exported to.
        owner: Public key of the owner who consents, in hexadecimal.
        progress: is told what happens meanwhile.
        """
        found: CapsuleTerms = self._call(
            "capsule.terms", {"capsule": capsule, "to": to, "owner": owner}, progress, CapsuleTerms
        )
        return found

    def consent(
        self, capsule: str, *, owner: str, signed: str, to: str = "", progress: Progress | None = None
    ) -> KeptCapsule:
        """Store an owner's signed consent: `trailmesh capsule consent` signs it and calls this.

        capsule: Id or name of the capsule.
        to: Name or id of the peer that it will be exported to.
        owner: Public key of the owner who consents, in hexadecimal.
        signed: The consent, an envelope, in hexadecimal.
        progress: is told what happens meanwhile.
        """
        found: KeptCapsule = self._call(
            "capsule.consent", {"capsule": capsule, "to": to, "owner": owner, "signed": signed}, progress, KeptCapsule
        )
        return found

    def export(self, capsule: str, *, to: str, out: str, progress: Progress | None = None) -> ExportedCapsule:
        """Seal a capsule to a peer, and write it to a file.

        capsule: Id or name of the capsule.
        to: Name or id of the peer that can open it.
        out: Where to write it.
        progress: is told what happens meanwhile.
        """
        found: ExportedCapsule = self._call(
            "capsule.export", {"capsule": capsule, "to": to, "out": out}, progress, ExportedCapsule
        )
        return found

    def import_(self, file: str, *, slice: bool = False, progress: Progress | None = None) -> KeptCapsule:
        """Keep a capsule that a peer exported to this node.

        file: The file of an export.
        slice: Accept files of the other node's browser profile, if the capsule has some. The browser of this
        machine reads them outside of its sandbox.
        progress: is told what happens meanwhile.
        """
        found: KeptCapsule = self._call("capsule.import", {"file": file, "slice": slice}, progress, KeptCapsule)
        return found

    def remove(self, capsule: str, *, progress: Progress | None = None) -> RemovedCapsule:
        """Delete a capsule from this node. Its count of uses is kept until it expires.

        capsule: Id or name of the capsule.
        progress: is told what happens meanwhile.
        """
        found: RemovedCapsule = self._call("capsule.remove", {"capsule": capsule}, progress, RemovedCapsule)
        return found

    def policy(
        self,
        capsule: str,
        *,
        widen: bool = False,
        origins: Sequence[str] = (),
        tasks: Sequence[Literal["explore", "live", "record", "replay", "schedule"]] = (),
        purpose: str = "",
        class_max: int | None = None,
        replays_max: int | None = None,
        expires_s: int = 0,
        fresh_s: int | None = None,
        mfa_s: int | None = None,
        cross_device: Literal["", "no", "yes"] = "",
        cross_installation: Literal["", "no", "yes"] = "",
        consent: Literal["", "no", "yes"] = "",
        probes: Literal["", "no", "yes"] = "",
        progress: Progress | None = None,
    ) -> ChangedPolicy:
        """Change the policy of a capsule of this node. Fields that are not named stay unchanged.

        capsule: Id or name of the capsule.
        widen: Let it allow more than before. Grants under the old policy end.
        origins: All origins that a browser may contact; may be given again. State of others is left out.
        tasks: All kinds of work it may be used for; may be given again.
        purpose: What the login is for, in one line.
        class_max: The highest risk class of requests that leave; 1 to 3 allow reads only.
        replays_max: How often it may be used, including earlier uses.
        expires_s: When it ends, from now: `12h`, `30d`.
        fresh_s: How long another node may use it without hearing from this one.
        mfa_s: How old the second factor may be; 0 if none is needed.
        cross_device: Whether other machines may use it.
        cross_installation: Whether other nodes may use it.
        consent: Whether an owner must sign first.
        probes: Whether controls may be pressed that are neither links nor certain to only read.
        progress: is told what happens meanwhile.
        """
        found: ChangedPolicy = self._call(
            "capsule.policy",
            {
                "capsule": capsule,
                "widen": widen,
                "origins": origins,
                "tasks": tasks,
                "purpose": purpose,
                "class_max": class_max,
                "replays_max": replays_max,
                "expires_s": expires_s,
                "fresh_s": fresh_s,
                "mfa_s": mfa_s,
                "cross_device": cross_device,
                "cross_installation": cross_installation,
                "consent": consent,
                "probes": probes,
            },
            progress,
            ChangedPolicy,
        )
        return found

    def login(
        self,
        url: str,
        *,
        name: str = "",
        origins: Sequence[str] = (),
        purpose: str = "",
        tasks: Sequence[Literal["explore", "live", "record", "replay", "schedule"]] = (),
        class_max: int = 2,
        replays_max: int = 100,
        expires_s: int = 0,
        fresh_s: int = 86400,
        mfa_s: int = 0,
        mfa_now: bool = False,
        cross_device: bool = False,
        cross_installation: bool = False,
        consent: bool = False,
        no_probes: bool = False,
        whole: bool = False,
        replaces: str = "",
        actions: str = "",
        until: Any = None,
        secrets: Mapping[str, GivenSecret | Mapping[str, Any]] = NOTHING,
        allow: Sequence[str] = (),
        approve_class: int = 0,
        passkey: bool = False,
        register_passkey: bool = False,
        slice: bool = False,
        progress: Progress | None = None,
    ) -> LoggedIn:
        """Log in, and keep the login as a capsule.

        name: A name for it. [default: the first host]
        origins: Origin that a browser may contact while it holds the state; may be given again. State of others
        is left out. [default: all that the file has state of; of a login, that of URL]
        purpose: What the login is for, in one line.
        tasks: Kind of work it may be used for; may be given again. [default: every kind]
        class_max: The highest risk class of requests that leave; 1 to 3 allow reads only (docs/risk.md).
        replays_max: How often it may be used.
        expires_s: When it ends, from now: `12h`, `30d`. [default: 7d]
        fresh_s: How long another node may use it without hearing from this one; 0 for never.
        mfa_s: How old the second factor of the login may be when it is used; 0 if none is needed.
        mfa_now: A second factor was given for this login just now.
        cross_device: Let it be used on other machines.
        cross_installation: Let other nodes use it.
        consent: Let nobody use it before an owner has signed (`trailmesh capsule consent`).
        no_probes: Ask for a yes before every press, except links and controls that certainly only read.
        whole: Keep all state of the origins, even state that the page did not need.
        replaces: Capsule to replace with this newer state. It keeps its id, name, policy and grants to agents.
        url: Address that needs the login: it is where a fresh browser shows that the login holds.
        actions: Action file that logs in. Without it a window opens, in which a person logs in.
        until: Condition that only a page with the login meets: YAML, or @FILE, as for `explore run`. [default:
        the form of the login is gone]
        secrets: A secret that the actions name, for the password fields of a site, and its source
        (docs/secrets.md). Repeat for more.
        allow: A request other than GET that may be sent, for example 'POST https://shop.example/login'.
        approve_class: Approve risk classes up to N for this run (docs/risk.md).
        passkey: With --with: give the browser the passkeys that this node has registered at the site.
        register_passkey: With --with: the steps add a passkey to the account; this node keeps it, and never
        gives it away.
        slice: With --with: keep files of the browser's profile too, with keys that no script can read. Such a
        capsule is mounted in the same version of the browser only.
        progress: is told what happens meanwhile.
        """
        found: LoggedIn = self._call(
            "capsule.login",
            {
                "name": name,
                "origins": origins,
                "purpose": purpose,
                "tasks": tasks,
                "class_max": class_max,
                "replays_max": replays_max,
                "expires_s": expires_s,
                "fresh_s": fresh_s,
                "mfa_s": mfa_s,
                "mfa_now": mfa_now,
                "cross_device": cross_device,
                "cross_installation": cross_installation,
                "consent": consent,
                "no_probes": no_probes,
                "whole": whole,
                "replaces": replaces,
                "url": url,
                "actions": actions,
                "until": until,
                "secrets": secrets,
                "allow": allow,
                "approve_class": approve_class,
                "passkey": passkey,
                "register_passkey": register_passkey,
                "slice": slice,
            },
            progress,
            LoggedIn,
        )
        return found

    def keep(
        self,
        url: str,
        *,
        storage: str,
        browser: BrowserInfo | Mapping[str, Any],
        name: str = "",
        origins: Sequence[str] = (),
        purpose: str = "",
        tasks: Sequence[Literal["explore", "live", "record", "replay", "schedule"]] = (),
        class_max: int = 2,
        replays_max: int = 100,
        expires_s: int = 0,
        fresh_s: int = 86400,
        mfa_s: int = 0,
        mfa_now: bool = False,
        cross_device: bool = False,
        cross_installation: bool = False,
        consent: bool = False,
        no_probes: bool = False,
        whole: bool = False,
        replaces: str = "",
        until: Any = None,
        profile: Profile | Mapping[str, Any] = NOTHING,
        progress: Progress | None = None,
    ) -> LoggedIn:
        """Keep the login of a window as a capsule: `trailmesh capsule login` calls this.

        name: A name for it. [default: the first host]
        origins: Origin that a browser may contact while it holds the state; may be given again. State of others
        is left out. [default: all that the file has state of; of a login, that of URL]
        purpose: What the login is for, in one line.
        tasks: Kind of work it may be used for; may be given again. [default: every kind]
        class_max: The highest risk class of requests that leave; 1 to 3 allow reads only (docs/risk.md).
        replays_max: How often it may be used.
        expires_s: When it ends, from now: `12h`, `30d`. [default: 7d]
        fresh_s: How long another node may use it without hearing from this one; 0 for never.
        mfa_s: How old the second factor of the login may be when it is used; 0 if none is needed.
        mfa_now: A second factor was given for this login just now.
        cross_device: Let it be used on other machines.
        cross_installation: Let other nodes use it.
        consent: Let nobody use it before an owner has signed (`trailmesh capsule consent`).
        no_probes: Ask for a yes before every press, except links and controls that certainly only read.
        whole: Keep all state of the origins, even state that the page did not need.
        replaces: Capsule to replace with this newer state. It keeps its id, name, policy and grants to agents.
        url: Address that needs the login: it is where a fresh browser shows that the login holds.
        until: Condition that only a page with the login meets: YAML, or @FILE, as for `explore run`. [default:
        the form of the login is gone]
        storage: What the browser holds, as Playwright's storage state.
        browser: The browser in which the person logged in.
        profile: Its profile.
        progress: is told what happens meanwhile.
        """
        found: LoggedIn = self._call(
            "capsule.keep",
            {
                "name": name,
                "origins": origins,
                "purpose": purpose,
                "tasks": tasks,
                "class_max": class_max,
                "replays_max": replays_max,
                "expires_s": expires_s,
                "fresh_s": fresh_s,
                "mfa_s": mfa_s,
                "mfa_now": mfa_now,
                "cross_device": cross_device,
                "cross_installation": cross_installation,
                "consent": consent,
                "no_probes": no_probes,
                "whole": whole,
                "replaces": replaces,
                "url": url,
                "until": until,
                "storage": storage,
                "browser": browser,
                "profile": profile,
            },
            progress,
            LoggedIn,
        )
        return found

    def work(
        self,
        peer: str,
        *,
        actions: str = "",
        session: str = "",
        fetch: bool = False,
        seconds: int = 300,
        progress: Progress | None = None,
    ) -> WorkDone:
        """Have a peer do work with a login of its own: the login stays there.

        peer: Name or id of the node that has the login.
        actions: Action file that it records, without secrets.
        session: Session that it replays: one that it recorded for this node, or that this node signed and it has
        imported.
        fetch: Fetch the session too, with its text and pictures; the other node must grant `login:read`.
        seconds: How long to wait for the verdict.
        progress: is told what happens meanwhile.
        """
        found: WorkDone = self._call(
            "capsule.work",
            {"peer": peer, "actions": actions, "session": session, "fetch": fetch, "seconds": seconds},
            progress,
            WorkDone,
        )
        return found

    def offer(
        self, capsule: str, *, to: str, withdraw: bool = False, progress: Progress | None = None
    ) -> OfferedCapsule:
        """Let a peer request the cookies of a capsule, and no storage.

        capsule: Id or name of the capsule.
        to: Name or id of the peer that may request them.
        withdraw: No longer. What the peer has by now stays: `trailmesh capsule revoke` ends it.
        progress: is told what happens meanwhile.
        """
        found: OfferedCapsule = self._call(
            "capsule.offer", {"capsule": capsule, "to": to, "withdraw": withdraw}, progress, OfferedCapsule
        )
        return found

    def request(self, peer: str, origin: str, *, progress: Progress | None = None) -> RequestedCapsule:
        """Request the cookies of a login of a peer, and keep them as a capsule.

        peer: Name or id of the node that has the login.
        origin: Where the cookies are to be used.
        progress: is told what happens meanwhile.
        """
        found: RequestedCapsule = self._call(
            "capsule.request", {"peer": peer, "origin": origin}, progress, RequestedCapsule
        )
        return found

    def check(
        self, capsule: str, *, page: str = "", shows: str = "", progress: Progress | None = None
    ) -> CheckedCapsule:
        """Check whether the login of a capsule still works, and whether it works in another browser.

        capsule: Id or name of the capsule.
        page: Page that only a logged-in user sees. [default: the one given at the capture, else the start page]
        shows: Text that this page shows to a logged-in user. [default: the page is compared with the view of a
        browser without the login]
        progress: is told what happens meanwhile.
        """
        found: CheckedCapsule = self._call(
            "capsule.check", {"capsule": capsule, "page": page, "shows": shows}, progress, CheckedCapsule
        )
        return found

    def refresh(
        self, capsule: str, *, page: str = "", shows: str = "", progress: Progress | None = None
    ) -> RefreshedCapsule:
        """Open a page with the login of a capsule, and seal the state that the site has renewed.

        capsule: Id or name of the capsule.
        page: Page that only a logged-in user sees. [default: the one given at the capture, else the start page]
        shows: Text that this page shows to a logged-in user. [default: the page is compared with the view of a
        browser without the login]
        progress: is told what happens meanwhile.
        """
        found: RefreshedCapsule = self._call(
            "capsule.refresh", {"capsule": capsule, "page": page, "shows": shows}, progress, RefreshedCapsule
        )
        return found

    def rotate(self, capsule: str, *, progress: Progress | None = None) -> RefreshedCapsule:
        """Seal a capsule anew, with a new key, as its next generation.

        capsule: Id or name of the capsule.
        progress: is told what happens meanwhile.
        """
        found: RefreshedCapsule = self._call("capsule.rotate", {"capsule": capsule}, progress, RefreshedCapsule)
        return found

    def revoke(self, capsule: str, *, kill: bool = False, progress: Progress | None = None) -> RevokedCapsule:
        """End a capsule that this node captured, here and on every node it was exported to.

        capsule: Id or name of the capsule.
        kill: Log out on the site first, then show it the old state again to see that it is refused.
        progress: is told what happens meanwhile.
        """
        found: RevokedCapsule = self._call(
            "capsule.revoke", {"capsule": capsule, "kill": kill}, progress, RevokedCapsule
        )
        return found

    def unseal(self, capsule: str, *, out: str, progress: Progress | None = None) -> UnsealedCapsule:
        """Write the login of a capsule in clear, as a storage state for a Playwright script.

        capsule: Id or name of the capsule.
        out: Where to write it: a file that is not there yet.
        progress: is told what happens meanwhile.
        """
        found: UnsealedCapsule = self._call(
            "capsule.unseal", {"capsule": capsule, "out": out}, progress, UnsealedCapsule
        )
        return found
