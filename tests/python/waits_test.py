"""How long OpenMP's threads spin while they wait, in processes that import the package."""

import os
import re
import subprocess
import sys
import unittest

SCRIPT = """
import os
before = dict(os.environ)
import spdnn
assert dict(os.environ) == before, "the environment is as before"
"""


def spins(**settings):
    """The number of spins that libgomp has read, as it prints it; None if it is not GCC's OpenMP."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "GOMP_"))}
    run = subprocess.run([sys.executable, "-c", SCRIPT], env=environment | {"OMP_DISPLAY_ENV": "verbose"} | settings,
                         stderr=subprocess.PIPE, text=True, check=True)
    found = re.search(r"GOMP_SPINCOUNT = '(\d+)'", run.stderr)
    return int(found[1]) if found else None


@unittest.skipIf(spins(GOMP_SPINCOUNT="1") is None, "needs GCC's OpenMP")
class Waits(unittest.TestCase):
    def test_are_short_unless_the_user_says_otherwise(self):
        self.assertIn(spins(), (0, 3000))  # 0 where the tests keep the machine busy
        self.assertEqual(spins(GOMP_SPINCOUNT="123456"), 123456)
        self.assertEqual(spins(OMP_WAIT_POLICY="passive"), 0)


if __name__ == "__main__":
    unittest.main()
