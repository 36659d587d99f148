# The image that xplock runs in: beside Argo CD's repo-server, as a CronJob, in CI.
#
#   docker build --tag registry.example.org/xplock:0.1.0 .
#
# Folders with a kustomization, and overlays, need kustomize as well:
#
#   docker build --target xplock-with-kustomize --tag registry.example.org/xplock:0.1.0 .
#
# Base images are named by exact version. To pin their bytes, too, ask your registry or mirror for the digest, and give
# it to this build, or write it below:
#
#   skopeo inspect --format '{{.Name}}@{{.Digest}}' docker://docker.io/library/python:3.13.13-slim-bookworm
#   docker build --build-arg PYTHON=docker.io/library/python@sha256:... .
#
# Without a container engine: `make image`.
ARG PYTHON=docker.io/library/python:3.13.13-slim-bookworm
ARG KUSTOMIZE=registry.k8s.io/kustomize/kustomize:v5.5.0

FROM ${KUSTOMIZE} AS kustomize

FROM ${PYTHON} AS wheel
WORKDIR /source
COPY deploy/requirements/build.txt /opt/build.txt
RUN python -m venv --without-pip /opt/build \
    && pip --python /opt/build install --no-cache-dir --require-hashes --requirement /opt/build.txt
COPY pyproject.toml README.md LICENSE ./
COPY render render
# Without isolation pip uses the tools that are installed by hash, and downloads no others.
RUN pip --python /opt/build wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /wheel .

FROM ${PYTHON} AS environment
COPY --from=wheel /wheel /wheel
COPY deploy/requirements/runtime.txt /opt/runtime.txt
# Dependencies by hash; xplock itself by its path, so that no package index is ever asked for it. pip would compile with
# the time of each file, which a layer rounds, and a module whose time differs is compiled again at every start.
RUN python -m venv --without-pip /opt/xplock \
    && pip --python /opt/xplock install --no-compile --no-cache-dir --require-hashes --requirement /opt/runtime.txt \
    && pip --python /opt/xplock install --no-compile --no-cache-dir --no-deps /wheel/*.whl \
    && python -m compileall -q --invalidation-mode unchecked-hash /opt/xplock/lib

FROM ${PYTHON} AS base
# Argo CD's user; git and ssh want to find it in /etc/passwd.
RUN groupadd --gid 999 xplock \
    && useradd --uid 999 --gid 999 --no-create-home --home-dir /tmp --shell /usr/sbin/nologin xplock
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates git openssh-client tini \
    && rm -rf /var/lib/apt/lists/*
# The base image comes without compiled modules, and a read-only file system would have them compiled at every start.
RUN python -m compileall -q --invalidation-mode unchecked-hash "$(python -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')"
COPY --from=environment /opt/xplock /opt/xplock
COPY plugin.yaml /home/argocd/cmp-server/config/plugin.yaml
ENV PATH=/opt/xplock/bin:/usr/local/bin:/usr/bin:/bin \
    HOME=/tmp
USER 999:999
# Waits for processes that lost their parent, which neither Argo CD's server nor xplock does: they would stay as zombies.
ENTRYPOINT ["/usr/bin/tini", "--"]
CMD ["xplock", "--help"]

FROM base AS xplock-with-kustomize
COPY --from=kustomize /app/kustomize /usr/local/bin/kustomize

FROM base AS xplock
