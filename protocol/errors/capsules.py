"""Sealed logins, and the work where a login is."""

from __future__ import annotations

from typing import Final

from protocol.errors.code import Blame, Code

_C, _P, _E, _O = Blame.CALLER, Blame.PEER, Blame.ENVIRONMENT, Blame.OUTCOME

CAPSULES: Final[dict[str, Code]] = {
    # capsules
    "capsule.invalid": Code(
        _P,
        False,
        "The capsule, or the file that holds it, does not have the required form.",
        "Have it exported again: `trailmesh capsule export`. docs/protocol/capsule.md describes the form.",
    ),
    "capsule.suite": Code(
        _P,
        False,
        "The capsule is sealed with a method that this program does not know.",
        "Update trailmesh on this node, then repeat the command.",
    ),
    "capsule.issuer": Code(
        _P,
        False,
        "It is signed by another node than the one it names: a capsule that was received cannot be passed on.",
        "Ask the node that captured it to export it to this node: `trailmesh capsule export ID --to NAME`.",
    ),
    "capsule.altered": Code(
        _P,
        False,
        "Header, policy or wrapped key of the capsule were changed after it was sealed.",
        "Do not use the file. Have the node that captured it export it again, and ask who changed it.",
    ),
    "capsule.recipient": Code(
        _C,
        False,
        "The capsule is not sealed to a key of this node.",
        "Have it exported to this node by its name: `trailmesh capsule export ID --to NAME`.",
    ),
    "capsule.stripped": Code(
        _P,
        False,
        "The capsule does not have a key for each recipient it names: one was taken out.",
        "Do not use the file. Have the node that captured it export it again.",
    ),
    "capsule.truncated": Code(
        _P,
        False,
        "The end of the sealed state is missing.",
        "Copy the file again, and compare the sizes.",
    ),
    "capsule.chunks": Code(
        _P,
        False,
        "A part of the sealed state was changed, moved or added.",
        "Do not use the file. Have the node that captured it export it again.",
    ),
    "capsule.stream": Code(
        _P,
        False,
        "The sealed state is not the one that the capsule was signed with.",
        "Copy the file again; if that does not help, have it exported again.",
    ),
    "capsule.key_ended": Code(
        _O,
        False,
        "The sealing key that the capsule is sealed to has ended, and its private half was destroyed.",
        "Have it exported again: the export asks for the present key of the node.",
    ),
    "capsule.clock": Code(
        _E,
        False,
        "The clock of this machine is behind a time at which the capsule was seen before: its policy cannot be judged.",
        "Correct the clock, then repeat the command. If it is right now and had jumped ahead: `trailmesh node accept-clock`.",
    ),
    "capsule.expired": Code(
        _O,
        False,
        "The capsule has expired.",
        "Log in again: `trailmesh capsule login URL`, or `trailmesh capsule capture --from FILE`, makes a new one, also by the same name.",
    ),
    "capsule.stale": Code(
        _O,
        True,
        "The node that issued the capsule has not been heard of within the time that the policy allows.",
        "Connect to that node (`trailmesh node peers` shows whether it is reached), then repeat the command.",
    ),
    "capsule.origin": Code(
        _C,
        False,
        "The work goes to an origin that the capsule's policy does not name.",
        "Limit the work to the origins that `trailmesh capsule show` lists, or capture a capsule with another policy.",
    ),
    "capsule.task": Code(
        _C,
        False,
        "The capsule's policy does not allow this kind of work.",
        "Use it for what `trailmesh capsule show` lists, or have a capsule issued with this task.",
    ),
    "capsule.class": Code(
        _C,
        False,
        "The work may perform actions of a higher risk class than the capsule's policy allows.",
        "Approve lower classes only, or have a capsule issued with a higher class.",
    ),
    "capsule.replays": Code(
        _O,
        False,
        "The capsule has been used as often as its policy allows.",
        "Ask its issuer for a new one, or make one: `trailmesh capsule rm ID` frees the name, `trailmesh capsule login URL` logs in.",
    ),
    "capsule.mfa": Code(
        _O,
        False,
        "The policy demands a second factor that is more recent than the one of this login.",
        "Log in again with the second factor, and capture the state with `--mfa-now`.",
    ),
    "capsule.device": Code(
        _O,
        False,
        "The capsule may only be used on the machine where it was captured.",
        "Use it there, or have one issued with `--cross-device`.",
    ),
    "capsule.installation": Code(
        _O,
        False,
        "The capsule may only be used by the node that captured it.",
        "Let that node do the work, or have one issued with `--cross-installation`.",
    ),
    "capsule.consent": Code(
        _O,
        False,
        "The policy demands the signed consent of a person, and there is none that holds for these terms.",
        "Let an owner of the node that captured it sign: `trailmesh capsule consent ID` (with `--to NAME` for an export).",
    ),
    "capsule.generation": Code(
        _O,
        False,
        "There is newer state of this login: an older generation is never used again.",
        "Use the newest one; have it exported again if another node holds it.",
    ),
    "capsule.held": Code(
        _O,
        True,
        "The capsule is in use: one holder at a time, because sites end logins that two browsers share.",
        "Wait until the other use has ended, then repeat the command.",
    ),
    "capsule.revoked": Code(
        _O,
        False,
        "The capsule was revoked by the node that captured it.",
        "Ask the owner of that node for another one.",
    ),
    "capsule.logged_out": Code(
        _O,
        False,
        "The site does not take the login of the capsule any more.",
        "Log in again: `trailmesh capsule login URL --replaces ID`, or `trailmesh capsule capture --replaces ID --from FILE`,"
        " keeps newer state in the same capsule, under the same policy.",
    ),
    "capsule.copied": Code(
        _O,
        False,
        "The capsule was sealed before this node began its present witness log, as after a restore: its uses cannot be trusted to be complete.",
        "Have it exported again, or capture it again.",
    ),
    "capsule.counted": Code(
        _O,
        False,
        "The issuer of the capsule has counted another use under the same number: the node that uses it runs on an older store, or on a"
        " copy of one.",
        "If the store of this node was restored, repeat the command: the count goes on where its issuer's is. If a copy of its data"
        " directory runs elsewhere, stop one of the two.",
    ),
    "capsule.not_logged_in": Code(
        _O,
        False,
        "The login did not succeed, as far as the page and the browser's state show: nothing was kept.",
        "The message says what is missing. If the steps say that the guard refused a request, name it with --allow. Log in again;"
        " give --until if the page cannot tell by itself.",
    ),
    "capsule.unproven": Code(
        _O,
        False,
        "A fresh browser that was given the captured state is not logged in, or that cannot be told: nothing was kept.",
        "Name an address that only the login opens, or --until. A key in IndexedDB that no script reads goes along with"
        " `capsule login --with FILE --slice`. If the site binds the login to its browser otherwise"
        " (`trailmesh capsule probe URL`), let this node do the work.",
    ),
    "capsule.no_passkey": Code(
        _C,
        False,
        "This node has no passkey for the site, or the site has not made one while it was to be registered.",
        "Register one once: log in with a file whose steps add a passkey, and --register-passkey. No other node's passkey can be used.",
    ),
    "capsule.slice": Code(
        _C,
        False,
        "The capsule holds files of a browser's profile, which this node takes only if its owner says so.",
        "Ask who gave it what they are for. If you trust the node that captured it with the browser of this machine, import it with --slice.",
    ),
    "capsule.slice_version": Code(
        _O,
        False,
        "The capsule holds files of a browser's profile, which only the version that has written them reads, and this is another one.",
        "Log in again with this browser: `trailmesh capsule login URL --with FILE --slice --replaces ID`. Or set `browser.executable` to"
        " the version that `trailmesh capsule show` names.",
    ),
    "capsule.attestation": Code(
        _E,
        False,
        "There is no signed scan of the capsule's present state that holds: it is not used, or not kept. `detail.because` says why.",
        "Seal it anew, which scans it: `trailmesh capsule rotate ID`. If that is refused, capture it again. What a peer handed over"
        " is for its owner to explain: nothing of it was kept.",
    ),
    "capsule.not_offered": Code(
        _C,
        False,
        "The peer has offered this node the cookies of no login for this origin, or that login has ended.",
        "Ask its owner to offer one there: `trailmesh capsule offer CAPSULE --to PEER`. Or let that node do the work:"
        " `trailmesh capsule work PEER`.",
    ),
    # work where a login is
    "work.no_login": Code(
        _C,
        False,
        "The node has no login for this address that may be used for this kind of work.",
        "Ask its owner to log in there (`trailmesh capsule login URL`), and name the origins that the work needs.",
    ),
    "work.busy": Code(
        _O,
        True,
        "The node already does as much work for others as it accepts at once.",
        "Wait until a work has ended, then repeat the command.",
    ),
    "work.unknown": Code(
        _O,
        False,
        "The node does not know of this work, or not any longer: it forgets what it did an hour ago.",
        "Ask for the work again.",
    ),
    "work.interrupted": Code(
        _O,
        False,
        "The node stopped before the work was done: there is no verdict.",
        "Ask for the work again.",
    ),
    "work.late": Code(
        _O,
        True,
        "There is no verdict about the work within the time that was given for it.",
        "Give more time (`--seconds`), or ask for less work at once.",
    ),
    "work.verdict": Code(
        _P,
        False,
        "What the peer signed is not the verdict about the work that it was asked for.",
        "Do not rely on it. Ask the owner of the other node; `trailmesh node distrust NAME` ends the cooperation.",
    ),
}
