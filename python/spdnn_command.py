#!python
"""The command `spdnn` of an installed package: the program in it. The package is not imported, which would take time."""

import importlib.util
import os
import sys

program = os.path.join(os.path.dirname(importlib.util.find_spec("spdnn").origin), "spdnn")
os.execv(program, [program, *sys.argv[1:]])
