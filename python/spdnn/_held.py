"""What the classes share that hold something of the library: it cannot be changed, and it lives in this process."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn, TypeVar

_Self = TypeVar("_Self", bound="Held")


class Held:
    """Copies are the object itself, and pickling is refused."""

    _instead: ClassVar[str]  #: of pickling

    def __copy__(self: _Self) -> _Self:
        return self

    def __deepcopy__(self: _Self, memo: Any) -> _Self:
        return self

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(f"{type(self).__name__}: expected something that can be pickled: {self._instead}")
