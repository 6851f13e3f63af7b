# mypy: ignore-errors
# It runs in the application's own environment.
"""Pretalx with one event: ``python pretalx_app.py WORKDIR PORT PUBLIC PASSWORD``; port 0 only makes the data."""

import os
import random
import secrets
import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

work, port, public, password = Path(sys.argv[1]).absolute(), sys.argv[2], sys.argv[3], sys.argv[4]
(work / "pretalx_conf.py").write_text(
    """from pretalx.settings import *

CSRF_COOKIE_SECURE = False
EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
SECRET_KEY = "of one seeded folder that nobody else has, long enough for its own checks"
STORAGES["staticfiles"]["BACKEND"] = "django.contrib.staticfiles.storage.StaticFilesStorage"
WHITENOISE_AUTOREFRESH = WHITENOISE_USE_FINDERS = True
""",
    encoding="utf-8",
)
os.chdir(work)
sys.path.insert(0, str(work))
os.environ |= {
    "DJANGO_SETTINGS_MODULE": "pretalx_conf",
    "PRETALX_DATA_DIR": str(work / "data"),
    "PRETALX_DEBUG": "False",
    "PRETALX_FILESYSTEM_STATIC": str(work / "static"),
    "PRETALX_SITE_URL": public,
}
if port == "0":
    secrets.choice = random.Random(0).choice  # addresses hold codes: they are the same each time

import django  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.utils import timezone as clock  # noqa: E402

if port != "0":
    django.setup()
    call_command("runserver", f"127.0.0.1:{port}", "--noreload")
    sys.exit()

moments = iter(range(10**6))
clock.now = lambda: datetime(2026, 1, 5, 10, tzinfo=UTC) + timedelta(seconds=next(moments))
django.setup()
call_command("migrate", verbosity=0)

from django_scopes import scope, scopes_disabled  # noqa: E402
from pretalx.common.models.settings import GlobalSettings  # noqa: E402
from pretalx.event.models import Event  # noqa: E402
from pretalx.event.utils import create_organiser_with_team  # noqa: E402
from pretalx.mail.models import QueuedMail  # noqa: E402
from pretalx.person.models import SpeakerProfile, User  # noqa: E402
from pretalx.schedule.models import Room  # noqa: E402
from pretalx.submission.models import Question, Review, Submission, Tag, Track  # noqa: E402

told = GlobalSettings().settings  # it asks no other site for its newest version, and says no more of that
told.update_check_enabled, told.update_check_ack = False, True
owner = User.objects.create_superuser(name="Owner", email="owner@example.org", password=password)
people = [User.objects.create_user(name=name, email=f"{name.lower()}@example.org") for name in ("Ann", "Ben")]
organiser, team = create_organiser_with_team(name="Bakers", slug="bakers", users=[owner])
team.can_change_event_settings = team.can_change_submissions = team.is_reviewer = team.all_events = True
team.save()
with scopes_disabled():
    event = Event.objects.create(
        name="Days of bread",
        slug="bread",
        organiser=organiser,
        is_public=True,
        date_from=date(2036, 6, 12),
        date_to=date(2036, 6, 13),
        timezone="UTC",
        email="bakers@example.org",
        locale_array="en",
        locale="en",
    )
    event.build_initial_data()
with scope(event=event):
    rooms = [
        Room.objects.create(event=event, name=name, position=number) for number, name in enumerate(("Hall", "Oven"))
    ]
    tracks = [Track.objects.create(event=event, name=name, color="#2e7d32") for name in ("Wheat", "Rye")]
    tag = Tag.objects.create(event=event, tag="beginners", color="#1565c0")
    Question.objects.create(event=event, variant="string", target="submission", question="What do you bring along?")
    for person in people:
        SpeakerProfile.objects.create(user=person, event=event, biography=f"{person.name} bakes since long.")
    talks = []
    for number, title in enumerate(("Sourdough for all", "Old ovens", "Salt", "What wheat can do")):
        talk = Submission.objects.create(
            event=event,
            title=title,
            submission_type=event.cfp.default_type,
            track=tracks[number % 2],
            abstract=f"About {title.lower()}.",
            content_locale="en",
        )
        talk.speakers.add(people[number % 2])
        talks.append(talk)
    talks[0].tags.add(tag)
    Review.objects.create(submission=talks[1], user=owner, text="Good, but long.")
    talks[2].accept(person=owner)
    talks[3].accept(person=owner)
    talks[3].confirm(person=people[1])
    slot = talks[3].slots.first()
    slot.start = event.datetime_from + timedelta(hours=9)
    slot.end, slot.room = slot.start + timedelta(minutes=30), rooms[0]
    slot.save()
    mail = QueuedMail.objects.create(event=event, subject="Where to sleep", text="In the hotel at the mill.")
    mail.to_users.add(people[0])
