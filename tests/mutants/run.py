#!/usr/bin/env python3
"""Breaks the program on purpose, one small mutant at a time, and says which of them no test notices.

A mutant is an entry of a .toml file beside this script:

    [[mutant]]
    name = "run-infer-seconds"             # unique; MUTANTS= picks by it
    why  = "The time of the last batch stands for that of all."
    file = "src/inference/run/run.cpp"
    old  = '''exact text, which must occur once'''
    new  = '''what stands there instead'''
    unit = "Run.*"                         # GoogleTest's filter of the tests that should notice ...
    cli  = ["infer.bats"]                  # ... and the command line tests ...
    python = ["infer_test.py"]             # ... and those of the Python package; any of them may be left out

Mutants are made in copies of the tree under build/mutants, one copy a worker, which build only what the changed file
needs. A mutant that the named tests let pass meets the whole suite. Results are kept: a run that was interrupted goes
on where it stopped, as long as neither the mutant nor the tree has changed.
"""

import argparse
import concurrent.futures
import fcntl
import fnmatch
import hashlib
import json
import os
import pathlib
import queue
import shutil
import signal
import subprocess
import sys
import threading
import time
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
WORK = ROOT / "build/mutants"
OUT = "build/release"
PRODUCTS = [f"{OUT}/libspdnn.a", f"{OUT}/spdnn", f"{OUT}/spdnn_tests"]
KILLED, LIVED, NO_BUILD, NO_MATCH = "killed", "lived", "does not compile", "no longer applies"


def command(line, tree, log, limit):
    """The exit status of a command run in a tree; None where it had to be ended after `limit` seconds."""
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    environment |= {"SPDNN": str(tree / OUT / "spdnn"), "PYTHONPATH": str(tree / OUT / "python")}
    process = subprocess.Popen(line, cwd=tree, env=environment, stdout=log, stderr=log, start_new_session=True)
    try:
        return process.wait(limit)
    except subprocess.TimeoutExpired:
        return None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def load_mutants(pattern):
    mutants = []
    for path in sorted(HERE.glob("*.toml")):
        for entry in tomllib.loads(path.read_text())["mutant"]:
            mutants.append({"unit": None, "cli": [], "python": [], "theme": path.stem} | entry)
    names = [m["name"] for m in mutants]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        sys.exit(f"names are given twice: {', '.join(sorted(twice))}")
    return [m for m in mutants if any(fnmatch.fnmatch(m["name"], p) for p in pattern.split())]


def tracked_files():
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True, text=True,
                           capture_output=True).stdout.splitlines()
    return [name for name in names if (ROOT / name).is_file()]


def copy_tree(target):
    """Brings `target` up to date with the working tree; files that are the same keep their times, and so what was built."""
    names = set(tracked_files())
    digest = hashlib.sha256()
    for name in sorted(names):
        content = (ROOT / name).read_bytes()
        if not name.startswith("tests/mutants/"):
            digest.update(name.encode() + b"\0" + hashlib.sha256(content).digest())
        copy = target / name
        if not copy.exists() or copy.read_bytes() != content:
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy)
    for path in target.rglob("*"):
        name = str(path.relative_to(target))
        if path.is_file() and not name.startswith("build/") and name not in names:
            path.unlink()
    shared = WORK / "shared"
    if (ROOT.parent / "shared").exists() and not shared.exists():
        shared.symlink_to(ROOT.parent / "shared")
    return digest.hexdigest()


def build(tree, log, python, jobs=1, strict="0"):
    """A mutant may leave a name unused: warnings are no errors, unless asked for where nothing is broken."""
    return command(["make", f"-j{jobs}", "GPU=0", "BUILD=release", f"STRICT={strict}", f"CXX={os.environ.get('CXX', 'g++')}",
                    *PRODUCTS[1:], *(["python"] if python else [])], tree, log, 3600) == 0


def noticed_by(tree, mutant, log, limit, quick):
    """Which tests fail, of the named ones and then, unless this is `quick`, of all; None where all pass."""
    unit = [f"{OUT}/spdnn_tests", "--gtest_brief=1", "--gtest_fail_fast"]
    if mutant["unit"] and command([*unit, f"--gtest_filter={mutant['unit']}"], tree, log, limit) != 0:
        return "unit"
    if mutant["cli"] and command(["bats", "--tap", *(f"tests/cli/{f}" for f in mutant["cli"])], tree, log, limit) != 0:
        return "cli"
    for file in mutant["python"]:
        if command(["/usr/bin/python3", "-B", f"tests/python/{file}", "--failfast"], tree, log, limit) != 0:
            return "python"
    if quick:
        return None
    if command(unit, tree, log, limit) != 0:
        return "unit, of the whole suite"
    if command(["bats", "--tap", "tests/cli"], tree, log, limit) != 0:
        return "cli, of the whole suite"
    return None


