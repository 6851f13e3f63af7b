"""Opens replay reports, of this node and of others."""

from __future__ import annotations

from node.sessions.shared.replay_plan import ReplaySource
from protocol import limits
from protocol.errors import MeshError
from protocol.messages import KIND_REPLAY_REPORT
from protocol.recording.records.session import ReplayReport
from protocol.recording.replays.reports import check_report
from protocol.wire.cbor import decode_as
from protocol.wire.envelope import Envelope, KeyFinder, verify
from protocol.wire.formats import by_its_rules


def open_report(data: bytes, find_key: KeyFinder, recorded: ReplaySource) -> ReplayReport:
    """Verify the report in the envelope ``data`` and return it.

    Checks, in order: envelope and signature; form; signature by the node that the report names; consistency with the recording
    (``protocol.recording.replays.reports.check_report``). Errors: ``envelope.*``, ``format.*``, ``report.invalid``.
    """
    signed = verify(data, kinds=frozenset({KIND_REPLAY_REPORT}), find_key=find_key)
    try:
        return _read(signed, recorded)
    except MeshError as error:
        if error.code != "report.invalid":
            raise
        raise by_its_rules(KIND_REPLAY_REPORT, signed.version, error) from error


def _read(signed: Envelope, recorded: ReplaySource) -> ReplayReport:
    try:
        report = decode_as(signed.payload, ReplayReport, bytes_max=limits.ARTEFACT_BYTES_MAX)
    except MeshError as error:
        raise MeshError("report.invalid", error.message) from error
    if report.node != signed.header.issuer:
        raise MeshError("envelope.issuer", f"a report of {report.node[:7]} signed by {signed.header.issuer[:7]}")
    check_report(report, session=recorded.session, manifest_digest=recorded.manifest, steps=recorded.steps)
    return report
