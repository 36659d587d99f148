"""In which layer each package of a picture is: below everything that needs it."""

from collections.abc import Mapping, Sequence


def find_layers(keys: Sequence[str], below: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Return the keys by their longest way from a package that nothing depends on; circles are cut open."""
    turns = _turns(keys, below)
    steps = {key: [target for target in below[key] if (key, target) not in turns] for key in keys}
    missing = dict.fromkeys(keys, 0)
    for key in keys:
        for target in steps[key]:
            missing[target] += 1
    layers, ready = [], [key for key in keys if not missing[key]]
    while ready:
        layers.append(sorted(ready))
        following = []
        for target in (target for key in ready for target in steps[key]):
            missing[target] -= 1
            if not missing[target]:
                following.append(target)
        ready = following
    return layers


def _turns(keys: Sequence[str], below: Mapping[str, Sequence[str]]) -> set[tuple[str, str]]:
    """Return the edges that lead back to a package on the way to them."""
    needed = {target for targets in below.values() for target in targets}
    found: set[tuple[str, str]] = set()
    done: set[str] = set()
    for start in [*(key for key in keys if key not in needed), *keys]:
        if start in done:
            continue
        open_, stack = {start}, [(start, iter(below[start]))]
        while stack:
            key, targets = stack[-1]
            target = next(targets, None)
            if target is None:
                stack.pop()
                open_.discard(key)
                done.add(key)
            elif target in open_:
                found.add((key, target))
            elif target not in done:
                open_.add(target)
                stack.append((target, iter(below[target])))
    return found
