#!/usr/bin/env python3
"""Checks the recipes of make/packaging without Spack and EasyBuild: that they are Python, use only names of these tools,
have the Makefile's version, and refer to existing make targets, variables and files. Prints errors; exit status 1 if
there are any.

usage: check_recipes.py [TREE]     TREE: the output of `make install-program`, which must contain the files of the recipes
"""

import pathlib
import re
import subprocess
import sys
import types

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "make/packaging"
VERSION = re.search(r"^VERSION := (\S+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)[1]
# The names of `from spack.package import *` that our package uses.
DIRECTIVES = ("conflicts", "depends_on", "license", "resource", "variant", "version")
EASYBUILD_NEEDS = ("name", "version", "homepage", "description", "toolchain", "moduleclass", "easyblock", "sources")

wrong = []


def expect(condition, message):
    if not condition:
        wrong.append(message)


class Any:
    """A test double for Spack's arguments to a package: a spec, a prefix, a stage."""

    mpicxx = "mpicxx"
    source_path = "/source"

    def __getattr__(self, name):
        return Any() if name != "value" else ("80", "90")

    def __getitem__(self, key):
        return Any()

    def __str__(self):
        return "/prefix"

    def __fspath__(self):
        return "/prefix"

    def satisfies(self, _):
        return True


def spack():
    calls = {name: [] for name in DIRECTIVES}
    module = types.ModuleType("spack.package")
    for name in DIRECTIVES:
        setattr(module, name, lambda *args, _name=name, **kwargs: calls[_name].append((args, kwargs)))
    base = {"spec": Any(), "prefix": Any(), "stage": Any()}
    module.MakefilePackage = type("MakefilePackage", (), base)
    module.CudaPackage = type("CudaPackage", (), {})
    module.join_path = lambda *parts: "/".join(str(part) for part in parts)
    module.Executable = lambda path: None
    module.run_after = lambda phase: lambda function: function
    module.on_package_attributes = lambda **attributes: lambda function: function
    sys.modules["spack"] = types.ModuleType("spack")
    sys.modules["spack.package"] = module

    path = PACKAGING / "spack/packages/spdnn/package.py"
    names = {}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)  # pylint: disable=exec-used
    package = names["Spdnn"]()
    expect([args for args, _ in calls["version"]] == [(VERSION,)], f"{path}: expected version {VERSION}")
    expect(VERSION in package.url, f"{path}: url is of another version than {VERSION}")
    declared = {args[0] for args, _ in calls["variant"]} | {"cuda"}
    for name, uses in calls.items():
        for args, kwargs in uses:
            expect(isinstance(args[0] if args else kwargs["name"], str), f"{path}: {name}: expected a name")
            used = re.findall(r"[+~](\w+)", kwargs.get("when", ""))
            expect(set(used) <= declared, f"{path}: {name}: no such variant as {used}")
    for _, resource in calls["resource"]:
        expect(re.fullmatch("[0-9a-f]{64}", resource["sha256"]), f"{path}: {resource['name']}: expected a SHA-256")

    makefiles = "\n".join(file.read_text(encoding="utf-8") for file in (ROOT / "Makefile", *ROOT.glob("make/*.mk")))
    for targets in (package.build_targets, package.install_targets):
        *settings, target = targets
        for setting in settings:
            variable = setting.split("=")[0]
            expect(f"$({variable})" in makefiles, f"{path}: make has no variable {variable}")
        expect(re.search(rf"^{target}:", makefiles, re.MULTILINE), f"{path}: make has no target {target}")


def easybuild(tree):
    path = PACKAGING / f"easybuild/spdnn-{VERSION}.eb"
    if not path.exists():
        wrong.append(f"{path} is missing; its name has the version")
        return
    names = {"SYSTEM": {"name": "system", "version": "system"}}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)  # pylint: disable=exec-used
    for need in EASYBUILD_NEEDS:
        expect(names.get(need), f"{path}: {need} is missing")
    expect(names["version"] == VERSION, f"{path}: expected version {VERSION}")
    source = names["sources"][0] % {"name": names["name"], "version": names["version"]}
    archive = subprocess.run(["make", "-s", "-C", ROOT, "GPU=0", "print-archive"], check=True, capture_output=True, text=True)
    expect(source == archive.stdout.strip(), f"{path}: make dist makes {archive.stdout.strip()}, not {source}")
    if tree is not None:
        for kind, exists in (("files", pathlib.Path.is_file), ("dirs", pathlib.Path.is_dir)):
            for name in names["sanity_check_paths"][kind]:
                expect(exists(tree / name), f"{path}: {kind}: {tree / name} does not exist")


def main():
    spack()
    easybuild(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else None)
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
