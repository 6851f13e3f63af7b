"""Runs ``trailmesh …`` as ``python -m node.cli …``."""

from node.cli.main import main

if __name__ == "__main__":
    main(prog_name="trailmesh")
