"""Work that takes long as records: begun by one call, looked at and cancelled by others.

Owns the table of tasks, their queue and their events. Takes the function that runs a verb from the API. Never decides who may call
a verb, and never keeps a secret: parameters that hold one are not stored.
"""

from node.tasks.queue import Dispatch, TaskQueue
from node.tasks.stored import TASKS, TaskRecord
from node.tasks.verbs import Check, TaskVerbs

__all__ = ["TASKS", "Check", "Dispatch", "TaskQueue", "TaskRecord", "TaskVerbs"]
