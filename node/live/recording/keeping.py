"""What is fixed of a recording before it begins, and the forms in which a recorder keeps what it did."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from adapters.ports import Page
from node.live.acting.allowing import Allows
from node.live.acting.codes import NO_CODES, Codes
from node.live.acting.driver import Gate, Makes
from node.live.acting.holding import Holder, Sent
from node.live.acting.uploads import NO_UPLOADS, Uploads
from node.live.finding.personal import covered_at
from node.live.recording.following import Following
from protocol.page.actions.action import Action, Assert
from protocol.page.actions.values import references, text_of, with_text
from protocol.page.secrets.redaction import placeholder, redact_text
from protocol.page.secrets.secrets import NO_SECRETS, Secrets
from protocol.page.seen.observation import Observation, encode
from protocol.page.showing.covering import Covering, covering_for
from protocol.page.showing.markup import MarkupShown
from protocol.recording.records.session import BrowserInfo, Held, Input, Profile, Session, Skipped, UsedLogin, Verdict
from protocol.risk.requests.sites import SiteRule


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """What is fixed before the first step of a session."""

    title: str
    start_url: str
    profile: Profile
    browser: BrowserInfo
    gate: Gate
    secrets: Secrets = NO_SECRETS
    """Values by name; only the names are stored."""
    uploads: Uploads = NO_UPLOADS
    codes: Codes = NO_CODES
    """Who makes one-time codes."""
    screenshots: bool = True
    parent: str = ""
    search: str = ""
    allows: Allows | None = None
    """Asks a person about what a step wants to send, which waits meanwhile; None where nobody is asked."""
    goes_on: bool = False
    """Whether a step is followed by others though the guard refused what it sent: its step has failed all the same."""
    holds: Callable[[Page, Sent], Holder] | None = None
    """Makes who holds what a page sends and needs a yes for; None where nothing waits."""
    caller: str = ""
    """Caller of the recording; empty for the current caller."""
    inputs: tuple[Input, ...] = ()
    """Values that actions use as ``${name}``; without secrets."""
    skipped: tuple[Skipped, ...] = ()
    """Steps of an imported file that are left out."""
    following: Following | None = None
    """An earlier recording of the same steps, which this one is compared with."""
    capsule: str = ""
    """Id of the capsule that is mounted."""
    login: UsedLogin | msgspec.UnsetType = msgspec.UNSET
    """What it is."""
    makes: Makes | None = None
    """Of work with a login, or one that is being made: the values that the site has made for it so far, redacted from the step on
    that made them."""
    on_document: Callable[[int, MarkupShown], None] | None = None
    """Told of the document of the page on which a step failed, by its number; None where nobody shows it."""
    sites: tuple[SiteRule, ...] = ()
    """What the owner's policy says of single sites, such as that their personal data is stored as it is."""


def opened(plan: Recording, *, id: str, node: str, created_ms: int, caller: str) -> Session:
    """The session of ``plan`` before its first step, not redacted."""
    return Session(
        id=id,
        node=node,
        created_ms=created_ms,
        title=plan.title,
        start_url=plan.start_url,
        profile=plan.profile,
        browser=plan.browser,
        verdict=Verdict.OPEN,
        steps=0,
        duration_ms=0,
        parent=plan.parent,
        search=plan.search,
        caller=caller,
        inputs=plan.inputs,
        skipped=plan.skipped,
        capsule=plan.capsule,
        login=plan.login,
    )


def unmet(action: Action, error: str) -> Held:
    """What is stored of an assertion, or of a typed extract, of an action that failed with ``error``."""
    failed = isinstance(action, Assert) and error == "action.assertion_failed"
    return "failed" if failed or error == "action.not_of_type" else ""


def as_written(action: Action, performed: Action) -> Action:
    """What was performed, with the references of ``action`` in place of the values of this run: a replay uses its own."""
    text = text_of(action)
    return with_text(performed, text) if text is not None and references(text) else performed


def covering_on(page: Observation | None, secrets: Secrets, sites: Sequence[SiteRule]) -> Covering | None:
    """What is covered in a picture of ``page``, which may have changed since: secrets, and personal data where the owner's policy
    for the site says so. A page that nobody has seen is one of those sites."""
    personal = covered_at(sites)(page.url) if page else any(rule.personal_data == "cover" for rule in sites)
    return covering_for(secrets, personal=personal, must=bool(secrets) and shows_secret(page, secrets))


def shows_secret(page: Observation | None, secrets: Mapping[str, str]) -> bool:
    """Whether a secret stands readable on ``page``: in a plain field, or said back by the site in any form that is searched for,
    also over several elements. Unknown pages count as showing.

    In its picture something must be found to be covered, then. Password fields show dots, and no placeholder in the observation.
    """
    if page is None:
        return True
    seen = encode(page)
    # In the text of one element the browser's reader has put the placeholder; what is spread over several shows here first.
    return any(placeholder(name).encode() in seen for name in secrets) or redact_text(page.text, secrets) != page.text
