"""``python -m jitflow``: the command line."""

from __future__ import annotations

from jitflow.cli import main

if __name__ == "__main__":
    main()
