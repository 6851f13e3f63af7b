"""``python -m node …`` is ``trailmesh node …``."""

from node.cli.nodes.node import group

if __name__ == "__main__":
    group(prog_name="python -m node")
