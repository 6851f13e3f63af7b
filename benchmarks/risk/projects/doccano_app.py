# mypy: ignore-errors
# It runs in the application's own environment.
"""Doccano with two projects: ``python doccano_app.py WORKDIR PORT PASSWORD``; port 0 only makes the data."""

import importlib.util
import os
import random
import sys
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

work, port, password = Path(sys.argv[1]).absolute(), sys.argv[2], sys.argv[3]
backend = str(Path(importlib.util.find_spec("backend").origin).parent)
os.environ |= {"DEBUG": "False", "STANDALONE": "True", "DJANGO_SETTINGS_MODULE": "doccano_conf"}

if port != "0":
    gunicorn = str(Path(sys.executable).parent / "gunicorn")
    options = ["--bind", f"127.0.0.1:{port}", "--threads", "4", "--pythonpath", f"{work},{backend}", "config.wsgi"]
    os.execv(gunicorn, [gunicorn, *options])

(work / "doccano_conf.py").write_text(
    f'''from config.settings.base import *

SECRET_KEY = "of one seeded folder that nobody else has, long enough for its own checks"
DATABASES["default"] = {{"ENGINE": "django.db.backends.sqlite3", "NAME": "{work}/db.sqlite3"}}
CELERY_BROKER_URL = "memory://"
CELERY_TASK_ALWAYS_EAGER = CELERY_TASK_STORE_EAGER_RESULT = True
EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
MEDIA_ROOT = DJANGO_DRF_FILEPOND_FILE_STORE_PATH = "{work}/media"
DJANGO_DRF_FILEPOND_UPLOAD_TMP = "{work}/uploads"
''',
    encoding="utf-8",
)
for name in ("media", "uploads"):
    (work / name).mkdir()
sys.path[:0] = [str(work), backend]
os.chdir(work)
numbers = random.Random(0)
uuid.uuid4 = lambda: uuid.UUID(int=numbers.getrandbits(128), version=4)

import django  # noqa: E402
from django.utils import timezone as clock  # noqa: E402

moments = iter(range(10**6))
clock.now = lambda: datetime(2026, 1, 5, 10, tzinfo=UTC) + timedelta(seconds=next(moments))
django.setup()

from django.contrib.auth import get_user_model  # noqa: E402
from django.core.management import call_command  # noqa: E402

call_command("migrate", verbosity=0)
call_command("create_roles")

from examples.models import Comment, Example  # noqa: E402
from label_types.models import CategoryType, SpanType  # noqa: E402
from labels.models import Category, Span  # noqa: E402
from projects.models import Member, SequenceLabelingProject, Tag, TextClassificationProject  # noqa: E402
from roles.models import Role  # noqa: E402

users = get_user_model().objects
owner = users.create_superuser("owner", "owner@example.org", password)
others = [users.create_user(name, f"{name}@example.org", "!") for name in ("ann", "ben")]
REVIEWS = ("The bread was fresh", "Nobody came to the door", "Good cheese, dull wine", "We shall come again")
PLACES = ("Ann went to Bergen", "The boat from Oslo was late", "Ben lives in Turku")


def made(kind, name, project_type, texts):
    project = kind.objects.create(
        name=name,
        description=f"{name} of 2025",
        guideline="Read it twice.",
        project_type=project_type,
        created_by=owner,
    )
    project.add_admin()
    Tag.objects.create(project=project, text="autumn")
    for user, role in zip(others, ("annotator", "annotation_approver"), strict=True):
        Member.objects.create(project=project, user=user, role=Role.objects.get(name=role))
    examples = [Example.objects.create(project=project, text=text) for text in texts]
    Comment.objects.create(example=examples[0], user=others[0], text="Is that so?")
    return project, examples


project, examples = made(TextClassificationProject, "Reviews", "DocumentClassification", REVIEWS)
for label, color in (("good", "#2e7d32"), ("bad", "#c62828")):
    kind = CategoryType.objects.create(project=project, text=label, background_color=color)
Category.objects.create(label=kind, example=examples[1], user=owner)
project, examples = made(SequenceLabelingProject, "Places", "SequenceLabeling", PLACES)
for label, color in (("person", "#1565c0"), ("town", "#6a1b9a")):
    kind = SpanType.objects.create(project=project, text=label, background_color=color)
Span.objects.create(label=kind, example=examples[0], user=owner, start_offset=12, end_offset=18)
