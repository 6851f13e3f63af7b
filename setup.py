"""Places the packages of the product under ``trailmesh/_source`` of a wheel (docs/adr/0036-one-installed-package.md)."""

from __future__ import annotations

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.egg_info import egg_info

INSTALLED = "trailmesh"
CONFIGURATIONS = "configs"


class BuildOnePackage(build_py):
    """Builds a tree with one top-level package. An editable installation uses the source tree as it is."""

    def run(self) -> None:
        """Build, then move every other package into ``trailmesh/_source`` and add the example configurations."""
        if self.editable_mode:
            super().run()
            return
        built = Path(self.build_lib)
        shutil.rmtree(built, ignore_errors=True)  # a module that was removed since the last build must not be packed
        super().run()
        source = built / INSTALLED / "_source"
        source.mkdir()
        for package in sorted({name.partition(".")[0] for name in self.packages} - {INSTALLED}):
            shutil.move(built / package, source / package)
        shutil.copytree(CONFIGURATIONS, source / CONFIGURATIONS)


class NameOnePackage(egg_info):
    """Names the one top-level package of a wheel, for tools that look up which distribution owns an import."""

    def run(self) -> None:
        """Write the metadata, then correct ``top_level.txt``, which setuptools makes from the source tree."""
        super().run()
        Path(self.egg_info, "top_level.txt").write_text(f"{INSTALLED}\n", encoding="utf-8")


setup(cmdclass={"build_py": BuildOnePackage, "egg_info": NameOnePackage})
