"""How this machine reaches Debian's packages and Python's: a walked machine reaches them in the same way.

Nothing is named here: mirrors, proxies, certificates and local folders come from the settings of apt and pip.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

APT = Path("/etc/apt")
PIP_FILES = ("/etc/pip.conf", "/etc/xdg/pip/pip.conf", "~/.config/pip/pip.conf", "~/.pip/pip.conf", "~/.netrc")
BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
OWN_CERTIFICATES = Path("/usr/local/share/ca-certificates")

_PASSED = re.compile(r"PIP_\w+|\w+_proxy|\w+_PROXY|SSL_CERT_\w+|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE")
_PATH = re.compile(r"(?:file://)?(/[^\s'\"]+)")


def environment() -> dict[str, str]:
    """Variables that pip, apt and what they call read."""
    return {name: value for name, value in os.environ.items() if _PASSED.fullmatch(name)}


def named_by_pip() -> set[Path]:
    """Local files and folders in pip's settings: constraints, certificates, wheels, file:// indexes."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {Path(path) for path in _PATH.findall(said)}


def folders() -> set[Path]:
    """Folders that pip reads; of an index the one above, where its files are."""
    return {path.parent if path.name == "simple" else path for path in named_by_pip() if path.is_dir()}


def release() -> dict[str, str]:
    """This machine's os-release."""
    text = Path("/etc/os-release").read_text()
    return dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', text, re.MULTILINE))


def mirror() -> str | None:
    """Where apt gets Debian's packages here; None on another distribution, where debootstrap knows one."""
    command = ["apt-get", "indextargets", "Created-By: Packages", "--format", "$(REPO_URI) $(CODENAME)"]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    own = release().get("VERSION_CODENAME")
    return next((uri for uri, _, name in (line.partition(" ") for line in said.splitlines()) if name == own), None)


def copy_settings(root: Path, codename: str) -> None:
    """Write this machine's settings into a root of the Debian release `codename`."""
    if release().get("ID") == "debian":
        _copy_sources(root / "etc/apt", codename)
    for path in _apt_files():
        _copy(path, root)
    for name in (*PIP_FILES, BUNDLE, *_bundles(), *map(str, named_by_pip())):
        path = Path(name).expanduser()
        if path.is_file():
            _copy(path, root, Path("/root", path.relative_to(Path.home())) if name.startswith("~") else path)
    if OWN_CERTIFICATES.is_dir():
        shutil.copytree(OWN_CERTIFICATES, root / OWN_CERTIFICATES.relative_to("/"), dirs_exist_ok=True)


def _copy_sources(apt: Path, codename: str) -> None:
    """Debian's own sources, with the release's name in place of this machine's."""
    own = release()["VERSION_CODENAME"]
    (apt / "sources.list").unlink(missing_ok=True)
    for path in (APT / "sources.list", *(APT / "sources.list.d").glob("*.sources"), *APT.glob("sources.list.d/*.list")):
        if path.is_file() and re.search(rf"\b{own}\b", text := path.read_text()):
            (apt / path.relative_to(APT)).write_text(re.sub(rf"\b{own}\b", codename, text))


def _apt_files() -> Iterator[Path]:
    for folder in ("auth.conf.d", "keyrings", "trusted.gpg.d"):
        yield from (path for path in (APT / folder).glob("*") if path.is_file())
    # How packages are fetched; hooks would call programs that the root does not have.
    for path in APT.glob("apt.conf.d/*"):
        text = path.read_text()
        if "Acquire" in text and "Invoke" not in text:
            yield path


def _bundles() -> Iterator[str]:
    return (value for name, value in environment().items() if name.endswith(("_CERT", "_CERT_FILE", "_CA_BUNDLE")))


def _copy(path: Path, root: Path, place: Path | None = None) -> None:
    target = root / (place or path).relative_to("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, target)
