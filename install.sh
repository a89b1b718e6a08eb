#!/bin/sh
# Install Equipoise on Debian 12 or 13 from the wheel beside this file: `sh install.sh`, as root. It shows what it runs.
set -eu
cd "$(dirname "$0")"
refuse() {
    echo "install.sh: $1" >&2
    exit 2
}
set -- equipoise-*.whl
[ -f "$1" ] || refuse "there is no equipoise-*.whl beside it: take it from the release, too"
[ $# -eq 1 ] || refuse "there are several wheels beside it: leave the one to install ($*)"
[ "$(id -u)" = 0 ] || refuse "it installs for the whole machine: run it as root"
[ ! -e /usr/local/bin/equipoise ] || refuse "Equipoise is installed: equipoise upgrade takes it to another version"
command -v apt-get >/dev/null || refuse "there is no apt-get: install pipx, then run pipx install './$1[postgres]'"
set -x
apt-get update
apt-get install -y pipx
PIPX_HOME=/opt/pipx PIPX_BIN_DIR=/usr/local/bin pipx install "./$1[postgres]"
