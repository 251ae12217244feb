#!/usr/bin/env bash
# A Docker engine for the tests of this folder, on a Debian machine that has none and reaches no image registry. Needs root.
#   tests/compose/engine.sh start DIR   installs the packages, starts dockerd in DIR, makes the base image of our Dockerfiles
#   tests/compose/engine.sh stop DIR    stops that dockerd; its data stay in DIR for the next start
# Afterwards: DOCKER_HOST=unix://DIR/docker.sock .venv/bin/python -m pytest -m long tests/compose
set -euo pipefail

BASE=python:3.11-slim-bookworm
DIR=$(mkdir -p "${2:?the folder of the engine is missing}" && cd "$2" && pwd)
export DOCKER_HOST=unix://$DIR/docker.sock

start() {
    if ! command -v dockerd >/dev/null || ! command -v mmdebstrap >/dev/null || ! command -v docker-compose >/dev/null; then
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq docker.io docker-compose mmdebstrap
    fi
    if ! docker info >/dev/null 2>&1; then
        setsid nohup dockerd --host "$DOCKER_HOST" --data-root "$DIR/data" --exec-root "$DIR/exec" --pidfile "$DIR/dockerd.pid" \
            >"$DIR/dockerd.log" 2>&1 </dev/null &
        for _ in $(seq 150); do
            docker info >/dev/null 2>&1 && break
            sleep 0.2
        done
        docker info >/dev/null || { tail -n 20 "$DIR/dockerd.log" >&2; exit 1; }
    fi
    docker image inspect "$BASE" >/dev/null 2>&1 || docker pull --quiet "$BASE" || base
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
    tar -C "$root" -c . | docker import "${change[@]}" - "$BASE"
    rm -rf "$root"
}

stop() {
    [ -s "$DIR/dockerd.pid" ] && kill "$(cat "$DIR/dockerd.pid")"
}

case ${1:-} in
start | stop) "$1" ;;
*) sed -n '2,5p' "$0" >&2 && exit 2 ;;
esac
