"""The systemd unit that `equipoise init --systemd` writes. `make walk` starts it on a real Debian, and removes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from equipoise.cli.starting import needs
from equipoise.config import load
from equipoise.errors import ConfigError
from equipoise.install.unit import DROP_IN, UNIT, Needs, check_seen, files
from tests.cli.house import one_line, run
from tests.daemons import write_new

SOURCE = Path(__file__).parents[2] / "systemd" / "equipoise.service"
REPAIR = "PIPX_HOME=/opt/pipx PIPX_BIN_DIR=/usr/local/bin pipx install equipoise"


def test_the_unit_is_the_repositorys_with_the_path_of_the_command() -> None:
    written = files("/opt/venv/bin/equipoise", Needs(27500, 256, outward=False))
    assert written.keys() == {UNIT}
    first, _, rest = written[UNIT].partition("\n")
    assert first.startswith("# Written by `equipoise init --systemd`")
    assert rest == SOURCE.read_text().replace("/usr/local/bin/equipoise ", "/opt/venv/bin/equipoise ")
    assert "ExecStart=/opt/venv/bin/equipoise serve --config /etc/equipoise/config.toml\n" in rest
    assert "/usr/local/bin" not in rest


def test_another_port_and_more_connections_are_a_drop_in() -> None:
    written = files("/usr/local/bin/equipoise", Needs(28000, 5000, outward=False))
    assert written[DROP_IN].splitlines()[1:] == ["[Service]", "SocketBindAllow=tcp:28000", "LimitNOFILE=5064"]


def test_a_webhook_and_a_database_may_be_on_other_machines(tmp_path: Path) -> None:
    write_new(tmp_path, [])
    file = tmp_path / "config.toml"
    assert DROP_IN not in files("/usr/local/bin/equipoise", needs(load(file, {})))
    for table in (
        '[notice.chat]\nkind = "discord"\nurl = "https://discord.com/api/webhooks/1/x"\n',
        '[pool.other]\ndatabase = "postgresql://equipoise@db/equipoise"\n',
    ):
        text = file.read_text()
        file.write_text(f"{text}\n{table}")
        written = files("/usr/local/bin/equipoise", needs(load(file, {})))
        assert written[DROP_IN].splitlines()[1:] == ["[Service]", "IPAddressAllow=any"]
        file.write_text(text)


@pytest.mark.parametrize(
    "place", ["~root/.local/bin/equipoise", "/home/eva/venv/bin/equipoise", "/tmp/venv/bin/python"]
)
def test_a_command_that_the_service_does_not_see_is_refused_with_the_repair(place: str) -> None:
    path = Path(place).expanduser()
    with pytest.raises(ConfigError) as refusal:
        check_seen(Path("/usr/local/bin/equipoise"), path)
    assert str(refusal.value).startswith(f"{path}: the service does not see what is in /")
    assert str(refusal.value).endswith(f"Install it with: {REPAIR}")


@pytest.mark.slow
@pytest.mark.skipif(Path("/run/systemd/system").is_dir(), reason="systemd runs here, and would start the unit")
def test_without_systemd_nothing_is_written_and_it_says_so(tmp_path: Path) -> None:
    line = one_line(run("init", tmp_path / "new", "--systemd"))
    assert "systemd does not run on this machine; without it, `equipoise serve` runs the daemon" in line
    assert not (tmp_path / "new").exists()
