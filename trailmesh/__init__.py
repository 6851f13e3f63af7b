"""The installed package: the command ``trailmesh``, and with it everything that an installation puts on disk.

The source tree has the packages ``node``, ``protocol`` and ``adapters`` at its top. A wheel carries them in ``_source`` of this
package, so that an installation adds one name to site-packages and nothing of it replaces a file of another package
(docs/adr/0036-one-installed-package.md).
"""
