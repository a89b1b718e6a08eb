# Every target works on a fresh machine: .venv is made and filled when it is missing or out of date.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help demo quick test rig world lint types bench soak chaos walk packages mutants pictures screenshots layout texts plugin spcomp release \
	constraints lowest newest clean
.DEFAULT_GOAL := help

help:  ## this list
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable . --group dev
	@touch $@

demo: $(STAMP)  ## a simulated game server against a real daemon, in this terminal (about a minute)
	$(BIN)/equipoise demo $(ARGS)

# Where bytecode is forbidden, as in many containers, every run would compile all tests, and every process the daemon.
quick test rig world lowest newest: export PYTHONDONTWRITEBYTECODE :=

# The types are checked beside the tests.
beside_types = @$(BIN)/mypy & types=$$!; $(1); tests=$$?; wait $$types && exit $$tests

# A worker more than two cores have turns: many tests wait for a process, a clock or a socket. A fourth would collect for
# as long as it helps.
quick: $(STAMP) lint  ## lint, types and the fast tests, up to the first failure: after every edit (about a minute)
	$(call beside_types,EQUIPOISE_TESTS=quick $(BIN)/python -m pytest -q -n 3 -m "not slow and not rig and not world" \
	-x --ff $(ARGS))

test: $(STAMP) lint  ## the tests of the product, lint and types
	$(call beside_types,$(BIN)/python -m pytest -n 3 -m "not rig and not world" $(ARGS))

rig: $(STAMP)  ## the tests of what tests stand on: the simulated game servers and the chaos driver
	$(BIN)/python -m pytest -n 2 -m rig $(ARGS)

# In small pieces: those with browsers come first and take longest, and would all be one worker's.
world: $(STAMP)  ## the tests with programs of others, hours and evenings of a whole daemon, and simulated ones by the hundred
	$(BIN)/python -m pytest -n 3 --maxschedchunk 4 -m world $(ARGS)

# Those in which players write their names; a font has no command.
FONTS := /usr/share/fonts/truetype/dejavu/DejaVuSans.ttf:fonts-dejavu-core \
	/usr/share/fonts/truetype/wqy/wqy-microhei.ttc:fonts-wqy-microhei \
	/usr/share/fonts/truetype/noto/NotoColorEmoji.ttf:fonts-noto-color-emoji
# Debian's, by command and package, where they are missing and this is root; npm's in the versions that the tests were
# written with.
DEBIAN_PACKAGES := quakestat:qstat npm:npm curl:curl debootstrap:debootstrap systemd-nspawn:systemd-container \
	mariadbd:mariadb-server sqlite3:sqlite3 systemd-analyze:systemd zsh:zsh fish:fish ip:iproute2 wg:wireguard-tools \
	wireguard-go:wireguard-go ssh:openssh-client dropbear:dropbear-bin nginx:nginx caddy:caddy openssl:openssl \
	chromium:chromium prometheus:prometheus \
	pg_createcluster:postgresql pgbouncer:pgbouncer $(FONTS)
