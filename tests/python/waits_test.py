"""How long OpenMP's threads spin while they wait, in processes that import the package."""

import os
import re
import subprocess
import sys
import unittest

SCRIPT = """
import builtins, io, os, sys
if len(sys.argv) > 1:  # the machine's load
    opened = open
    builtins.open = lambda name, *more, **options: (
        io.StringIO(sys.argv[1]) if name == "/proc/loadavg" else opened(name, *more, **options))
    os.cpu_count = lambda: 2
before = dict(os.environ)
import spdnn
assert dict(os.environ) == before, "the environment is as before"
"""


def spins(*load, **settings):
    """The number of spins that libgomp has read, as it prints it; None if it is not GCC's OpenMP."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "GOMP_"))}
    run = subprocess.run([sys.executable, "-c", SCRIPT, *load], env=environment | {"OMP_DISPLAY_ENV": "verbose"} | settings,
                         stderr=subprocess.PIPE, text=True, check=True)
    found = re.search(r"GOMP_SPINCOUNT = '(\d+)'", run.stderr)
    return int(found[1]) if found else None


@unittest.skipIf(spins(GOMP_SPINCOUNT="1") is None, "needs GCC's OpenMP")
class Waits(unittest.TestCase):
    def test_are_short_unless_the_user_says_otherwise(self):
        self.assertIn(spins(), (0, 3000))  # 0 where the tests keep the machine busy
        self.assertEqual(spins(GOMP_SPINCOUNT="123456"), 123456)
        self.assertEqual(spins(OMP_WAIT_POLICY="passive"), 0)
        self.assertGreater(spins(OMP_WAIT_POLICY="active"), 3000)

    def test_are_none_where_two_other_threads_a_processor_want_to_run(self):
        for load, expected in (("9 9 9 4/900 1", 3000), ("0 0 0 5/900 1", 0), ("0 0 0", 3000), ("of another system it is not", 3000)):
            self.assertEqual(spins(load), expected, load)


if __name__ == "__main__":
    unittest.main()
