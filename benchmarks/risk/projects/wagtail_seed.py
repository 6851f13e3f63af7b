# mypy: ignore-errors
# It runs in the application's own environment.
"""Settings, tables and a few pages of a site that ``wagtail start`` has made: ``python wagtail_seed.py WORKDIR PASSWORD``."""

import os
import re
import sys
from pathlib import Path

site = Path(sys.argv[1]) / "site"
base = site / "mysite" / "settings" / "base.py"
text = base.read_text(encoding="utf-8")
base.write_text(
    text.replace(
        '    "django.middleware.common.CommonMiddleware",',
        '    "django.middleware.locale.LocaleMiddleware",\n    "django.middleware.common.CommonMiddleware",',
    ),
    encoding="utf-8",
)
dev = site / "mysite" / "settings" / "dev.py"
dev.write_text(
    re.sub(r"(?m)^SECRET_KEY = .*$", 'SECRET_KEY = "of one seeded folder"', dev.read_text(encoding="utf-8"))
    + '\nPASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]\nWAGTAIL_ENABLE_UPDATE_CHECK = False\n',
    encoding="utf-8",
)
sys.path.insert(0, str(site))
os.chdir(site)
os.environ["DJANGO_SETTINGS_MODULE"] = "mysite.settings.dev"

import django  # noqa: E402

django.setup()

from django.contrib.auth import get_user_model  # noqa: E402
from django.core.management import call_command  # noqa: E402

call_command("migrate", verbosity=0)
owner = get_user_model().objects.create_superuser("owner", "owner@example.org", sys.argv[2])
get_user_model().objects.create_user("ann", "ann@example.org", "!")

from home.models import HomePage  # noqa: E402
from wagtail.contrib.redirects.models import Redirect  # noqa: E402
from wagtail.models import Collection  # noqa: E402

home = HomePage.objects.first()
for title in ("Bread", "Cheese", "Wine"):
    page = home.add_child(instance=HomePage(title=title, slug=title.lower(), owner=owner))
    page.save_revision(user=owner)
Redirect.objects.create(old_path="/old", redirect_page=home)
Collection.get_first_root_node().add_child(name="Pictures of 2025")
