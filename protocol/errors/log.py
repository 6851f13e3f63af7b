"""The witness log."""

from __future__ import annotations

from typing import Final

from protocol.errors.code import Blame, Code

_P, _E, _O = Blame.PEER, Blame.ENVIRONMENT, Blame.OUTCOME

LOG: Final[dict[str, Code]] = {
    # witness log
    "log.invalid": Code(
        _P,
        False,
        "A checkpoint, proof or cosignature is malformed or does not verify.",
        "Do not rely on it. If it is a proof, ask its sender for a new one (`trailmesh log prove` there). If it came from a peer by itself, run `trailmesh log audit --peer NAME`.",
    ),
    "log.rollback": Code(
        _E,
        False,
        "A peer holds a later state of this node's witness log than this node does, so the data directory was probably restored from a backup.",
        "Ask every peer for what it holds (`trailmesh log audit`), then start a new log: `trailmesh log renew`.",
    ),
    "log.equivocation": Code(
        _P,
        False,
        "The peer signed two contradictory states of its witness log. The peer is frozen, and both states are kept as proof.",
        "Write the proof to a file with `trailmesh log show --peer NAME --out FILE`. Pair only with a new node of its owner, if at all.",
    ),
    "log.unproven": Code(
        _P,
        True,
        "The peer could not prove that its witness log continues the state this node had verified. It is suspended until it does.",
        "Ask the peer again: `trailmesh log audit --peer NAME`.",
    ),
    "log.silent": Code(
        _P,
        True,
        "The peer does not show its witness log, or shows an older state than this node holds. The policy of this node freezes it until it does.",
        "Ask the peer again with `trailmesh log audit --peer NAME`. If a warning is enough, set `policy.log_silence: warn` in the configuration.",
    ),
    "log.not_logged": Code(
        _O,
        False,
        "The artefact is not in the witness log of its signer.",
        "Do not rely on it. A node logs every artefact before sending it, so ask its owner why this one is missing.",
    ),
}
