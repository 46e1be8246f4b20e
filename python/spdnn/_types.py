"""Types of arguments."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Literal, Optional, Union

#: Called as progress(work, done, total) by one thread at a time, with done from 0 up to at most total. What it raises
#: ends the work.
Progress = Callable[[str, int, int], object]
Path = Union[str, "os.PathLike[str]"]
Device = Literal["auto", "cpu", "cuda"]
Precision = Literal["bf16", "fp16", "fp16-sums", "tf32", "fp32", "fp64"]
#: Lengths of axes; None, on axis 0, is any number of images.
Shape = tuple[Optional[int], ...]
