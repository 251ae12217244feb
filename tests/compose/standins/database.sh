#!/bin/sh
# As the official entrypoint: root makes the folder, the user postgres makes the store while it listens at its socket alone, then it serves.
set -eu
: "${POSTGRES_PASSWORD:=$(cat "$POSTGRES_PASSWORD_FILE")}"
export POSTGRES_PASSWORD
if [ "$(id -u)" = 0 ]; then
    mkdir -p "$PGDATA" /var/run/postgresql
    chmod 0700 "$PGDATA"
    chown -R postgres:postgres "$PGDATA" /var/run/postgresql
    exec setpriv --reuid=postgres --regid=postgres --clear-groups "$0" "$@"
fi
socket="-k /var/run/postgresql"
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    printf '%s\n' "$POSTGRES_PASSWORD" >/tmp/password
    initdb --username="$POSTGRES_USER" --pwfile=/tmp/password --auth-local=trust --auth-host=scram-sha-256
    rm /tmp/password
    echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
    pg_ctl --wait --options="$socket -c listen_addresses=''" start
    createdb --host=/var/run/postgresql --username="$POSTGRES_USER" "$POSTGRES_DB"
    pg_ctl --wait --mode=fast stop
fi
unset POSTGRES_PASSWORD
# shellcheck disable=SC2086 # two words are meant
exec "$@" $socket -c "listen_addresses=*"
