#!/usr/bin/env python3
"""Kills jobs of several ranks at random moments, in every way in which one may end.

A job writes categories and a report over those of another problem. A draw decides who gets the signal: the process
in which a rank works, the one that the launcher knows, all processes in which ranks work, or mpirun. After every trial
the job must have ended, nothing of it may run, and each output must be the old one or the new one, whole; the next run
must succeed and leave no temporary name behind. The counts are printed; any failure is printed too, and the exit status
is 1.

A launcher that hangs alone is no failure, but is reported and counted: the signal came before the ranks had joined, and
nothing but the launcher's own processes is left (docs/files.md). Programs that are not spdnn make it hang as well.

    ranks.py SPDNN [--kills 100] [--libraries openmpi,mpich] [--seed 1]

Everything is written under TMPDIR.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

LIMIT = 300  # seconds that only a hang reaches, however busy the machine is
END_LIMIT = 60  # seconds in which the processes of a job end after its launcher
JOIN_LIMIT = 15  # seconds after which ranks end that wait for others
LAUNCHERS = {"mpirun.openmpi", "mpirun.mpich", "mpiexec.hydra", "hydra_pmi_proxy"}  # the names of their processes
MARK = b"SPDNN_HOSTILE_JOB="
WAYS = ["worker", "known to the launcher", "all workers", "mpirun"]
SIGNALS = [signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGUSR1]


class Process:
    """One of a job's, from /proc."""

    def __init__(self, entry):
        self.pid = int(entry.name)
        self.name = (entry / "comm").read_text().strip()
        fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
        self.running = fields[0] not in "ZX"
        self.parent = int(fields[1])

    def joined(self):
        """Whether it is a rank that has joined the others and has the plan in memory, which they share."""
        try:
            return "memfd:spdnn" in pathlib.Path(f"/proc/{self.pid}/maps").read_text()
        except OSError:
            return False

    def send(self, number):
        try:
            os.kill(self.pid, number)
        except ProcessLookupError:
            pass


