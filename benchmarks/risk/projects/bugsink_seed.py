# mypy: ignore-errors
# It runs in the application's own environment.
"""Settings, teams, projects and issues of a Bugsink: ``python bugsink_seed.py WORKDIR PUBLIC PASSWORD``."""

import os
import random
import sys
import uuid
from pathlib import Path

# Addresses hold them: they are the same each time.
numbers = random.Random(0)
uuid.uuid4 = lambda: uuid.UUID(int=numbers.getrandbits(128), version=4)

work = Path(sys.argv[1]).absolute()
(work / "bugsink_conf.py").write_text(
    f'''from bugsink.settings.default import *

SECRET_KEY = "of one seeded folder that nobody else has, long enough for its own checks"
DATABASES["default"]["NAME"] = "{work}/db.sqlite3"
DATABASES["snappea"]["NAME"] = "{work}/snappea.sqlite3"
SNAPPEA = {{"TASK_ALWAYS_EAGER": True}}
EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
TIME_ZONE = "UTC"
BUGSINK = {{
    "BASE_URL": "{sys.argv[2]}",
    "PHONEHOME": False,
    "INGEST_STORE_BASE_DIR": "{work}/tmp/ingestion",
}}
''',
    encoding="utf-8",
)
os.chdir(work)
sys.path.insert(0, str(work))
os.environ["DJANGO_SETTINGS_MODULE"] = "bugsink_conf"

import django  # noqa: E402

django.setup()

from django.contrib.auth import get_user_model  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.test import Client  # noqa: E402

call_command("migrate", verbosity=0)
call_command("migrate", database="snappea", verbosity=0)

from bsmain.models import AuthToken  # noqa: E402
from projects.models import Project, ProjectMembership  # noqa: E402
from teams.models import Team, TeamMembership  # noqa: E402

users = get_user_model().objects
owner = users.create_superuser("owner@example.org", "owner@example.org", sys.argv[3])
others = [users.create_user(f"{name}@example.org", f"{name}@example.org", "!") for name in ("ann", "ben")]
AuthToken.objects.create(description="of the nightly build")
client = Client()
for name, parts in (("Bakery", ("Shop",)), ("Dairy", ("Scales",))):
    team = Team.objects.create(name=name, visibility=1)
    for number, user in enumerate((owner, *others)):
        TeamMembership.objects.create(team=team, user=user, role=int(number == 0), accepted=True)
    for part in parts:
        project = Project.objects.create(name=part, team=team)
        for number, user in enumerate((owner, *others)):
            ProjectMembership.objects.create(project=project, user=user, role=int(number == 0), accepted=True)
        for kind in ("ValueError", "KeyError"):
            for _ in range(2):
                event = {
                    "event_id": uuid.uuid4().hex,
                    "timestamp": "2026-01-05T10:00:00Z",
                    "platform": "python",
                    "release": "1.0",
                    "tags": {"room": "two"},
                    "exception": {"values": [{"type": kind, "value": f"in {part}"}]},
                }
                answer = client.post(
                    f"/api/{project.id}/store/",
                    event,
                    content_type="application/json",
                    headers={"X-Sentry-Auth": f"Sentry sentry_key={project.sentry_key.hex}, sentry_version=7"},
                )
                if answer.status_code != 200:
                    sys.exit(f"{answer.status_code} {answer.content[:500]}")
