"""`python -m spdnn`: the command line. The program itself lies in this package, beside the engines that it opens."""

import os
import sys

program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "spdnn")
os.execv(program, [program, *sys.argv[1:]])