class Worker:
    """A copy of the tree with everything built in it, in which one mutant after another is made."""

    def __init__(self, number, base):
        self.tree = WORK / f"worker-{number}"
        shutil.rmtree(self.tree, ignore_errors=True)
        subprocess.run(["cp", "-a", base, self.tree], check=True)
        self.depends = {}
        for rules in (self.tree / OUT).rglob("*.d"):
            for name in {n.rstrip(":") for n in rules.read_text().replace("\\\n", " ").split()}:
                self.depends.setdefault(name, []).append(rules.with_suffix(".o"))

    def attempt(self, mutant, limit, quick):
        path = self.tree / mutant["file"]
        text = path.read_text() if path.exists() else ""
        if text.count(mutant["old"]) != 1:
            return NO_MATCH, f"its text occurs {text.count(mutant['old'])} times in {mutant['file']}"
        copied = self.tree / OUT / mutant["file"]  # of Python's own code
        touched = [path, copied, *self.depends.get(mutant["file"], []), *(self.tree / p for p in PRODUCTS)]
        saved = [(p, p.with_name(p.name + ".saved")) for p in touched if p.exists()]
        for original, copy in saved:
            original.rename(copy)
        try:
            path.write_text(text.replace(mutant["old"], mutant["new"]))
            with open(WORK / "logs" / f"{mutant['name']}.log", "w", encoding="utf-8") as log:
                if not build(self.tree, log, mutant["python"]):
                    return NO_BUILD, f"see {log.name}"
                noticed = noticed_by(self.tree, mutant, log, limit, quick)
            return (KILLED, noticed) if noticed else (LIVED, mutant["why"])
        finally:
            for original, copy in saved:
                copy.replace(original)


class Results:
    """What is known already, by mutant and tree; appended to a file as soon as it is."""

    def __init__(self, tree_digest, quick):
        self.path = WORK / ("results-quick.jsonl" if quick else "results.jsonl")
        self.tree_digest = tree_digest
        self.lock = threading.Lock()
        self.known = {}
        if self.path.exists():
            for line in self.path.read_text().splitlines():
                entry = json.loads(line)
                self.known[entry["key"]] = entry

    def key(self, mutant):
        return hashlib.sha256((self.tree_digest + json.dumps(mutant, sort_keys=True)).encode()).hexdigest()

    def get(self, mutant):
        return self.known.get(self.key(mutant))

    def put(self, mutant, state, detail, seconds):
        entry = {"key": self.key(mutant), "name": mutant["name"], "state": state, "detail": detail, "seconds": seconds}
        with self.lock, open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
            self.known[entry["key"]] = entry
            print(f"{state:>17}  {mutant['name']}  ({detail}; {seconds:.0f} s)", flush=True)


def try_all(mutants, results, base, options):
    """Files in order, so that the mutants of one file follow one another."""
    waiting = sorted((m for m in mutants if not results.get(m)), key=lambda m: m["file"])
    idle = queue.SimpleQueue()
    jobs = min(options.jobs, len(waiting))
    for number in range(jobs):
        idle.put(Worker(number, base))

    def one(mutant):
        worker = idle.get()
        begin = time.monotonic()
        try:
            state, detail = worker.attempt(mutant, options.limit, options.quick)
            results.put(mutant, state, detail, time.monotonic() - begin)
        finally:
            idle.put(worker)

    with concurrent.futures.ThreadPoolExecutor(max(1, jobs)) as pool:
        for done in [pool.submit(one, mutant) for mutant in waiting]:
            done.result()


def report(mutants, results, may_live):
    rows = [(m, results.get(m)) for m in mutants]
    width = max(len(m["name"]) for m, _ in rows)
    print(f"\n{'theme':<10} {'mutant':<{width}} {'result':<17} by")
    for mutant, entry in rows:
        print(f"{mutant['theme']:<10} {mutant['name']:<{width}} {entry['state']:<17} {entry['detail']}")
    count = {state: sum(entry["state"] == state for _, entry in rows) for state in (KILLED, LIVED, NO_BUILD, NO_MATCH)}
    print(f"{count[KILLED]} killed, {count[LIVED]} lived, {count[NO_BUILD]} do not compile, "
          f"{count[NO_MATCH]} do not apply")
    return 0 if count[NO_BUILD] == count[NO_MATCH] == 0 and count[LIVED] <= may_live else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("patterns", nargs="?", default="*", help="names of mutants, with * and ?, separated by spaces")
    parser.add_argument("--may-live", type=int, default=0, help="the number that may live before the exit status is 1")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="workers")
    parser.add_argument("--limit", type=int, default=900, help="seconds that tests may take; a mutant that makes them hang is noticed")
    parser.add_argument("--quick", action="store_true", help="run the tests that mutants name, and no others")
    options = parser.parse_args()
    mutants = load_mutants(options.patterns)
    if not mutants:
        sys.exit(f"no mutant's name matches {options.patterns}")
    (WORK / "logs").mkdir(parents=True, exist_ok=True)
    alone = open(WORK / "lock", "w", encoding="utf-8")
    try:
        fcntl.flock(alone, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit(f"another run is at work in {WORK}")
    base = WORK / "base"
    results = Results(copy_tree(base), options.quick)
    with open(WORK / "logs/base.log", "w", encoding="utf-8") as log:
        if not build(base, log, any(m["python"] for m in mutants), options.jobs, os.environ.get("STRICT", "0")):
            sys.exit(f"the tree does not build without mutants: see {log.name}")
        sound = {"name": "nothing broken", "unit": ":".join(sorted({m["unit"] for m in mutants if m["unit"]})),
                 "cli": sorted({file for m in mutants for file in m["cli"]}),
                 "python": sorted({file for m in mutants for file in m["python"]})}
        if not results.get(sound):
            noticed = noticed_by(base, sound, log, options.limit, options.quick)
            if noticed:
                sys.exit(f"tests fail without mutants ({noticed}): see {log.name}")
            results.put(sound, "sound", "all these tests pass", 0)
    try_all(mutants, results, base, options)
    return report(mutants, results, options.may_live)


if __name__ == "__main__":
    sys.exit(main())
