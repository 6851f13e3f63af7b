"""Cookie handles: capsules that hold cookies and nothing else. A handle has the id, generation and policy of the capsule that it is
cut from.
"""

from __future__ import annotations

import msgspec

from protocol.capsule.attestation import Attestation, Attested, handle_of
from protocol.capsule.capsule import CapsuleHeader
from protocol.capsule.scanner import SCANNER, counted, scan
from protocol.capsule.state import CapsuleState
from protocol.errors import MeshError


def cookies_of(header: CapsuleHeader, state: CapsuleState) -> tuple[CapsuleHeader, CapsuleState]:
    """Header and state with the cookies only. The names of origins stay, so that a consent to the capsule covers the handle."""
    origins = tuple(
        msgspec.structs.replace(each, local=0, session=0, databases=0, slice=0, basic=0) for each in header.origins
    )
    return msgspec.structs.replace(header, origins=origins, slice_version=""), CapsuleState(cookies=state.cookies)


def is_handle(header: CapsuleHeader) -> bool:
    """True if the header says that the capsule holds cookies only."""
    return not any(each.local or each.session or each.databases or each.slice or each.basic for each in header.origins)


def attested(header: CapsuleHeader, state: CapsuleState, *, node: str, at_ms: int) -> Attestation:
    """The attestation of ``node`` about ``state``, from a scan."""
    found = tuple(Attested(kind=kind, host=host, count=count) for kind, host, count in counted(scan(state)))
    handle, generation = handle_of(header.id), header.generation
    return Attestation(handle=handle, generation=generation, node=node, scanner=SCANNER, at_ms=at_ms, found=found)


def check_handle(header: CapsuleHeader, state: CapsuleState, said: Attestation) -> None:
    """Check that a capsule holds cookies only, and that a scan here agrees with its attestation.

    If the attestation is of another scanner version, the scans cannot be compared, and the signature alone counts. Errors:
    ``capsule.attestation``.
    """
    if not is_handle(header) or state != CapsuleState(cookies=state.cookies):
        raise MeshError("capsule.attestation", "it holds more than cookies", capsule=header.id, because="contents")
    if said.scanner == SCANNER and said.found != attested(header, state, node=said.node, at_ms=said.at_ms).found:
        raise MeshError(
            "capsule.attestation", "a scan here finds something else in it", capsule=header.id, because="found"
        )
