"""Dataclasses and type hints that cost almost nothing to import, for everything on the render path.

`dataclasses` with thirty classes takes as long as a whole `plugin generate` may take, and importing `typing` a good
part of it. A type checker sees the standard ones; at run time they behave alike.
"""

import operator
from collections.abc import Callable, Mapping

# Type checkers know this name from any module.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any as Any
    from typing import NewType as NewType
    from typing import NoReturn as NoReturn
    from typing import Protocol as Protocol
    from typing import TextIO as TextIO
    from typing import TypeAlias as TypeAlias
    from typing import TypeVar as TypeVar
else:
    # A class, so that `Any | None` works.
    Any = NoReturn = Protocol = TextIO = TypeAlias = object

    def _itself(_, described):
        return described

    def _anything(*_, **__):
        return object

    NewType, TypeVar = _itself, _anything

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
    from dataclasses import field as field
    from dataclasses import replace as replace
else:

    def dataclass(*, slots, frozen=False, order=False):
        """Make a class of fields, always with slots."""
        if not slots:
            raise TypeError("a value has slots")
        return lambda described: _make(described, frozen=frozen, order=order)

    def field(**options):
        """Describe a field with more options than a default value."""
        return _Field(**options)

    def replace(value, /, **changes):
        """Return a copy of a value with some fields changed."""
        names = value.__slots__
        kept = [changes.pop(name) if name in changes else getattr(value, name) for name in names]
        return type(value)(*kept, **changes)


_NONE: Any = object()
_ORDER = {name: getattr(operator, name) for name in ("__lt__", "__le__", "__gt__", "__ge__")}


def _missing() -> Any:
    raise TypeError("a field has neither a value nor a default value")


class _Field:
    """The options of a field."""

    __slots__ = ("compare", "default", "default_factory", "repr")

    def __init__(
        self,
        default: Any = _NONE,
        default_factory: Callable[[], Any] = _missing,
        compare: bool = True,
        repr: bool = True,
    ) -> None:
        self.default = default
        self.default_factory = default_factory
        self.compare = compare
        self.repr = repr


class _StandardFields:
    """The attribute by which `dataclasses` knows its classes; made on first use."""

    def __init__(self, fields: Mapping[str, _Field]) -> None:
        self._fields = fields
        self._made: Any = None

    def __get__(self, _: object, owner: type) -> Any:
        # Kept, since it is slow to make and every `dataclasses.replace` uses it.
        if self._made is None:
            self._made = self._make(owner)
        return self._made

    def _make(self, owner: type) -> Any:
        from dataclasses import field, fields, make_dataclass

        described = []
        for name, known in self._fields.items():
            options = {key: getattr(known, key) for key in _Field.__slots__}
            given = {key: value for key, value in options.items() if value not in (_NONE, _missing)}
            described.append((name, owner.__annotations__[name], field(**given)))
        return {made.name: made for made in fields(make_dataclass(owner.__name__, described))}


def _make(described: type, *, frozen: bool, order: bool) -> Any:
    members = dict(vars(described))
    fields: dict[str, _Field] = {}
    for name in described.__annotations__:
        value = members.pop(name, _NONE)
        fields[name] = value if isinstance(value, _Field) else _Field(value)
    for name in ("__dict__", "__weakref__"):
        members.pop(name, None)
    methods = {
        "__qualname__": described.__qualname__,
        "__slots__": tuple(fields),
        "__match_args__": tuple(fields),
        "__dataclass_fields__": _StandardFields(fields),
        "__repr__": _make_repr(fields),
        "__reduce__": _reduce,
        **_make_comparisons(fields, frozen=frozen, order=order),
        **({"__setattr__": _refuse, "__delattr__": _refuse} if frozen else {}),
    }
    made: Any = type(described)(described.__name__, described.__bases__, methods | members)
    made.__init__ = _make_init(made, fields)
    return made


def _make_init(made: type, fields: Mapping[str, _Field]) -> Callable[..., None]:
    # The setter of a slot also works for a frozen value.
    setters = [getattr(made, name).__set__ for name in fields]
    finish: Callable[[object], None] | None = getattr(made, "__post_init__", None)
    known = [
        (set_field, name, field.default, field.default_factory)
        for set_field, (name, field) in zip(setters, fields.items(), strict=True)
    ]

    def init(self: object, /, *args: Any, **named: Any) -> None:
        for set_field, value in zip(setters, args, strict=False):
            set_field(self, value)
        for set_field, name, default, make in known[len(args) :]:
            value = named.pop(name, default)
            set_field(self, make() if value is _NONE else value)
        if named or len(args) > len(known):
            raise TypeError(f"{made.__name__} has the fields {', '.join(fields)}, each once")
        if finish is not None:
            finish(self)

    return init


def _make_repr(fields: Mapping[str, _Field]) -> Callable[[Any], str]:
    names = [name for name, known in fields.items() if known.repr]
    return lambda value: (
        f"{type(value).__qualname__}({', '.join(f'{name}={getattr(value, name)!r}' for name in names)})"
    )


def _make_comparisons(fields: Mapping[str, _Field], *, frozen: bool, order: bool) -> dict[str, Any]:
    key: Callable[[Any], Any] = operator.attrgetter(
        *[name for name, known in fields.items() if known.compare]
    )

    def equal(one: object, other: object) -> bool:
        return bool(key(one) == key(other)) if type(one) is type(other) else NotImplemented

    def ordered(compare: Callable[[Any, Any], bool]) -> Any:
        return lambda one, other: (
            compare(key(one), key(other)) if type(one) is type(other) else NotImplemented
        )

    hashed = (lambda value: hash(key(value))) if frozen else None
    ordering = {name: ordered(compare) for name, compare in _ORDER.items()} if order else {}
    return {"__eq__": equal, "__hash__": hashed, **ordering}


def _reduce(value: Any) -> tuple[type, tuple[Any, ...]]:
    return type(value), tuple(getattr(value, name) for name in value.__slots__)


def _refuse(value: object, name: str, *_: object) -> None:
    raise AttributeError(f"{type(value).__name__} cannot be changed: {name}")