class Job:
    """A run under a launcher; all of its processes bear a mark in their environment."""

    def __init__(self, launcher, ranks, line, place):
        self.mark = MARK + f"{os.getpid()}-{random.getrandbits(60):x}".encode()
        environment = os.environ | dict([self.mark.decode().split("=")])
        self.process = subprocess.Popen([launcher, "-n", str(ranks), *map(str, line)], cwd=place, env=environment,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def processes(self):
        found = []
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if self.mark in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(Process(entry))
            except (OSError, IndexError):
                pass  # it has ended
        return [process for process in found if process.running]

    def targets(self, way):
        everyone = self.processes()
        ranks = [process for process in everyone if process.name == "spdnn"]
        pids = {process.pid for process in ranks}
        workers = [process for process in ranks if process.parent in pids]
        if way == "mpirun":
            return [process for process in everyone if process.pid == self.process.pid]
        if way == "known to the launcher":
            return random.sample([process for process in ranks if process.parent not in pids], 1) if ranks else []
        return workers if way == "all workers" else random.sample(workers, min(1, len(workers)))

    def wait(self):
        """Its exit code, or None if it had to be killed; and the processes that did not end after it."""
        try:
            code = self.process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            code = None
        end = time.monotonic() + (END_LIMIT if code is not None else 0)
        while (left := self.processes()) and time.monotonic() < end:
            time.sleep(0.05)
        for process in left:
            process.send(signal.SIGKILL)
        self.process.wait()
        return code, [process.name for process in left]


class Launchers:
    """The program, its launcher, and counters."""

    def __init__(self, options, place):
        self.program = options.program.resolve()
        self.place = place
        self.counts = collections.Counter()
        self.failures = 0
        self.launchers = {name: shutil.which(f"mpirun.{name}") or sys.exit(f"there is no mpirun.{name}")
                          for name in options.libraries.split(",")}

    def run(self, *arguments):
        subprocess.run([self.program, *map(str, arguments)], cwd=self.place, check=True, stdout=subprocess.DEVNULL)

    def fail(self, what):
        self.failures += 1
        print("FAILED:", what, flush=True)


class Series(Launchers):
    """Two problems, whose outputs replace one another."""

    def __init__(self, options, place):
        super().__init__(options, place)
        self.run("generate", "network", "--family", "random", "--neurons", 256, "--layers", 40, "--degree", 8, "--seed", 1,
                 "--bias", "-0.2", "--out", "n.spdnn")
        self.categories = place / "categories.tsv"
        self.report = place / "run.json"
        self.expected = {}
        for letter, images in (("A", 300), ("B", 400)):
            self.run("generate", "inputs", "--family", "digits", "--neurons", 256, "--images", images, "--seed", 3,
                     "--out", f"{letter}.spdnn")
            self.run(*self.infer(letter))
            self.expected[letter] = self.categories.read_bytes()
        self.state = "B"

    def infer(self, letter):
        return ["infer", "--network", "n.spdnn", "--inputs", f"{letter}.spdnn", "--trials", 200, "--categories",
                self.categories, "--json", self.report, "--join-timeout", JOIN_LIMIT]

    def seen(self):
        """The letters of the two outputs; None where one is not whole."""
        content = self.categories.read_bytes()
        listed = next((letter for letter in "AB" if self.expected[letter] == content), None)
        try:
            images = json.loads(self.report.read_text())["problem"]["images"]
        except ValueError:
            images = None
        return listed, {300: "A", 400: "B"}.get(images)

    def seconds(self, launcher):
        begin = time.perf_counter()
        self.one(launcher, 3, "A")
        return time.perf_counter() - begin

    def one(self, launcher, ranks, letter):
        """A run that nobody disturbs."""
        code, left = Job(launcher, ranks, [self.program, *self.infer(letter)], self.place).wait()
        self.state = letter
        hidden = [str(path) for path in self.place.glob(".*")]
        if code != 0 or left or hidden or self.seen() != (letter, letter):
            self.fail(f"a run of {ranks} ranks, {launcher}: exit {code}, {self.seen()}, left {left} {hidden}")

    def trial(self, name, longest):
        ranks, way, number = random.randint(2, 4), random.choice(WAYS), random.choice(SIGNALS)
        delay = random.uniform(0, 1.1) * longest
        letter = "A" if self.state == "B" else "B"
        before = (self.state, self.state)
        job = Job(self.launchers[name], ranks, [self.program, *self.infer(letter)], self.place)
        time.sleep(delay)
        what = f"{name}, {ranks} ranks, {number.name} to {way} after {delay:.2f} s"
        joined = any(process.joined() for process in job.processes())
        hit = job.targets(way)
        for process in hit:
            process.send(number)
        code, left = job.wait()
        after = self.seen()
        kind = "nobody there to be killed" if not hit else "run done all the same" if code == 0 else "run ended by it"
        self.counts[f"{name}, {number.name} to {way}: {kind}"] += 1
        outputs = ("old" if after == before else "new" if after == (letter, letter) else
                   f"new list, old report, after {number.name} to {way}")
        self.counts[f"outputs: {outputs}"] += 1
        # The list is put in its place just before the report. SIGKILL may come between; other signals wait.
        allowed = {before, (letter, letter)} | ({(letter, before[1])} if number == signal.SIGKILL else set())
        if left and not joined and set(left) <= LAUNCHERS:
            self.counts[f"{name} hung alone, or left processes of its own"] += 1
            print(f"the launcher hung: {what}: exit {code}, still running: {left}", flush=True)
        elif code is None or left:
            self.fail(f"{what}: exit {code}, still running: {left}")
        # MPICH's launcher may end with 0 after SIGTERM (docs/files.md).
        reports = not (name == "mpich" and way == "mpirun" and number == signal.SIGTERM)
        if after not in allowed or (code == 0 and reports and after != (letter, letter)):
            self.fail(f"{what}: exit {code}, outputs {after}")
        self.one(self.launchers[name], 2, letter)


def prepare():
    """For jobs of this process."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs must not inherit that it is ignored
    os.environ |= {"OMP_WAIT_POLICY": "passive", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                   "OMPI_MCA_rmaps_base_oversubscribe": "1"}


def leave_nothing_in_shared_memory(scratch):
    """What OpenMPI leaves when mpirun is killed goes to this directory."""
    os.environ |= {"TMPDIR": scratch, "OMPI_MCA_btl_vader_backing_directory": scratch}


def options_of(description, *flags):
    """Of a series of kills, the seed of which is set; and its own flags."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--libraries", default="openmpi,mpich")
    parser.add_argument("--seed", type=int, default=1)
    for flag in flags:
        parser.add_argument(flag, action="store_true")
    options = parser.parse_args()
    random.seed(options.seed)
    return options


def main():
    options = options_of(__doc__)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="spdnn-hostile-") as place, tempfile.TemporaryDirectory() as scratch:
        leave_nothing_in_shared_memory(scratch)
        series = Series(options, pathlib.Path(place))
        longest = {name: max(series.seconds(launcher) for _ in range(3)) for name, launcher in series.launchers.items()}
        for number in range(options.kills):
            name = list(series.launchers)[number % len(series.launchers)]
            series.trial(name, longest[name])
    for what, count in sorted(series.counts.items()):
        print(f"{count:6}  {what}")
    print(f"{options.kills} kills, {time.monotonic() - begin:.0f} s, seed {options.seed}, {series.failures} failures")
    return 1 if series.failures else 0


if __name__ == "__main__":
    prepare()
    sys.exit(main())
