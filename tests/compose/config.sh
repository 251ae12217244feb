#!/usr/bin/env bash
# What compose says of docker-compose.yml, under each profile; it asks no engine. Debian's compose is installed where root may, else this is left out.
set -euo pipefail
cd "$(dirname "$0")/../.."

compose() {
    if docker compose version >/dev/null 2>&1; then docker compose "$@"; else docker-compose "$@"; fi
}

if ! compose version >/dev/null 2>&1 && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends docker-compose) >/dev/null 2>&1 || true
fi
if ! compose version >/dev/null 2>&1; then
    echo 'LEFT OUT: docker-compose.yml is not checked, as neither `docker compose` nor `docker-compose` is here'
    exit 0
fi
for profile in cpu vllm ''; do
    COMPOSE_PROFILES=$profile compose config -q
done
echo "docker-compose.yml: $(compose version --short 2>/dev/null) takes it under each profile"
