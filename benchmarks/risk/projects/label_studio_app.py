# mypy: ignore-errors
# It runs in the application's own environment.
"""Label Studio with two projects: ``python label_studio_app.py WORKDIR PORT PASSWORD``; port 0 only makes the data."""

import importlib.util
import os
import random
import socket
import sys
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

work, port, password = Path(sys.argv[1]).absolute(), sys.argv[2], sys.argv[3]
os.environ |= {
    "DJANGO_SETTINGS_MODULE": "label_studio_conf",
    "LABEL_STUDIO_BASE_DATA_DIR": str(work / "data"),
    "LABEL_STUDIO_COLLECT_ANALYTICS": "False",
    "LABEL_STUDIO_FEATURE_FLAGS_OFFLINE": "True",
    "LABEL_STUDIO_FRONTEND_SENTRY_DSN": "",
    "LABEL_STUDIO_LATEST_VERSION_CHECK": "False",
    "LABEL_STUDIO_LOCAL_FILES_SERVING_ENABLED": "False",
    "LABEL_STUDIO_SENTRY_DSN": "",
    "SECRET_KEY": "of one seeded folder that nobody else has, long enough for its own checks",
}
found, connect = socket.getaddrinfo, socket.socket.connect


def anywhere(host, *rest, **more):
    """Every other name is one of a public address, which is enough for the checks of a webhook."""
    return found(host if host in ("127.0.0.1", "localhost", None) else "93.184.215.14", *rest, **more)


def only_here(self, address):
    """It reaches no other machine: not for its tips, its webhooks and its storages either."""
    if isinstance(address, tuple) and address[0] not in ("127.0.0.1", "localhost"):
        raise ConnectionRefusedError(f"{address[0]} is not this machine")
    return connect(self, address)


socket.getaddrinfo, socket.socket.connect = anywhere, only_here
socket.gethostbyname = lambda host: anywhere(host, None, socket.AF_INET)[0][4][0]
sys.path[:0] = [str(work), str(Path(importlib.util.find_spec("label_studio").origin).parent)]
os.chdir(work)

if port != "0":
    from django.core.management import execute_from_command_line

    execute_from_command_line(["manage.py", "runserver", f"127.0.0.1:{port}", "--noreload"])
    sys.exit()

(work / "label_studio_conf.py").write_text(
    """from core.settings.base import *  # the next one asks for settings while it is read
from core.settings.label_studio import *

CACHES = {"default": {"BACKEND": "django.core.cache.backends.dummy.DummyCache"}}
MIDDLEWARE.append("label_studio_conf.soon")
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


def soon(get_response):
    # The page keeps a draft five seconds after a change: here so soon that it is seen.
    def answer(request):
        found = get_response(request)
        if request.path.startswith("/react-app/") and found.streaming:
            whole = b"".join(found.streaming_content)
            found.streaming_content = [whole.replace(b"autosaveDelay:5e3", b"autosaveDelay:300")]
        return found

    return answer
""",
    encoding="utf-8",
)
numbers = random.Random(0)
os.urandom = numbers.randbytes
uuid.uuid4 = lambda: uuid.UUID(int=numbers.getrandbits(128), version=4)

import django  # noqa: E402
from django.utils import timezone as clock  # noqa: E402

moments = iter(range(10**6))
clock.now = lambda: datetime(2026, 1, 5, 10, tzinfo=UTC) + timedelta(seconds=next(moments))
django.setup()

from django.core.management import call_command  # noqa: E402

call_command("migrate", verbosity=0)

from organizations.models import Organization  # noqa: E402
from rest_framework.test import APIClient  # noqa: E402
from users.models import User  # noqa: E402

owner = User.objects.create_superuser(email="owner@example.org", password=password, username="owner")
ann = User.objects.create_user(email="ann@example.org", username="ann", first_name="Ann", last_name="Berg")
group = Organization.create_organization(created_by=owner, title="Readers")
group.token = "of-one-seeded-folder"
group.save()
group.add_user(ann)
for user in (owner, ann):
    user.active_organization, user.allow_newsletters = group, False
    user.save()

REVIEWS = """<View>
  <Text name="text" value="$text"/>
  <Choices name="opinion" toName="text" choice="single">
    <Choice value="good"/><Choice value="bad"/><Choice value="neither"/>
  </Choices>
</View>"""
PLACES = """<View>
  <Labels name="label" toName="text"><Label value="person" background="#1565c0"/><Label value="town" background="#6a1b9a"/></Labels>
  <Text name="text" value="$text"/>
</View>"""
SAID = ("The bread was fresh", "Nobody came to the door", "Good cheese, dull wine", "We shall come again", "Too loud")
WENT = ("Ann went to Bergen", "The boat from Oslo was late", "Ben lives in Turku", "Nobody knows Lund")


def sent(path, told, user=owner):
    client = APIClient()
    client.force_authenticate(user)
    answer = client.post(path, told, format="json")
    if answer.status_code >= 400:
        raise SystemExit(f"{path}: {answer.content[:1_000]}")
    return answer.json()


def made(title, config, texts, color):
    told = {"title": title, "description": f"{title} of 2025", "label_config": config, "color": color}
    told |= {"expert_instruction": "Read it twice.", "show_instruction": False}
    project = sent("/api/projects/", told)["id"]
    sent(f"/api/projects/{project}/import", [{"text": text} for text in texts])
    sent("/api/dm/views/", {"project": project, "data": {"title": "Default", "type": "list", "target": "tasks"}})
    return project


def chosen(value, name, kind):
    return [{"from_name": name, "to_name": "text", "type": kind, "value": value}]


reviews = made("Reviews", REVIEWS, SAID, "#617ada")
places = made("Places", PLACES, WENT, "#f6a623")
to_read = {"title": "To read", "type": "list", "target": "tasks"}
sent("/api/dm/views/", {"project": places, "data": to_read, "selected_items": {"all": False, "included": [7, 8]}})
sent("/api/tasks/1/annotations/", {"result": chosen({"choices": ["good"]}, "opinion", "choices"), "lead_time": 4.0})
sent("/api/tasks/2/annotations/", {"result": chosen({"choices": ["bad"]}, "opinion", "choices"), "lead_time": 6.0}, ann)
town = {"start": 12, "end": 18, "text": "Bergen", "labels": ["town"]}
sent("/api/tasks/6/annotations/", {"result": chosen(town, "label", "labels"), "lead_time": 9.0})
sent("/api/predictions/", {"task": 3, "result": chosen({"choices": ["good"]}, "opinion", "choices"), "score": 0.7})
sent("/api/webhooks/", {"project": reviews, "url": "https://example.org/told", "send_for_all_actions": True})
