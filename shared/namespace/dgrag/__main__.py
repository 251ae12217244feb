"""``python -m dgrag`` and the console script."""

from deploy.cli.main import run

if __name__ == "__main__":
    run()
