"""The command line."""

__all__ = ["main"]


def main() -> None:
    """Entry point of the console script."""
    import sys

    from unbraid.cli.app import main as run

    sys.exit(run())
