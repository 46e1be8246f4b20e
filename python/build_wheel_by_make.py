"""The build backend of `pip install .`: make builds the package, and this writes it into a wheel. PEP 517 says what pip
calls, PEP 427 the form of a wheel. Nothing but Python and the needs of make is used."""

import base64
import hashlib
import os
import pathlib
import re
import stat
import subprocess
import sys
import sysconfig
import zipfile

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
METADATA = """Metadata-Version: 2.1
Name: spdnn
Version: {version}
Summary: Sparse deep neural network inference for the Sparse DNN Graph Challenge
License: Apache-2.0
Requires-Python: >=3.9
Requires-Dist: numpy
Requires-Dist: scipy
"""
WHEEL = """Wheel-Version: 1.0
Generator: spdnn
Root-Is-Purelib: false
Tag: {tag}
"""


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Writes the wheel and returns its name. config_settings are options of make, such as GPU=0."""
    options = [f"{name}={value}" for name, value in (config_settings or {}).items()]
    subprocess.run(["make", "-C", str(REPOSITORY), "python", f"PYTHON={sys.executable}", *options], check=True,
                   env={name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL")})
    version = re.search(r"^VERSION := (\S+)$", (REPOSITORY / "Makefile").read_text(encoding="utf-8"), re.M)[1]
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    tag = f"{python}-{python}-{re.sub('[-.]', '_', sysconfig.get_platform())}"
    name = f"spdnn-{version}-{tag}.whl"
    record = []
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        def add(path, content, mode=0o644):
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record.append(f"{path},sha256={digest},{len(content)}")
            entry = zipfile.ZipInfo(path)
            entry.external_attr = (stat.S_IFREG | mode) << 16
            wheel.writestr(entry, content, zipfile.ZIP_DEFLATED)

        for file in sorted((REPOSITORY / "build/python/spdnn").iterdir()):
            if file.is_file():
                add(f"spdnn/{file.name}", file.read_bytes(), file.stat().st_mode & 0o777)
        add(f"spdnn-{version}.data/scripts/spdnn", (REPOSITORY / "python/spdnn_command.py").read_bytes(), 0o755)
        info = f"spdnn-{version}.dist-info"
        add(f"{info}/METADATA", METADATA.format(version=version).encode())
        add(f"{info}/WHEEL", WHEEL.format(tag=tag).encode())
        wheel.writestr(f"{info}/RECORD", "\n".join([*record, f"{info}/RECORD,,", ""]))
    return name
