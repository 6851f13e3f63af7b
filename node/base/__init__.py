"""Small parts that several rooms use: background tasks, files, JSON values, exit codes, text for a terminal.

Owns no stored data. Never knows what a session, a peer or a search is.
"""

from node.base.control_file import (
    AGENTS_DIRECTORY,
    AGENTS_SOCKET_FILE,
    CONTROL_FILE,
    SOCKET_FILE,
    ControlInfo,
    socket_path,
)
from node.base.fault_report import REPORTS_DIRECTORY, Reported, fault, in_short, write_report
from node.base.files import MARK_FILE, STORE_FILE, open_named, write_atomic, write_private
from node.base.listeners import Listeners
from node.base.loop_watch import LoopWatch
from node.base.ownership import check_file, check_private
from node.base.paging import every_artefact, every_delta, every_search
from node.base.plain import counted, plain
from node.base.serving import Serving
from node.base.statuses import NO_LOGIN, exit_code, from_dict, http_status
from node.base.stored_ids import find_stored
from node.base.tasks import Tasks, any_of, either, interruptible, to_its_end
from node.base.terminal import LineFormatter, json_text, one_lined

__all__ = [
    "AGENTS_DIRECTORY",
    "AGENTS_SOCKET_FILE",
    "CONTROL_FILE",
    "MARK_FILE",
    "NO_LOGIN",
    "REPORTS_DIRECTORY",
    "SOCKET_FILE",
    "STORE_FILE",
    "ControlInfo",
    "LineFormatter",
    "Listeners",
    "LoopWatch",
    "Reported",
    "Serving",
    "Tasks",
    "any_of",
    "check_file",
    "check_private",
    "counted",
    "either",
    "every_artefact",
    "every_delta",
    "every_search",
    "exit_code",
    "fault",
    "find_stored",
    "from_dict",
    "http_status",
    "in_short",
    "interruptible",
    "json_text",
    "one_lined",
    "open_named",
    "plain",
    "socket_path",
    "to_its_end",
    "write_atomic",
    "write_private",
    "write_report",
]
