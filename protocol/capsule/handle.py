"""Cookie handles: capsules that hold cookies and nothing else. Same id, generation and policy as the capsule they are cut from."""

from __future__ import annotations

import msgspec

from protocol.capsule.attestation import Attestation, Attested, handle_of
from protocol.capsule.capsule import Header
from protocol.capsule.scanner import SCANNER, counted, scan
from protocol.capsule.state import CapsuleState
from protocol.errors import MeshError


def cookies_of(header: Header, state: CapsuleState) -> tuple[Header, CapsuleState]:
    """Header and state with the cookies alone. The names of origins stay, so that a consent to the capsule covers it."""
    origins = tuple(
        msgspec.structs.replace(each, local=0, session=0, databases=0, slice=0, basic=0) for each in header.origins
    )
    return msgspec.structs.replace(header, origins=origins, slice_version=""), CapsuleState(cookies=state.cookies)


def is_handle(header: Header) -> bool:
    """Whether a capsule says that it holds cookies alone."""
    return not any(each.local or each.session or each.databases or each.slice or each.basic for each in header.origins)


def attested(header: Header, state: CapsuleState, *, node: str, at_ms: int) -> Attestation:
    """What ``node`` signs about ``state``, after it was scanned."""
    found = tuple(Attested(kind=kind, host=host, count=count) for kind, host, count in counted(scan(state)))
    handle, generation = handle_of(header.id), header.generation
    return Attestation(handle=handle, generation=generation, node=node, scanner=SCANNER, at_ms=at_ms, found=found)


def check_handle(header: Header, state: CapsuleState, said: Attestation) -> None:
    """Check that a capsule holds cookies alone, and that its attestation says what is found in them here.

    Another version of the scanner finds other things: then the signature alone counts. Errors: ``capsule.attestation``.
    """
    if not is_handle(header) or state != CapsuleState(cookies=state.cookies):
        raise MeshError("capsule.attestation", "it holds more than cookies", capsule=header.id, because="contents")
    if said.scanner == SCANNER and said.found != attested(header, state, node=said.node, at_ms=said.at_ms).found:
        raise MeshError(
            "capsule.attestation", "a scan here finds something else in it", capsule=header.id, because="found"
        )
