"""Searches on a schedule: each due time gets exactly one record, and a schedule has at most one run at a time.

``schedules`` decides about each due time (by ``protocol/schedule.py``), stores the decision, and only then runs;
``kept`` stores what changes, ``triggers`` computes due times. ``runs`` performs a run: ``searching`` does its search, with the
schedule as caller; ``notices`` reports how it ended. All state that decisions depend on is in the store. Never runs a due time
that has a record, and never acts as the owner.
"""

from node.schedules.schedules import Schedules
from node.schedules.searching import ScheduledSearches, ScheduledSearchResult, Searching
from node.schedules.verbs import ScheduleVerbs

__all__ = [
    "ScheduleVerbs",
    "ScheduledSearchResult",
    "ScheduledSearches",
    "Schedules",
    "Searching",
]
