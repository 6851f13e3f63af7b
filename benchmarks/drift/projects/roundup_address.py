"""Write the address of a tracker into its configuration: ``python roundup_address.py CONFIG ADDRESS``."""

import re
import sys
from pathlib import Path

path = Path(sys.argv[1])
text = path.read_text(encoding="utf-8")
for key, value in (("web", sys.argv[2]), ("domain", "example.org"), ("host", "127.0.0.1")):
    text = re.sub(rf"(?m)^#?{key} = ?.*$", f"{key} = {value}", text, count=1)
path.write_text(text, encoding="utf-8")
