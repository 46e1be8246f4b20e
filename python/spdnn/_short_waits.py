"""Imports _core such that OpenMP's threads, when they wait, soon sleep: at once where the machine is busy.

libgomp reads how long they spin from the environment, once, when it is loaded. By default it is milliseconds, in which
they take the processors from other programs and from the threads that they wait for. Where libgomp has been loaded
before, this changes nothing. What the user has set prevails, and the environment is as before afterwards. The program
does the same in src/cli/openmp_spinning.cpp.
"""

import os

# Turns of a loop: 10 to 140 microseconds on x86 processors.
_SPINS = 3000


def _machine_is_busy() -> bool:
    """Whether two or more other threads per processor want to run."""
    try:
        with open("/proc/loadavg") as file:
            running = int(file.read().split()[3].split("/")[0])
    except (OSError, IndexError, ValueError):
        return False
    return running - 1 >= 2 * (os.cpu_count() or 1)


if "GOMP_SPINCOUNT" in os.environ or "OMP_WAIT_POLICY" in os.environ:
    from . import _core
else:
    os.environ["GOMP_SPINCOUNT"] = str(0 if _machine_is_busy() else _SPINS)
    try:
        from . import _core
    finally:
        del os.environ["GOMP_SPINCOUNT"]

__all__ = ["_core"]
