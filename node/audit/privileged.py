"""Which verbs and routes are privileged actions, and what the audit trail says of each.

Privileged is what changes whom this node trusts or what it signs with, what makes it act in a browser or lets a peer make
it, what hands data over, takes it in or removes it, and what opens or closes its doors. Looking is not.

A verb or route that is not listed here counts as privileged: forgetting one costs rows, never the trail. A test fails until it
is listed. What else leaves rows: pairings, key changes of peers, frozen peers, decisions of the gate, serving.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import msgspec

from node.signing import Doing, Trail
from protocol.errors import MeshError
from protocol.messages import Assignment, SearchSpec
from protocol.wire import cbor, envelope


class Privileged(NamedTuple):
    """What a row says of one verb or route; of its parameters nothing but what is named here."""

    subject: Callable[[Any], str] = lambda given: ""
    risk: Callable[[Any], int] = lambda given: 0
    note: Callable[[Any], Mapping[str, str]] = lambda given: {}


UNDECLARED: Final = Privileged()


def doing(trail: Trail, what: str, declared: Privileged, who: str, given: Any) -> Doing:
    """The block in which the privileged action ``what`` is done."""
    return trail.doing(
        what, who=who, subject=declared.subject(given), risk=declared.risk(given), note=declared.note(given)
    )


def _where(url: str) -> str:
    """Scheme, host and path of an address: what follows may hold tokens, what precedes the host passwords."""
    try:
        parts = urlsplit(url)
        return f"{parts.scheme}://{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}{parts.path}"
    except ValueError:
        return ""


def _allowed(entries: tuple[str, ...]) -> str:
    return ", ".join(f"{verb} {_where(glob.strip())}" for verb, _, glob in (entry.partition(" ") for entry in entries))


def _driven(given: Any) -> dict[str, str]:
    """Approvals and secrets of a browser run; of secrets the names."""
    return {"allow": _allowed(given.allow), "secrets": ", ".join(sorted(given.secrets))}


def _approved(given: Any) -> int:
    return max(0, min(7, int(given.approve_class)))


def _sealed(data: bytes, record: type[msgspec.Struct], field: str) -> str:
    """A field of what a peer sealed, as the peer claims it: nothing is verified yet."""
    try:
        return str(getattr(cbor.decode_as(envelope.peek(data).payload, record), field))
    except MeshError:
        return ""


VERBS: Final[Mapping[str, Privileged | None]] = {
    "node.rotate": Privileged(),
    "node.recover": Privileged(
        note=lambda given: {"since_s": str(given.since_s), "recovery_key": "new" if given.recovery_out else "kept"}
    ),
    "node.revoke_self": Privileged(note=lambda given: {"since_s": str(given.since_s)}),
    "node.invite": Privileged(note=lambda given: {"grant": ", ".join(given.grant), "minutes": str(given.minutes)}),
    "node.join": Privileged(note=lambda given: {"grant": ", ".join(given.grant)}),
    "node.pair_wait": Privileged(note=lambda given: {"grant": ", ".join(given.grant), "expects": given.fingerprint}),
    "node.pair_begin": Privileged(
        note=lambda given: {
            "address": _where(given.address),
            "grant": ", ".join(given.grant),
            "expects": given.fingerprint,
        }
    ),
    "node.pair_confirm": Privileged(note=lambda given: {"agreed": "yes" if given.agreed else "no"}),
    "node.grant": Privileged(
        note=lambda given: {
            "peer": given.peer,
            "grant": ", ".join(given.grants),
            "only": "yes" if given.only else "no",
        }
    ),
    "node.ungrant": Privileged(note=lambda given: {"peer": given.peer, "ungrant": ", ".join(given.grants)}),
    "node.knock": Privileged(subject=lambda given: given.public_key),
    "node.distrust": Privileged(
        subject=lambda given: given.peer,
        note=lambda given: {"reason": given.reason, "notify": "yes" if given.notify else "no"},
    ),
    "node.trust": Privileged(
        subject=lambda given: given.peer, note=lambda given: {"notify": "yes" if given.notify else "no"}
    ),
    "node.notices": None,
    "node.peers": None,
    "node.status": None,
    "node.metrics": None,
    "node.doctor": None,
    "node.discover": None,
    "session.record": Privileged(risk=_approved, note=lambda given: {"actions": given.name, **_driven(given)}),
    "session.list": None,
    "session.show": None,
    "session.verify": None,
    "session.export": Privileged(subject=lambda given: given.session, note=lambda given: {"out": given.out}),
    "session.import": Privileged(note=lambda given: {"path": given.path}),
    "session.remove": Privileged(subject=lambda given: given.session),
    "session.replay": Privileged(
        subject=lambda given: given.session,
        risk=_approved,
        note=lambda given: {"base_url": _where(given.base_url) if given.base_url else "", **_driven(given)},
    ),
    "explore.run": Privileged(
        note=lambda given: {"start": _where(given.start), "peers": ", ".join(given.peers or ["all"])}
    ),
    "explore.resume": Privileged(subject=lambda given: given.search),
    "explore.stop": Privileged(subject=lambda given: given.search),
    "explore.remove": Privileged(subject=lambda given: given.search),
    "explore.list": None,
    "explore.show": None,
    "log.show": None,
    "log.prove": None,
    "log.audit": None,
    "log.audit_peer": None,
    "log.renew": Privileged(),
    "audit.list": None,
    "audit.export": Privileged(note=lambda given: {"out": given.out}),
    "audit.verify": None,
}
"""By verb; None for what is not privileged."""

ROUTES: Final[Mapping[str, Privileged | None]] = {
    "status": None,
    "reach/echo": None,
    "grants/push": None,  # decides only whom this node asks
    "keys/push": None,  # what is believed of it leaves a row of its own
    "keys/pull": None,
    "notices/push": None,  # advice
    "search/open": Privileged(subject=lambda given: _sealed(given.spec, SearchSpec, "id")),
    "search/close": Privileged(subject=lambda given: given.search),
    "branch/assign": Privileged(subject=lambda given: _sealed(given.assignment, Assignment, "lease")),
    "branch/revoke": Privileged(subject=lambda given: given.lease),
    "branch/renew": None,
    "branch/return": None,
    "deltas/push": None,
    "deltas/pull": None,
    "deltas/show": None,
    "deltas/proof": None,
    "log/checkpoint": None,
    "log/consistency": None,
    "log/prove": None,
}
"""By route of the peer API; None for what is not privileged: it tells, or adds to what an open search allows."""
