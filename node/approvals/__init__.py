"""The keys of the people who own this node, the questions to them, and their answers.

Owns the chain of owners' keys and every question. Notes a question when the gate or the guard refused something, verifies the
signed answer, and decides which requests and actions it allows. Never opens a private key of an owner, and never waits for a
person.
"""

from node.approvals.asker import Asker
from node.approvals.explaining import Explaining
from node.approvals.keeping import end_answers
from node.approvals.owner_keys import OwnerKeys
from node.approvals.questions import Approvals
from node.approvals.stored import QUESTIONS

__all__ = [
    "QUESTIONS",
    "Approvals",
    "Asker",
    "Explaining",
    "OwnerKeys",
    "end_answers",
]
