# mypy: ignore-errors
# It runs in the application's own environment.
"""A project of Trac with a login form, tickets and wiki pages: ``python trac_seed.py WORKDIR PASSWORD``."""

import sys
from pathlib import Path

from acct_mgr.api import AccountManager
from trac.admin.console import run
from trac.env import open_environment
from trac.perm import PermissionSystem
from trac.ticket.model import Ticket
from trac.ticket.report import Report
from trac.wiki.model import WikiPage

place = Path(sys.argv[1]) / "trac"
if run([str(place), "initenv", "Orchard", "sqlite:db/trac.db"]):
    sys.exit("initenv failed")

SETTINGS = {
    "components": {
        "acct_mgr.admin.*": "enabled",
        "acct_mgr.api.*": "enabled",
        "acct_mgr.htfile.HtPasswdStore": "enabled",
        "acct_mgr.pwhash.*": "enabled",
        "acct_mgr.web_ui.LoginModule": "enabled",
        "trac.web.auth.LoginModule": "disabled",
    },
    "account-manager": {
        "password_store": "HtPasswdStore",
        "htpasswd_file": "conf/users",
        "htpasswd_hash_type": "md5",
        "auth_init": "false",  # no other owner may set it up
    },
    "ticket": {"restrict_owner": "false"},
    "logging": {"log_type": "none"},
    "notification": {"smtp_enabled": "false"},
}
env = open_environment(str(place))
for section, options in SETTINGS.items():
    for option, value in options.items():
        env.config.set(section, option, value)
env.config.save()
env.shutdown()

env = open_environment(str(place))
accounts, rights = AccountManager(env), PermissionSystem(env)
for name in ("owner", "ann", "ben"):
    accounts.set_password(name, sys.argv[2])
rights.grant_permission("owner", "TRAC_ADMIN")

for title, kind in (
    ("Ladder of the north field is broken", "defect"),
    ("Order new crates", "task"),
    ("Press leaks", "defect"),
    ("Sell juice in small bottles", "enhancement"),
):
    ticket = Ticket(env)
    ticket.populate({"summary": title, "type": kind, "reporter": "ann", "owner": "owner", "description": title})
    ticket.populate({"status": "new", "priority": "major", "component": "component1", "milestone": "milestone1"})
    number = ticket.insert()
    Ticket(env, number).save_changes("ben", "Seen last week too.")
for name, text in (
    ("Harvest", "Begins in August."),
    ("Varieties", "Gravenstein, Summerred."),
    ("Helpers", "Ann, Ben."),
):
    for version in (text, text + "\n\nSee [wiki:Harvest]."):
        page = WikiPage(env, name)
        page.text = version
        page.save("owner", "a first draft")
report = Report(env)
report.title, report.query = "Of the press", "SELECT id AS ticket, summary FROM ticket"
report.insert()
env.shutdown()
