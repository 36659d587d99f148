"""How this machine reaches Debian and Python packages, as folders to mount while an image is built."""

import ast
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

_DEBIAN_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
# Debian's own packages, whatever else this machine installs from.
_TARGETS = "--format=$(ORIGIN)|deb $(SITE) $(RELEASE) $(COMPONENT)"
# As in base images: what was downloaded is not left in a layer.
_CLEAN = 'DPkg::Post-Invoke { "rm -f /var/cache/apt/archives/*.deb || true"; };\n'


def write_settings(folder: Path, environ: Mapping[str, str], *, sources: bool) -> dict[str, Path]:
    """Write the settings; return each folder by where it belongs.

    Only folders that every base image has are mounted over: for any other an empty one would stay in the image.
    """
    home, apt, lists = folder / "root", folder / "apt.conf.d", folder / "sources.list.d"
    for made in (home / ".config/pip", apt, lists):
        made.mkdir(parents=True)
    pip = _pip_settings(environ)
    _copy_certificates(pip, environ, home / "ca.crt")
    _copy_wheels(pip, home)
    (home / ".config/pip/pip.conf").write_text(_format_pip(pip))
    authorities = 'Acquire::https::CAInfo "/root/ca.crt";\n' if "cert" in pip else ""
    (apt / "90build").write_text(_CLEAN + apt_settings() + authorities)
    if sources:
        (lists / "build.list").write_text(debian_sources())
    return {"/root": home, "/etc/apt/apt.conf.d": apt} | (
        {"/etc/apt/sources.list.d": lists} if sources else {}
    )


def debian_sources() -> str:
    """Return where this machine gets Debian's packages from, as lines of a sources.list."""
    lines = sorted(set(_output("apt-get", "indextargets", _TARGETS).splitlines()))
    found = [line.removeprefix("Debian|") for line in lines if line.startswith("Debian|")]
    if not found:
        raise SystemExit(
            "apt-get knows no packages of Debian; run `apt-get update`, or name an image with BASE="
        )
    return "\n".join(found) + "\n"


def suite() -> str:
    """Return the name of this machine's release of Debian."""
    release = Path("/etc/os-release").read_text().splitlines()
    return dict(line.split("=", 1) for line in release if "=" in line)["VERSION_CODENAME"].strip('"')


def apt_settings() -> str:
    """Return how this machine's apt, if it has one, reaches servers: proxies and the like."""
    if shutil.which("apt-config") is None:
        return ""
    dumped = _output("apt-config", "dump", '--format=%F "%v";%n', "Acquire::http", "Acquire::https")
    return "".join(f"{line}\n" for line in dumped.splitlines() if not line.endswith('"";'))


def _pip_settings(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of pip that hold for all its commands, from its files and then from variables."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    lines = subprocess.run(command, env=environ, capture_output=True, text=True).stdout.splitlines()
    pairs = sorted((line.split("=", 1) for line in lines), key=lambda pair: pair[0].startswith(":env:"))
    told = {key: ast.literal_eval(value) for key, value in pairs if key.startswith(("global.", ":env:."))}
    return {key.split(".", 1)[1]: value for key, value in told.items() if not key.endswith("config-file")}


def _copy_certificates(pip: dict[str, str], environ: Mapping[str, str], copy: Path) -> None:
    named = pip.get("cert") or environ.get("SSL_CERT_FILE") or _DEBIAN_CERTIFICATES
    if Path(named).exists():
        shutil.copyfile(named, copy)
        pip["cert"] = "/root/ca.crt"


def _copy_wheels(pip: dict[str, str], home: Path) -> None:
    """Take along the folders of wheels that pip looks into."""
    places = pip.pop("find-links", "").split()
    found = [place for place in places if "://" not in place and Path(place).is_dir()]
    for number, place in enumerate(found):
        shutil.copytree(place, home / f"wheels-{number}")
    kept = [place for place in places if "://" in place] + [f"/root/wheels-{n}" for n in range(len(found))]
    if kept:
        pip["find-links"] = " ".join(kept)


def _format_pip(settings: Mapping[str, str]) -> str:
    lines = [f"{key} = {value}".replace("\n", "\n\t") for key, value in sorted(settings.items())]
    return "\n".join(["[global]", *lines, ""])


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
