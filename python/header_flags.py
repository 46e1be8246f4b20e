"""Prints where a compiler finds the headers of the Python that runs this, and of a pybind11 that is installed in it.
Debian's pybind11 is found without."""

import importlib.util
import pathlib
import sysconfig

folders = [sysconfig.get_paths()["include"]]
pybind11 = importlib.util.find_spec("pybind11")
if pybind11 and pybind11.origin:
    folders.insert(0, pathlib.Path(pybind11.origin).with_name("include"))
print(*(f"-isystem {folder}" for folder in folders if pathlib.Path(folder).is_dir()))
