"""The words of `typing` for all that rendering imports; to a type checker they are the very same.

Importing `typing` takes a good part of the time that all of rendering may take, and no answer depends on it.
"""

# Type checkers know this name, wherever it comes from.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any as Any
    from typing import NewType as NewType
    from typing import NoReturn as NoReturn
    from typing import TextIO as TextIO
    from typing import TypeAlias as TypeAlias
    from typing import TypeVar as TypeVar
else:
    # A class, since it stands beside others, as in `Any | None`.
    Any = NoReturn = TextIO = TypeAlias = object

    def _itself(_, described):
        return described

    def _anything(*_, **__):
        return object

    NewType, TypeVar = _itself, _anything
