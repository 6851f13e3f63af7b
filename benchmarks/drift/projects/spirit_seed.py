# mypy: ignore-errors
"""Tables, a moderator and some topics of a forum: ``python spirit_seed.py WORKDIR PASSWORD``."""

import os
import re
import sys
from pathlib import Path

work = Path(sys.argv[1])
settings = work / "forum" / "settings" / "dev.py"
settings.write_text(
    settings.read_text(encoding="utf-8")
    + f"""
DATABASES = {{"default": {{"ENGINE": "django.db.backends.sqlite3", "NAME": "{work}/forum.sqlite3"}}}}
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
HAYSTACK_CONNECTIONS = {{"default": {{"ENGINE": "haystack.backends.simple_backend.SimpleEngine"}}}}
ST_RATELIMIT_ENABLE = False
DEBUG_TOOLBAR_CONFIG = {{"SHOW_TOOLBAR_CALLBACK": lambda request: False}}
""",
    encoding="utf-8",
)
base = work / "forum" / "settings" / "base.py"
base.write_text(
    re.sub(r"(?m)^SECRET_KEY = .*$", 'SECRET_KEY = "of one seeded folder"', base.read_text(encoding="utf-8"))
)
sys.path.insert(0, str(work))
os.environ["DJANGO_SETTINGS_MODULE"] = "forum.settings.dev"

import django  # noqa: E402

django.setup()

from django.contrib.auth import get_user_model  # noqa: E402
from django.core.management import call_command  # noqa: E402

call_command("migrate", verbosity=0)
call_command("createcachetable", verbosity=0)

from spirit.category.models import Category  # noqa: E402
from spirit.comment.models import Comment  # noqa: E402
from spirit.topic.models import Topic  # noqa: E402

owner = get_user_model().objects.create_superuser("owner", "owner@example.org", sys.argv[2])
others = [get_user_model().objects.create_user(name, f"{name}@example.org", "!") for name in ("ann", "bert")]
garden = Category.objects.create(title="Garden")
kitchen = Category.objects.create(title="Kitchen")
for place, (title, category) in enumerate(
    (
        ("Which apples keep best", garden),
        ("Slugs in the lettuce", garden),
        ("A sharper bread knife", kitchen),
        ("Rust on the pan", kitchen),
        ("Watering in August", garden),
    )
):
    topic = Topic.objects.create(user=others[place % 2], category=category, title=title)
    Comment.objects.create(
        user=others[place % 2],
        topic=topic,
        comment=f"What do you say? {title}",
        comment_html=f"<p>What do you say? {title}</p>",
    )
    topic.increase_comment_count()
