"""Every failure of trailmesh: one exception type, one register of codes.

A code never changes its meaning and is never reused. ``docs/errors.md`` is printed from ``CODES`` (``make docs``). Exit codes
and the HTTP status of the control API come from a code in ``node/base/statuses.py``, the status on the peer channel in
``adapters/transport/answers.py``.
"""

from __future__ import annotations

import enum
from typing import Any, NamedTuple


class Blame(enum.StrEnum):
    """Whose move it is to change something."""

    CALLER = "caller"
    """The input of the person or program that called."""
    PEER = "peer"
    """Another node broke the protocol, or may not do what it asked."""
    ENVIRONMENT = "environment"
    """Disk, network, browser or clock."""
    OUTCOME = "outcome"
    """Everything worked and the answer is no: a check failed, a search found nothing."""


class Code(NamedTuple):
    """What is known about one error code."""

    blame: Blame
    retryable: bool
    meaning: str
    remedy: str


_C, _P, _E, _O = Blame.CALLER, Blame.PEER, Blame.ENVIRONMENT, Blame.OUTCOME

CODES: dict[str, Code] = {
    # input
    "input.invalid": Code(
        _C,
        False,
        "An argument or a file does not have the expected form.",
        "Correct the named field; `--help` shows the form.",
    ),
    "input.too_large": Code(
        _C,
        False,
        "The input is larger than the limit for its kind.",
        "Send less at a time; docs/protocol/limits.md lists the limits.",
    ),
    "input.not_found": Code(
        _C,
        False,
        "Nothing with this id or name is stored here.",
        "List what there is (`session ls`, `node peers`, `explore show`, `explore schedule ls`).",
    ),
    "config.invalid": Code(
        _C,
        False,
        "The configuration file is not valid.",
        "Correct the named field; `configs/` holds examples that work.",
    ),
    # node
    "node.not_initialised": Code(_C, False, "The data directory holds no node yet.", "Run `trailmesh node init`."),
    "node.already_initialised": Code(
        _C, False, "The data directory holds a node already.", "Use another `--home`, or keep the node that is there."
    ),
    "node.locked": Code(
        _E, True, "Another process owns the data directory.", "Stop that process, or wait until it has ended."
    ),
    "node.not_serving": Code(_C, False, "The command needs a running node.", "Start it with `trailmesh node serve`."),
    "node.stopped": Code(
        _E,
        True,
        "The running node went away during the command.",
        "Start it again with `trailmesh node serve`; committed work is kept and resumes.",
    ),
    "node.address_in_use": Code(
        _E,
        True,
        "The listening address is taken.",
        "Choose another port with `--listen`, or stop the program that holds it.",
    ),
    "control.unauthorised": Code(
        _C, False, "The control token is missing or wrong.", "Run the command as the user that owns the data directory."
    ),
    "caller.refused": Code(
        _C,
        False,
        "The caller may not do this: its token or schedule was not granted it, or only the owner may.",
        "Let the owner run it, or make a token with the scope it needs: `trailmesh agent add --help`.",
    ),
    "internal.fault": Code(
        _E, False, "A defect of trailmesh itself.", "Please report it with the log line of this moment."
    ),
    "internal.cancelled": Code(_C, True, "The command was interrupted.", "Run it again; committed work is kept."),
    # cbor, ids, envelopes
    "cbor.invalid": Code(
        _P,
        False,
        "The bytes are not strict deterministic CBOR.",
        "The sender must encode as docs/protocol/cbor.md says.",
    ),
    "cbor.limit": Code(
        _P, False, "The CBOR value exceeds a limit of size, depth or items.", "The sender must send less at a time."
    ),
    "message.invalid": Code(
        _P,
        False,
        "The decoded value does not have the fields of its type.",
        "Both nodes should run the same protocol version.",
    ),
    "id.invalid": Code(
        _C, False, "The id is mistyped: its form or its check digit is wrong.", "Copy the id again, whole."
    ),
    "envelope.invalid": Code(
        _P,
        False,
        "The bytes are not an envelope of the allowed form.",
        "The sender must sign as docs/protocol/envelope.md says.",
    ),
    "envelope.kind": Code(
        _P,
        False,
        "The envelope is of another kind than this place accepts.",
        "The sender must use the kind of the route.",
    ),
    "envelope.key_unknown": Code(
        _P,
        False,
        "No trusted key matches the envelope's key id.",
        "Pair with the signer first: `trailmesh node invite` there, `trailmesh node join` here.",
    ),
    "envelope.signature": Code(
        _P, False, "The signature does not verify.", "The content was changed after signing, or another key signed it."
    ),
    "envelope.issuer": Code(
        _P, False, "The envelope names another issuer than the key's owner.", "The sender must name its own node id."
    ),
    "envelope.audience": Code(
        _P, False, "The message is addressed to another node.", "The sender must address this node."
    ),
    "envelope.time": Code(
        _P,
        True,
        "The message is expired, too old, or from the future.",
        "Set the clocks of both machines (`trailmesh node doctor` compares them).",
    ),
    "envelope.replayed": Code(
        _P, False, "The message was seen before.", "The sender must sign a new message for every attempt."
    ),
    "envelope.replay_window_full": Code(
        _E, True, "Too many messages at once: the replay window is full.", "Send again in a few minutes."
    ),
    # trust, pairing, channel
    "peer.unknown": Code(
        _P,
        False,
        "The node is not a peer of this one.",
        "Pair first: `trailmesh node invite` on one side, `trailmesh node join --peer` on the other.",
    ),
    "peer.scope": Code(
        _P,
        False,
        "The peer has no scope for this.",
        "Ask its owner for it there: `trailmesh node grant PEER SCOPE[=ORIGIN,…]`.",
    ),
    "peer.distrusted": Code(
        _P,
        False,
        "The owner of this node has distrusted the peer: nothing of it is believed, and nothing is asked of it.",
        "`trailmesh node trust NAME` takes it back, if that is what you want.",
    ),
    "peer.unreachable": Code(
        _E,
        True,
        "The peer does not answer at its address.",
        "Check that it runs (`trailmesh node status` there) and that its address is reachable.",
    ),
    "peer.refused_us": Code(
        _P,
        False,
        "The peer closed the connection: it does not know this node's key, or no longer trusts it.",
        "Ask the peer's owner for a new invite.",
    ),
    "peer.identity": Code(
        _P,
        False,
        "The node at this address holds another key than expected.",
        "Do not go on: check the address, and ask the peer's owner for its node id.",
    ),
    "peer.protocol": Code(
        _P, False, "The peer's answer is not of the expected form.", "Both nodes should run the same protocol version."
    ),
    "peer.quota": Code(
        _P,
        False,
        "The peer has used up the disk it is given here.",
        "Raise `policy.peer_disk_mib` in the configuration, or remove searches with `trailmesh explore rm`; `node status` shows who takes what.",
    ),
    "peer.limit": Code(_P, True, "The peer exceeded a limit of size, rate or time.", "Send less, or slower."),
    "peer.clock": Code(
        _E,
        True,
        "The clocks of the two nodes differ by more than messages and certificates allow.",
        "Set the clock of the machine that is wrong: `timedatectl set-ntp true`; `trailmesh node doctor` compares them.",
    ),
    "peer.signature": Code(
        _P,
        False,
        "The HTTP message does not carry the signature that this way to a peer demands.",
        "Both nodes must agree on the address: one that starts with `signed+https://` is for signed HTTP only.",
    ),
    "discovery.unavailable": Code(
        _E,
        True,
        "The local network cannot be searched: multicast is not possible on this interface.",
        "Name an interface (`discovery.interfaces` in the configuration), or carry an invite over by hand.",
    ),
    "invite.invalid": Code(
        _C,
        False,
        "The invite cannot be read: it was cut or mistyped.",
        "Copy the whole invite again; it starts with `tmi1.`.",
    ),
    "invite.expired": Code(_C, False, "The invite has expired.", "Ask for a new one: `trailmesh node invite`."),
    "invite.refused": Code(
        _P,
        False,
        "The inviting node refused: the invite was used already, withdrawn, or does not fit.",
        "Ask for a new one: `trailmesh node invite`.",
    ),
    "invite.url": Code(
        _C,
        False,
        "The peer address is not an https:// URL with host and port.",
        "Use the invite as it was printed, or the address that `trailmesh node pair` printed.",
    ),
    "pairing.refused": Code(
        _P,
        False,
        "The other node takes no part in this pairing: nobody waits there, somebody else came first, or three tries failed.",
        "Run `trailmesh node pair` there, then `trailmesh node join --peer` with the address it prints.",
    ),
    "pairing.declined": Code(
        _O,
        False,
        "One of the two people said no; nothing was stored on this side.",
        "If the digits differed, somebody sits in between: pair by an invite instead (`trailmesh node invite`).",
    ),
    "pairing.expired": Code(
        _O,
        True,
        "Nobody joined, or not both people confirmed, while the pairing was open; nothing was stored on this side.",
        "Begin again: `trailmesh node pair` there, `trailmesh node join --peer` here.",
    ),
    "pairing.unconfirmed": Code(
        _C,
        False,
        "An address alone is never trusted, and there is no terminal at which a person could compare the digits.",
        "Give `--fingerprint` with the other node's id (`trailmesh node id` there), or use an invite.",
    ),
    "keylog.invalid": Code(
        _P,
        False,
        "The key log or key event breaks a rule of its form, its order or its signatures.",
        "Do not trust it; ask the peer's owner. docs/protocol/keylog.md has the rules.",
    ),
    "keylog.gap": Code(
        _P,
        True,
        "A key event before this one is missing.",
        "The sender must send its whole key log.",
    ),
    "keylog.fork": Code(
        _P,
        False,
        "Two key events of the node contradict each other: one of its keys is in other hands.",
        "Its owner must run `trailmesh node recover` with the recovery key; until then the node is frozen here.",
    ),
    "keylog.revoked": Code(
        _P,
        False,
        "The node has revoked itself: nothing it signed since is believed.",
        "Pair with the node that takes its place; if it is this node, `node doctor` says how to go on.",
    ),
    "keylog.full": Code(
        _C, False, "The key log has no room for another rotation.", "Create a new node; a log holds 56 rotations."
    ),
    "key.locked": Code(
        _C,
        False,
        "The witness key is sealed with a passphrase, and none was given.",
        "Set TRAILMESH_PASSPHRASE_FILE, run the command in a terminal, or start `trailmesh node serve --passphrase-file FILE`.",
    ),
    "key.passphrase": Code(_C, False, "The witness key does not open.", "Give the right passphrase."),
    "key.keyring": Code(
        _E,
        False,
        "The keyring of this user cannot be used.",
        "Unlock it, or create the node without `--keyring`; machines without a desktop have none.",
    ),
    "recovery.invalid": Code(
        _C,
        False,
        "This is not the recovery key: words or file are mistyped, cut, or of another node.",
        "Compare with what was written down at `trailmesh node init`: 24 words in their order.",
    ),
    # store
    "store.corrupt": Code(
        _E,
        False,
        "The store does not open or fails its check.",
        "Restore the data directory from a backup; nothing was changed.",
    ),
    "store.unwritable": Code(
        _E,
        False,
        "The data directory cannot be used by this user: read-only, without permission, or no directory.",
        "Make the named path writable for this user (`ls -ld`, `findmnt --target`), or name another with `--home`; nothing in it is damaged.",
    ),
    "store.newer": Code(
        _E, False, "The store was written by a newer trailmesh.", "Install that version or a later one."
    ),
    "store.full": Code(
        _E, True, "The disk is full or the store's limit is reached.", "Free space, then run the command again."
    ),
    "blob.missing": Code(
        _E, False, "A stored file is missing or does not match its hash.", "Import the session again from its bundle."
    ),
    # witness log
    "log.invalid": Code(
        _P,
        False,
        "A checkpoint, proof or cosignature is not of the right form, or does not verify.",
        "Do not rely on it; ask its sender for a new one (`trailmesh log prove`).",
    ),
    "log.rollback": Code(
        _E,
        False,
        "A peer holds a later state of this node's log than the node itself: the data directory was restored from a copy.",
        "Sync with every peer that can be reached (`trailmesh log audit`), then open a new log: `trailmesh log renew`.",
    ),
    "log.equivocation": Code(
        _P,
        False,
        "The peer signed two contradictory states of its log: it is frozen, and both are kept as proof.",
        "`trailmesh log show --peer NAME --out FILE` writes the proof; pair with a new node of its owner, if at all.",
    ),
    "log.unproven": Code(
        _P,
        True,
        "The peer's log could not be shown to continue what was seen of it: it is suspended until it is.",
        "`trailmesh log audit --peer NAME` asks again.",
    ),
    "log.silent": Code(
        _P,
        True,
        "The peer does not show its log, or an older state of it than is held; by the policy of this node it is frozen until it does.",
        "`trailmesh log audit --peer NAME` asks again; `policy.log_silence: warn` in the configuration only tells you.",
    ),
    "log.not_logged": Code(
        _O,
        False,
        "The artefact is not in the log.",
        "Do not rely on it: what a node signs is in its log before it leaves.",
    ),
    # browser
    "browser.missing": Code(
        _E,
        False,
        "No Chromium was found.",
        "Install it (`apt-get install chromium`) or set `browser.executable` in the configuration.",
    ),
    "browser.launch": Code(
        _E,
        True,
        "Chromium was found and did not start.",
        "Run `trailmesh node doctor`; as root, set `browser.sandbox: false` knowingly.",
    ),
    "browser.unreachable": Code(
        _E,
        True,
        "No browser answers at the CDP address.",
        "Start it with `--remote-debugging-port`, then give that address.",
    ),
    "browser.crashed": Code(
        _E, True, "The browser or its page crashed.", "Run the command again: a new browser is started."
    ),
    "browser.timeout": Code(
        _E,
        True,
        "The page or the action did not finish in time.",
        "Check the address; raise `browser.step_timeout_ms` for slow sites.",
    ),
    "browser.navigation": Code(_E, True, "The page could not be loaded.", "Check the address and that the site is up."),
    "browser.scheme": Code(_C, False, "Only http and https pages are opened.", "Use an http:// or https:// address."),
    "browser.unreadable": Code(
        _O,
        False,
        "The page cannot be read: a field of a form is named like a part of the DOM.",
        "Use another page of the site, or have the field renamed: `detail.name` says which.",
    ),
    "action.target_missing": Code(
        _O, False, "The element of the action is not on the page.", "Record the step again, or give another locator."
    ),
    "action.target_ambiguous": Code(
        _O,
        False,
        "The locator fits several elements.",
        "Add `nth` or a more exact name; to selectors, a more exact one.",
    ),
    "action.target_differs": Code(
        _O,
        False,
        "The selector matches an element of another role or name than the action gives.",
        "Look at the page at this step: `trailmesh session show`. Record the step again if the new element is the right one.",
    ),
    "action.not_possible": Code(
        _O,
        False,
        "The element does not take this action (hidden, disabled, covered or of another kind).",
        "Look at the page at this step: `trailmesh session show`.",
    ),
    "action.arrival_differs": Code(
        _O,
        False,
        "The page after the action is not the one that the action file asserts.",
        "Look at the page at this step: `trailmesh session show`; or correct the asserted address or title in the file.",
    ),
    "action.secret_literal": Code(
        _C,
        False,
        "A password field was to be filled with a literal value.",
        "Write `value: {secret: NAME}` and give it with `--secret NAME=@FILE`.",
    ),
    "action.secret_missing": Code(
        _C, False, "The action needs a secret that was not given.", "Give it with `--secret NAME=@FILE`."
    ),
    "risk.refused": Code(
        _O,
        False,
        "The action's risk class needs a human approval.",
        "Choose another way, or approve it for one run of `session record` or `session replay`: `--approve-class`.",
    ),
    "replay.diverged": Code(
        _O,
        False,
        "The step writes, and an earlier step of the replay did not match its recording: it was not performed.",
        "Look at the step that did not match. `session replay --on-mismatch go` performs the steps after it all the same.",
    ),
    # session, bundle, report
    "session.not_committed": Code(
        _C,
        False,
        "The session is still open or was interrupted.",
        "Wait until it has ended; an interrupted session can be shown, not exported.",
    ),
    "bundle.invalid": Code(
        _P, False, "The file is not a canonical session bundle.", "Export it again with `trailmesh session export`."
    ),
    "bundle.element": Code(
        _P,
        False,
        "An element of the bundle does not match the signed manifest.",
        "Ask for the bundle again; the named element was changed.",
    ),
    "report.invalid": Code(
        _P, False, "The replay report does not fit its session.", "Ask the replaying node for a new report."
    ),
    # search
    "condition.invalid": Code(
        _C, False, "The success condition cannot be read.", "See `trailmesh explore run --help` for the forms."
    ),
    "search.not_found_goal": Code(
        _O,
        False,
        "The search ended within its limits without a verified success.",
        "Give more time (`--seconds`), or a nearer start address.",
    ),
    "search.exhausted": Code(
        _O,
        False,
        "Nothing new is left to try, and no verified success was found.",
        "Give another start address or condition, not more time; pages that differ in numbers only count as one page.",
    ),
    "search.state": Code(
        _C, False, "The search is not in a state that allows this.", "`trailmesh explore show` prints its state."
    ),
    "search.start_failed": Code(
        _E, True, "The start page of the search could not be opened.", "Check the address and that the site is up."
    ),
    # schedules
    "schedule.running": Code(
        _O,
        True,
        "The run of the schedule before this one has not ended.",
        "Wait for its end, or end it with `trailmesh explore schedule pause`.",
    ),
    "schedule.late": Code(
        _E,
        False,
        "The due time passed while the node did not run, or its clock jumped over it.",
        "Keep the node serving; `--misfire run-once` runs the last due time that passed.",
    ),
    "schedule.withdrawn": Code(
        _C,
        True,
        "The schedule was paused or removed, or it expired, before its run had ended.",
        "Resume it (`trailmesh explore schedule resume`), or add it again.",
    ),
    "schedule.failing": Code(
        _O,
        False,
        "The schedule was paused because too many of its runs failed in a row.",
        "See why with `trailmesh explore schedule show`, then `trailmesh explore schedule resume`.",
    ),
    "schedule.expired": Code(
        _C, False, "The schedule has expired: it runs no more.", "Add it again with a later `--expires`."
    ),
    "schedule.notify": Code(
        _E,
        True,
        "The end of a run could not be told to the webhook or command of its schedule.",
        "Check that the webhook answers with a status of 200 to 299, or that the command exits with 0.",
    ),
    "delta.invalid": Code(
        _P, False, "The delta is not a change this protocol emits.", "Both nodes should run the same protocol version."
    ),
    "delta.gap": Code(
        _P, True, "A delta before this one is missing.", "The sender must send from the sequence number in the answer."
    ),
    "delta.equivocation": Code(
        _P,
        False,
        "The peer signed two different deltas with one sequence number.",
        "Its share of the search is dropped for good; find out who else holds its key.",
    ),
    "lease.unknown": Code(_P, False, "No such lease is live.", "It expired or was revoked: ask for a new one."),
    "lease.busy": Code(
        _P, True, "The node works on as many branches as it may.", "Assign the branch to another peer, or later."
    ),
    "claim.invalid": Code(
        _P,
        False,
        "The claim is none its lease could give: it leaves the branch, or is no path of actions a search performs.",
        "It counts as a false claim; both nodes should run the same protocol version.",
    ),
    "policy.refused": Code(
        _P,
        False,
        "This node's own policy, or its owner, does not allow the assignment.",
        "Assign it elsewhere: a coordinator cannot relax a peer's policy.",
    ),
}


class MeshError(Exception):
    """The only exception that crosses a room of the house.

    ``code`` is in ``CODES``; ``detail`` holds plain values (text, integers, lists of them) and never a secret.
    """

    def __init__(self, code: str, message: str = "", **detail: Any) -> None:
        assert code in CODES, f"unregistered error code {code}"
        self.code = code
        self.message = message or CODES[code].meaning
        self.detail = detail
        super().__init__(f"{code}: {self.message}")

    @property
    def blame(self) -> Blame:
        """Who has to act."""
        return CODES[self.code].blame

    @property
    def retryable(self) -> bool:
        """Whether the same call can succeed later without a change by the caller."""
        return CODES[self.code].retryable

    @property
    def remedy(self) -> str:
        """One sentence a person can act on."""
        return CODES[self.code].remedy

    def to_dict(self) -> dict[str, Any]:
        """The one error form of every interface: JSON of the CLI, control API, peer API."""
        return {
            "code": self.code,
            "message": self.message,
            "blame": self.blame.value,
            "retryable": self.retryable,
            "remedy": self.remedy,
            "detail": self.detail,
        }
