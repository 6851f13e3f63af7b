"""``python -m node.cli …`` is ``trailmesh …``."""

from node.cli.main import main

if __name__ == "__main__":
    main(prog_name="trailmesh")
