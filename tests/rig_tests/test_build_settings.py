"""What a build of the image is given of the machine that it runs on, and where that is mounted."""

import os
from pathlib import Path

from rig.deploy.build_settings import write_settings


def test_settings_of_pip_come_from_variables_with_their_certificates_and_wheels(tmp_path: Path) -> None:
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels/one.whl").touch()
    (tmp_path / "own.crt").write_text("an authority")
    environ = {
        **os.environ,
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_CERT": str(tmp_path / "own.crt"),
        "PIP_FIND_LINKS": f"{tmp_path}/wheels https://wheels.example.org {tmp_path}/missing",
        "PIP_INDEX_URL": "https://index.example.org/simple",
    }

    mounts = write_settings(tmp_path / "settings", environ, sources=False)

    home = mounts["/root"]
    said = (home / ".config/pip/pip.conf").read_text().splitlines()
    assert said[0] == "[global]"
    assert "cert = /root/ca.crt" in said
    assert "find-links = https://wheels.example.org /root/wheels-0" in said
    assert "index-url = https://index.example.org/simple" in said
    assert (home / "ca.crt").read_text() == "an authority"
    assert (home / "wheels-0/one.whl").exists()
    # An empty folder would stay in the image where the base image has none.
    assert mounts.keys() == {"/root", "/etc/apt/apt.conf.d"}


def test_apt_trusts_the_same_authorities_and_leaves_no_downloads(tmp_path: Path) -> None:
    (tmp_path / "own.crt").write_text("an authority")
    environ = {**os.environ, "PIP_CONFIG_FILE": os.devnull, "PIP_CERT": str(tmp_path / "own.crt")}

    mounts = write_settings(tmp_path / "settings", environ, sources=False)

    [file] = mounts["/etc/apt/apt.conf.d"].iterdir()
    assert 'Acquire::https::CAInfo "/root/ca.crt";' in file.read_text()
    assert "rm -f /var/cache/apt/archives/*.deb" in file.read_text()
