#!/usr/bin/env python3
"""Kills runs that write checkpoints, by kill -9 at random moments or in the midst of writing, and continues them.

A run of several ranks writes a checkpoint every fraction of a second. The process in which a rank works, the one that the
launcher knows, all of them, or the launcher itself is killed; half of the time at a random moment, and half as soon as a
temporary file of the checkpoint is there; three quarters of the time only once the run has written a checkpoint, for a
busy machine may take longer to reach the first one than any delay. Then the checkpoint must be whole. The run is continued
on another number of ranks, or killed again; in the end its categories must be those of an undisturbed run, and nothing of
the checkpoint may be left. With --judge-losses, the checkpoint must also be no older than the interval, the layers and the
writing that the run itself had measured, and SLACK: a machine that is too busy fails that. The counts are printed, and how
much was lost; any failure is printed too, and the exit status is 1.

    checkpoints.py SPDNN [--kills 100] [--libraries openmpi,mpich] [--seed 1] [--judge-losses]

Everything is written under TMPDIR.
"""

import collections
import json
import os
import pathlib
import random
import signal
import sys
import tempfile
import time

import ranks

JOIN_LIMIT = 60  # seconds after which ranks end that wait for others, on a busy machine too
EVERY = 0.2  # seconds from one checkpoint to the next
SLACK = 2.0  # seconds in which a busy machine may keep a rank from its processor
WAYS = ["worker", "worker", "known to the launcher", "all workers", "mpirun"]


class Kills(ranks.Launchers):
    """One problem, killed and continued again and again."""

    def __init__(self, options, place):
        super().__init__(options, place)
        self.judges_losses = options.judge_losses
        self.checkpoint = place / "run.checkpoint"
        self.lost = []
        self.run("generate", "inputs", "--family", "digits", "--neurons", 1024, "--images", 1500, "--seed", 3, "--out",
                 "i.spdnn")
        self.infer = ["infer", "--generate", "official", "--neurons", 1024, "--layers", 1920, "--inputs", "i.spdnn", "--reduce",
                      "none", "--device", "cpu", "--categories", "c.tsv", "--json", "run.json", "--batch", 300,
                      "--join-timeout", JOIN_LIMIT]
        self.run(*self.infer)
        self.expected = (place / "c.tsv").read_bytes()

    def start(self, name):
        line = [self.program, *self.infer, "--checkpoint", self.checkpoint, "--checkpoint-every", EVERY]
        return ranks.Job(self.launchers[name], random.randint(2, 4), line, self.place)

    def writing(self):
        """Whether a file of the checkpoint has a temporary name now."""
        return any(name.startswith(".spdnn-") or ".next." in name for name in os.listdir(self.place))

    def last_written(self):
        """When the checkpoint was put in its place, in nanoseconds; 0 where there is none."""
        try:
            return self.checkpoint.stat().st_mtime_ns
        except FileNotFoundError:
            return 0

    def wait_until(self, job, condition, seconds):
        """Whether the condition becomes true while the job runs."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and job.process.poll() is None:
            if condition():
                return True
            time.sleep(0.0005)
        return False

    def continue_and_compare(self, what):
        code, left = self.start(random.choice(list(self.launchers))).wait()
        found = [path.name for path in self.place.iterdir() if "checkpoint" in path.name or path.name.startswith(".")]
        if code != 0 or left or found or (self.place / "c.tsv").read_bytes() != self.expected:
            self.fail(f"the run that continued after {what}: exit {code}, left {left} {found}")
        report = json.loads((self.place / "run.json").read_text())
        self.counts["lost parts in reports"] += report["checkpoints"]["lost_parts"]

    def look_at_checkpoint(self, before, killed, what):
        """What was lost, in seconds, by the checkpoint's own time. It must be readable."""
        if not self.checkpoint.exists():
            self.counts["killed before the first checkpoint"] += 1
            return
        state = json.loads(self.checkpoint.read_text())
        if state == before:
            self.counts["killed before a further checkpoint"] += 1
            return
        lost = killed - state["time"]
        self.lost.append(lost - state["costs"]["every"])
        if self.judges_losses and lost > state["next_within"] + SLACK:
            self.fail(f"{what}: {lost:.2f} s lost, of at most {state['next_within']:.2f}")

    def trial(self, name, longest):
        way = random.choice(WAYS)
        in_writing = random.random() < 0.5
        before = json.loads(self.checkpoint.read_text()) if self.checkpoint.exists() else None
        written_before = self.last_written()
        job = self.start(name)
        self.wait_until(job, lambda: any(process.joined() for process in job.processes()), ranks.LIMIT)
        if random.random() < 0.75:
            self.wait_until(job, lambda: self.last_written() != written_before, ranks.LIMIT)
        time.sleep(random.uniform(0, 1) * longest)
        if in_writing:
            in_writing = self.wait_until(job, self.writing, 5)
            time.sleep(random.choice([0, 0, 0.001, 0.005]))
        hit = job.targets(way)
        killed = time.time()
        for process in hit:
            process.send(signal.SIGKILL)
        code, left = job.wait()
        what = f"{name}, kill -9 of {way}{', in the midst of writing' if in_writing else ''}"
        self.counts[f"{what}: {'run done all the same' if code == 0 else 'killed'}"] += 1
        if code is None or left:
            self.fail(f"{what}: exit {code}, still running {left}")
        if code == 0:
            return
        self.look_at_checkpoint(before, killed, what)
        if random.random() < 0.5:
            self.continue_and_compare(what)


def main():
    options = ranks.options_of(__doc__, "--judge-losses")
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="spdnn-hostile-") as place, tempfile.TemporaryDirectory() as scratch:
        ranks.leave_nothing_in_shared_memory(scratch)
        series = Kills(options, pathlib.Path(place))
        for number in range(options.kills):
            series.trial(list(series.launchers)[number % len(series.launchers)], 1.5)
        series.continue_and_compare("the last kill")
    for what, count in sorted(series.counts.items()):
        print(f"{count:6}  {what}")
    if series.lost:
        print(f"lost beyond the interval: {max(series.lost):.2f} s at most, over {len(series.lost)} kills")
    print(f"{options.kills} kills, {time.monotonic() - begin:.0f} s, seed {options.seed}, {series.failures} failures")
    return 1 if series.failures else 0


if __name__ == "__main__":
    ranks.prepare()
    sys.exit(main())