NPM := axe-core@4.14.1 gamedig@5.3.3 rcon-client@4.2.5 openapi-typescript@7.13.0 typescript@5.9.3
packages: $(STAMP)  ## programs of others that `make test` and `make walk` use, by apt and npm
	@for each in $(DEBIAN_PACKAGES); do command -v $${each%:*} >/dev/null || test -f $${each%:*} || set -- $$@ $${each#*:}; done; \
	test $$# = 0 || { apt-get update -q && apt-get install -yq --no-install-recommends "$$@"; }
	npm install --silent --no-audit --no-fund --prefix $(VENV)/npm $(NPM)

lint: $(STAMP)  ## format and lint
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(STAMP)  ## mypy --strict
	$(BIN)/mypy

$(STAMP)-bench: $(STAMP)
	$(BIN)/python -m pip install --quiet --group bench
	@touch $@

bench: $(STAMP)-bench  ## measure everything beside its target and its peers; ARGS="name …" for some
	$(BIN)/python -m bench $(ARGS)

soak: $(STAMP)  ## 100 simulated servers for HOURS=1 of their time, and a round in small and in large stores
	$(BIN)/python -m bench.soak --hours $(or $(HOURS),1) $(ARGS)

# Two thirds of the time for the driver, and the rest for requests that are made up from the OpenAPI document.
chaos: SECONDS := $(or $(SECONDS),600)
chaos: $(STAMP)  ## break the daemon in every way, count what is lost; SECONDS=600, SEED=…, ARGS="--fault ring", mutants or machines
	$(BIN)/python -m tests.chaos --seconds $$(expr $(SECONDS) \* 2 / 3) $(if $(SEED),--seed $(SEED)) $(ARGS)
	$(if $(SEED)$(ARGS),,EQUIPOISE_EXAMPLES=$$(($(SECONDS) / 10 + 1)) $(BIN)/python -m pytest -q -n 2 \
	tests/web/test_any_request.py tests/web/test_any_batch.py tests/web/test_malformed.py)

walk: $(STAMP)  ## follow README and docs/operations.md on an empty Debian that is booted, as root; DEBIAN=12 or 13, ARGS=--suite
	$(BIN)/python -m tests.walk --debian $(or $(DEBIAN),12) $(ARGS)

mutants: $(STAMP)  ## mutation tests of core, balancing, the store's writer and the plugin; SAMPLE=300, 0: all; resumable
	$(BIN)/python -m pip install --quiet --group mutants
	nice -n 19 $(BIN)/python -m mutation --sample $(or $(SAMPLE),300) $(ARGS)
	nice -n 19 $(BIN)/python -m mutation.sourcepawn --sample $$(($(or $(SAMPLE),300) / 10))

pictures: $(STAMP)  ## draw the pictures of README and docs again
	$(BIN)/python -m docs.pictures

screenshots: $(STAMP)  ## take the pictures of the page again, with Chromium (five minutes); ARGS="wall server" for some
	nice $(BIN)/python -m docs.pictures.screens $(ARGS)

layout: $(STAMP)  ## write the layout in docs/architecture.md again, from the modules' first lines
	$(BIN)/python -m docs.layout

texts: $(STAMP)  ## write commands and phrases again where the scripts and their documents have them
	$(BIN)/python -m docs.texts

spcomp: $(STAMP)  ## compile the plugin with the compilers of other SourceMods: SPCOMP="…/addons/sourcemod/scripting/spcomp …"
	$(BIN)/python sourcemod/build.py --spcomp $(SPCOMP)

plugin: $(STAMP)  ## the SourceMod plugin, compiled and zipped, and the NS2 mod, ready to be published (dist/)
	$(BIN)/python sourcemod/build.py
	$(BIN)/python ns2mod/build.py

# From a clone of the tag: what lies about here is in no release.
release: $(STAMP)  ## wheel, sdist, plugin, mod, constraints, notes and their sums from the tag of this commit (dist/)
	$(BIN)/python release.py $(ARGS)

$(STAMP)-versions: $(STAMP)
	$(BIN)/python -m pip install --quiet --group versions
	@touch $@

# For every Python and every platform that the packages have; no address of an index gets into the file.
constraints: $(STAMP)-versions  ## constraints.txt again: the newest versions of what the daemon needs, with hashes
	UV_CUSTOM_COMPILE_COMMAND="make constraints" $(BIN)/uv pip compile pyproject.toml --quiet --upgrade --universal \
	--python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --output-file constraints.txt

lowest:  ## the suite with the lowest versions that pyproject.toml allows
newest:  ## the suite with the newest versions that pyproject.toml allows
lowest newest: $(STAMP)-versions
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(VENV)-$@
	$(BIN)/uv pip install --quiet --python $(VENV)-$@ --resolution $(if $(filter lowest,$@),lowest-direct,highest) \
	--editable . --group dev
	$(VENV)-$@/bin/python -m pytest -n 2 $(ARGS)

clean:  ## remove what the targets above made
	rm -rf $(VENV) $(VENV)-lowest $(VENV)-newest dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .mutants .screens .soak .walk
