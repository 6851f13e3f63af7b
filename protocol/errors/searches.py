"""Searches, schedules, deltas, leases and claims."""

from __future__ import annotations

from typing import Final

from protocol.errors.code import Blame, Code

_C, _P, _E, _O = Blame.CALLER, Blame.PEER, Blame.ENVIRONMENT, Blame.OUTCOME

SEARCHES: Final[dict[str, Code]] = {
    # search
    "condition.invalid": Code(
        _C,
        False,
        "The success condition (`--until`) cannot be read.",
        "See `trailmesh explore run --help` for the accepted forms.",
    ),
    "search.not_found_goal": Code(
        _O,
        False,
        "The search reached its limits without a verified success.",
        "Answer what waits for an answer, if the message says so. Else give it more time (`--seconds`), or start nearer to the goal "
        "(`--start`).",
    ),
    "search.exhausted": Code(
        _O,
        False,
        "The search has tried every action it found, without a verified success.",
        "See what the guard refused and what waits for an answer (`trailmesh approve ls`): a page may lack what it asked for. Else change "
        "the start address or the condition; more time helps only where controls were left untried. Pages that differ only in numbers "
        "count as one page.",
    ),
    "search.state": Code(
        _C,
        False,
        "The search is in a state that does not allow this operation.",
        "See its state with `trailmesh explore show`. A running search must be ended first: `trailmesh explore stop`.",
    ),
    "search.start_failed": Code(
        _E,
        True,
        "The start page of the search could not be opened.",
        "Check the address, and that the site is reachable from this machine.",
    ),
    "search.full": Code(
        _E,
        True,
        "The open searches of the node together hold the maximum number of pages in memory.",
        "End a search on that node (`trailmesh explore show` lists them, `trailmesh explore stop` ends one), then try again.",
    ),
    # schedules
    "schedule.running": Code(
        _O,
        True,
        "The run of the schedule before this one has not ended.",
        "Wait for its end, or end it with `trailmesh explore schedule pause`.",
    ),
    "schedule.busy": Code(
        _O,
        True,
        "No worker was free for the run of the schedule: nobody has looked, so nothing is said about the goal.",
        "Let fewer searches run at that time, or raise `explore.workers` and `browser.contexts_max` in the configuration.",
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
        _P,
        False,
        "The delta contains a change that this protocol does not allow.",
        "Install the same version of trailmesh on both machines (`trailmesh --version`), then try again.",
    ),
    "delta.gap": Code(
        _P,
        True,
        "A delta before this one is missing.",
        "The sender must continue from the epoch and sequence number given in `detail`.",
    ),
    "delta.equivocation": Code(
        _P,
        False,
        "The peer signed two different deltas with the same sequence number.",
        "This node has discarded the peer's contribution to the search. Ask the peer's owner who else holds its key.",
    ),
    "lease.unknown": Code(
        _P,
        False,
        "The lease does not exist, has ended, or belongs to another node.",
        "The worker must wait for a new lease from the coordinator.",
    ),
    "lease.spend": Code(
        _P,
        False,
        "The worker reports more work than its lease allows or than the elapsed time permits.",
        "The report is not counted. Check both clocks with `trailmesh node doctor`, and install the same version on both machines.",
    ),
    "lease.busy": Code(
        _P,
        True,
        "The node already works on its maximum number of branches.",
        "Assign the branch to another peer, or try again later.",
    ),
    "claim.invalid": Code(
        _P,
        False,
        "The claim does not follow from its lease: it leaves the leased branch, or contains an action that a search never performs.",
        "It counts as a false claim. If the peer is honest, install the same version of trailmesh on both machines.",
    ),
    "policy.refused": Code(
        _P,
        False,
        "The policy or the owner of this node does not allow the assignment.",
        "Assign the branch to another peer. Only the owner of the refusing node can change its policy.",
    ),
}
