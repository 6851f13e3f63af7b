"""The same tasks through the tools of several browsers for agents, by one chooser that sees only what each tool prints.

``tasks.toml`` has the tasks as data, ``sites.py`` their pages, ``chooser.py`` the one rule that decides, ``tools.py`` how each
tool is called. ``python -m benchmarks.agents`` installs the other tools outside of the project and compares.
"""
