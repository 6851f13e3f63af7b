"""Reports the outcomes of due times to the feed, and the end of a run to the webhook and the command of its schedule."""

from __future__ import annotations

import json
import logging
from collections.abc import Coroutine, Sequence
from typing import Any, Final

from adapters.ports.clock import Notifier
from adapters.schedule_records import RunRecord, ScheduleRecord
from node.signing import Feed
from node.verbs import Caller, CallerKind
from protocol.errors import MeshError
from protocol.feed import ABOUT, FeedKind
from protocol.schedule import RunStatus

log = logging.getLogger(__name__)

_KINDS: Final = {
    RunStatus.RUNNING: FeedKind.RUN_STARTED,
    RunStatus.DONE: FeedKind.RUN_DONE,
    RunStatus.FAILED: FeedKind.RUN_FAILED,
    RunStatus.INTERRUPTED: FeedKind.RUN_INTERRUPTED,
    RunStatus.SKIPPED: FeedKind.RUN_SKIPPED,
    RunStatus.COALESCED: FeedKind.RUN_COALESCED,
    RunStatus.MISSED: FeedKind.RUN_MISSED,
}


async def tell_outcomes(feed: Feed, runs: Sequence[RunRecord]) -> None:
    """Tell the feed the outcomes of due times of one schedule, each outcome once: a node that was down for long finds hundreds of
    missed due times, and must not fill the feed with them. The schedule is the caller, regardless of who made it or ran it now.
    Never raises.
    """
    for run in {run.status: run for run in runs}.values():
        who = str(Caller(kind=CallerKind.SCHEDULE, name=run.schedule))
        kind = _KINDS[run.status]
        # A run that was skipped because no browser was free also has a search. The feed then names only the due time.
        await feed.tell(kind, *(run.schedule, run.search)[: len(ABOUT[kind].ids)], who=who)


def body_of(record: ScheduleRecord, run: RunRecord) -> bytes:
    """The notification: ids, states, times and codes. It contains no address, no goal and no page content."""
    told = {
        "schedule": run.schedule,
        "due_ms": run.due_ms,
        "status": run.status.value,
        "code": run.reason,
        "search": run.search,
        "session": run.session,
        "paused": record.paused,
    }
    return json.dumps(told, separators=(",", ":")).encode()


async def notify(notifier: Notifier, record: ScheduleRecord, run: RunRecord) -> None:
    """Send the notification to the webhook and command of the schedule. A failure is logged without address and arguments. Never
    raises."""
    if record.notify_on == "failed" and run.status is not RunStatus.FAILED:
        return
    body = body_of(record, run)
    if record.notify_webhook:
        await _tried(notifier.post(record.notify_webhook, body), run)
    if record.notify_command:
        await _tried(notifier.run(record.notify_command, body), run)


async def _tried(telling: Coroutine[Any, Any, None], run: RunRecord) -> None:
    try:
        await telling
    except MeshError as error:
        log.warning("the notification about a run of %s failed: %s", run.schedule, error)
