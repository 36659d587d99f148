"""xplock mirror with a registry that limits lists of referrers apart from everything else."""

import time
from collections import Counter
from pathlib import Path

from rig.builders.mirrors import HOST, Closure
from rig.registry.docker import RunningRegistry
from rig.registry.http_server import Answer, Request, answer
from rig.registry.proxy import Proxy
from rig.registry.pushed import Raw

# Halved twice, it would be fewer than there are blobs to fetch at once.
_JOBS = 8


def test_a_limit_of_referrers_slows_nothing_else(
    closure: Closure, project: Path, destination: RunningRegistry
) -> None:
    refused: Counter[str] = Counter()
    running, widths = [0], [0]

    def twice(request: Request) -> Answer | None:
        if "/referrers/" not in request.path or refused[request.path] == 2:
            return None
        refused[request.path] += 1
        return answer(429, headers={"Retry-After": "1"})

    def counted(request: Request) -> Answer | None:
        if "/blobs/" not in request.path:
            return None
        running[0] += 1
        widths.append(running[0])
        # Long enough for others to arrive.
        time.sleep(0.2)
        done = source.pass_on(request)
        running[0] -= 1
        return done

    with Proxy(closure.registry.host, twice, counted) as source:
        closure.through(source, project)
        done = closure.mirror(project, destination.host, "--jobs", str(_JOBS), also=[source.host])

    assert done.code == 0, done.stderr
    assert len(refused) > _JOBS
    assert max(widths) == _JOBS


def test_a_limit_of_referrers_that_is_used_up_stops_one_image(
    closure: Closure, project: Path, destination: RunningRegistry
) -> None:
    def never(request: Request) -> Answer | None:
        is_store = "/acme/store/referrers/" in request.path
        return answer(429, headers={"Retry-After": "0"}) if is_store else None

    with Proxy(closure.registry.host, never) as source:
        closure.through(source, project)
        done = closure.mirror(project, destination.host, also=[source.host], XPLOCK_LIMIT_ATTEMPTS="2")

    done.assert_refused(1, "status 429", f"\n        not copied: {HOST}/acme/store\n")
    assert done.stderr.count("error: ") == 1
    there = Raw(destination.host)
    for name in ("acme/app", "acme/shape"):
        assert there.digest(f"xp/{HOST}/{name}", "v1.0.0") == closure.images[f"{name} v1.0.0"].digest
    assert there.tags(f"xp/{HOST}/acme/store") == []
