"""Searches on a schedule: each due time gets exactly one record, and at most one run of a schedule goes at a time.

``schedules`` decides what becomes of each due time (by ``protocol/schedule.py``), writes it down, and only then runs;
``triggers`` computes due times; ``searching`` does the search of a run, in the name of its schedule; ``notices`` tells how it
ended. The store is the truth: nothing that decides is kept in memory alone. Never runs a due time that has a record, and never
acts as the owner.
"""

from node.schedules.schedules import Schedules
from node.schedules.searching import Ended, ScheduledSearches, Searching
from node.schedules.verbs import ScheduleVerbs

__all__ = [
    "Ended",
    "ScheduleVerbs",
    "ScheduledSearches",
    "Schedules",
    "Searching",
]
