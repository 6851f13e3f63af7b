# mypy: ignore-errors
# It runs in the application's own environment.
"""I Hate Money with two budgets: ``python ihatemoney_app.py WORKDIR PORT PASSWORD``; port 0 only makes the data."""

import datetime
import sys
from pathlib import Path

from ihatemoney.models import Bill, BillType, Person, Project, db
from ihatemoney.run import create_app
from ihatemoney.utils import generate_password_hash
from werkzeug.serving import run_simple

work, port, password = Path(sys.argv[1]).absolute(), int(sys.argv[2]), sys.argv[3]


class Settings:
    SQLALCHEMY_DATABASE_URI = f"sqlite:///{work}/budgets.sqlite"
    SECRET_KEY = "of one seeded folder that nobody else has, long enough for its own checks"
    SESSION_COOKIE_SECURE = False
    RATELIMIT_ENABLED = False
    MAIL_SUPPRESS_SEND = True
    ACTIVATE_DEMO_PROJECT = False
    SUPPORTED_LANGUAGES = ("en", "de", "fr")  # each is a link on each page


app = create_app(Settings)
if port:
    run_simple("127.0.0.1", port, app, threaded=True)
    sys.exit()

BUDGETS = {
    "flat": (
        "The flat",
        ("Ann", "Ben", "Cleo", "Dan"),
        (("Coffee", 12.5), ("Rent of May", 900), ("Lamp", 34), ("Soap", 4.2)),
    ),
    "boat": ("Boat trip", ("Ann", "Eva"), (("Fuel", 80), ("Fish", 22))),
}
with app.app_context():
    for key, (name, people, bills) in BUDGETS.items():
        project = Project(
            id=key,
            name=name,
            password=generate_password_hash(password),
            contact_email="owner@example.org",
            default_currency="XXX",
        )
        db.session.add(project)
        db.session.commit()
        members = [Person(name=each, project=project, weight=1) for each in people]
        db.session.add_all(members)
        db.session.commit()
        for number, (what, amount) in enumerate(bills):
            bill = Bill(
                amount=amount,
                bill_type=BillType.EXPENSE,
                date=datetime.date(2026, 5, 1 + number),
                original_currency="XXX",
                owers=members[: 2 + number % 2],
                payer_id=members[number % len(members)].id,
                project_default_currency="XXX",
                what=what,
            )
            db.session.add(bill)
            db.session.commit()
        if len(members) > 3:
            members[3].activated = False
            db.session.commit()
