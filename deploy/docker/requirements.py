"""What the package needs with the named extras, one requirement a line: ``python requirements.py EXTRA… <pyproject.toml``."""

import sys
import tomllib

project = tomllib.load(sys.stdin.buffer)["project"]
extras = [requirement for extra in sys.argv[1:] for requirement in project["optional-dependencies"][extra]]
sys.stdout.write("\n".join([*project["dependencies"], *extras]) + "\n")
