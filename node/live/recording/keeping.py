"""The fixed parameters of a recording, and functions that put an action into the form that is stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from adapters.ports.browser import Page
from node import __version__
from node.live.acting.allowing import Allows
from node.live.acting.codes import NO_CODES, Codes
from node.live.acting.driver import Gate, Makes
from node.live.acting.holding import Holder, Sent
from node.live.acting.uploads import NO_UPLOADS, Uploads
from node.live.finding.personal import covered_at
from node.live.recording.following import StepComparison
from protocol.page.actions.action import Action, Assert
from protocol.page.actions.values import references, text_of, with_text
from protocol.page.secrets.redaction import placeholder, says_secret
from protocol.page.secrets.secrets import NO_SECRETS, Secrets
from protocol.page.seen.observation import Observation, encode
from protocol.page.showing.covering import Covering, covering_for
from protocol.page.showing.markup import MarkupShown
from protocol.recording.records.session import BrowserInfo, Held, Input, Profile, Session, Skipped, UsedLogin
from protocol.recording.records.verdict import Verdict
from protocol.risk.requests.sites import SiteRule


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters that are fixed before the first step of a session."""

    title: str
    start_url: str
    profile: Profile
    browser: BrowserInfo
    gate: Gate
    secrets: Secrets = NO_SECRETS
    """Values by name. Only the names are stored."""
    uploads: Uploads = NO_UPLOADS
    codes: Codes = NO_CODES
    """Makes one-time codes."""
    screenshots: bool = True
    parent: str = ""
    search: str = ""
    allows: Allows | None = None
    """Asks a person about a request of a step, which waits for the answer; None if nobody is asked."""
    goes_on: bool = False
    """True if a step is followed by others although the guard refused one of its requests; the step counts as failed all the same.
    """
    holds: Callable[[Page, Sent], Holder] | None = None
    """Creates the holder of requests that need a yes; None if requests do not wait."""
    caller: str = ""
    """Caller of the recording; empty for the current caller."""
    inputs: tuple[Input, ...] = ()
    """Values that actions use as ``${name}``; without secrets."""
    skipped: tuple[Skipped, ...] = ()
    """Steps of an imported file that are left out."""
    following: StepComparison | None = None
    """An earlier recording of the same steps, with which this one is compared."""
    capsule: str = ""
    """Id of the mounted capsule."""
    login: UsedLogin | msgspec.UnsetType = msgspec.UNSET
    """The login of the mounted capsule, as recordings name it."""
    makes: Makes | None = None
    """Returns the values that the site has made so far for the login in use or being made. They are redacted from the step on that
    made them.
    """
    on_document: Callable[[int, MarkupShown], None] | None = None
    """Called with the number of a failed step and the document of its page; None if nobody shows it."""
    sites: tuple[SiteRule, ...] = ()
    """The owner's rules for single sites, for example that personal data is stored unchanged."""


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
        program=f"trailmesh {__version__}",
    )


def unmet(action: Action, error: str) -> Held:
    """The stored result of an assertion, or of a typed extract, whose action failed with ``error``."""
    failed = isinstance(action, Assert) and error == "action.assertion_failed"
    return "failed" if failed or error == "action.not_of_type" else ""


def as_written(action: Action, performed: Action) -> Action:
    """``performed`` with the references of ``action`` in place of this run's values: a replay inserts its own values."""
    text = text_of(action)
    return with_text(performed, text) if text is not None and references(text) else performed


def covering_on(page: Observation | None, secrets: Secrets, sites: Sequence[SiteRule]) -> Covering | None:
    """The regions to cover in a picture of ``page``, which may have changed since it was observed: secrets, and personal data if
    the owner's policy for the site demands it. An unknown page is treated as such a site.
    """
    personal = covered_at(sites)(page.url) if page else any(rule.personal_data == "cover" for rule in sites)
    return covering_for(secrets, personal=personal, must=bool(secrets) and shows_secret(page, secrets))


def shows_secret(page: Observation | None, secrets: Mapping[str, str]) -> bool:
    """True if ``page`` shows a secret readably: in a plain field, or repeated by the site in any form that the search knows,
    possibly spread over several elements. An unknown page counts as showing one. If True, the picture must contain a region to
    cover. Password fields show dots, so the observation contains no placeholder for them.
    """
    if page is None:
        return True
    seen = encode(page)
    # The browser's reader has already replaced a secret within one element; here a secret spread over several elements is found.
    return any(placeholder(name).encode() in seen for name in secrets) or says_secret(page.text, secrets)
