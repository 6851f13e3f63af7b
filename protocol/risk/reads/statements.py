"""Recognises a single database statement that only reads."""

from __future__ import annotations

import re
from typing import Final

from protocol.risk.addresses.address_words import CLEAR, STATEMENT_VERBS, STATEMENTS, WEAK, word_set
from protocol.risk.addresses.segments import words_in
from protocol.risk.reads.bodies import Pairs, name_of
from protocol.risk.reads.orders import does_more
from protocol.risk.reads.words import TOKEN_FIELDS

_SELECT: Final = re.compile(r"\s*(?:select|explain\s+select|show|describe)\s[^;()]{1,2000}", re.IGNORECASE)
"""One statement without a function call, in a language that needs a semicolon between two statements."""
IN_SELECT: Final = (STATEMENT_VERBS | CLEAR | WEAK) | word_set(
    "into outfile for set use execute begin declare rename lock waitfor backup restore shutdown procedure do deny enable "
    "checkpoint reconfigure dbcc commit rollback revert updatetext writetext truncate kill copy"
)
"""Words that do not occur in statements that only read. SQL Server reads ``SELECT 1 DELETE FROM a`` as two statements."""
_OF_DATABASES: Final = word_set("db database table schema ns server username pos limit page sessionmaxrows ajaxrequest")


def selects(pairs: Pairs, asked: Pairs) -> bool:
    """True if a database tool receives exactly one SQL statement, which reads, and nothing else."""
    statements = [str(value) for key, value in pairs if name_of(key) in STATEMENTS]
    rest = {name_of(key) for key, _ in pairs} - STATEMENTS - TOKEN_FIELDS
    if len(statements) != 1 or rest - _OF_DATABASES or does_more(asked):
        return False
    if any(value and name_of(key) in STATEMENTS | {"q", "query"} for key, value in asked):
        return False  # Java servers may use the parameters of the address
    said = statements[0]
    return _SELECT.fullmatch(said) is not None and IN_SELECT.isdisjoint(words_in(said))
