#!/usr/bin/env bash
# What each compose that is here says of docker-compose.yml, under each profile; it asks no engine. Without one Debian's is installed where root
# may; where that fails this is left out, but in CI, where it is an error.
set -euo pipefail
cd "$(dirname "$0")/../.."

here=()
look() {
    if docker compose version >/dev/null 2>&1; then here+=('docker compose'); fi
    if docker-compose version >/dev/null 2>&1; then here+=('docker-compose'); fi
}

look
if [ ${#here[@]} = 0 ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends docker-compose) >/dev/null || true
    look
fi
if [ ${#here[@]} = 0 ]; then
    echo 'LEFT OUT: docker-compose.yml is not checked, as neither `docker compose` nor `docker-compose` is here' >&2
    [ "${CI:-}" != true ]
    exit
fi
for compose in "${here[@]}"; do
    for profile in cpu vllm own scale; do
        COMPOSE_PROFILES=$profile $compose config -q
    done
    echo "docker-compose.yml: $compose $($compose version --short 2>/dev/null) takes it under each profile"
done
