#!/bin/sh
# slim.sh TREE: takes away what an image does not use of the packages in a virtual environment. The Dockerfiles run it, and tests/compose/test_build.py.
set -eu
find "$1/lib" -type d -name tests -prune -exec rm -rf {} +
# OpenVINO's parts for GPUs and NPUs: the embedder runs on the CPU
find "$1/lib" -name 'libopenvino_intel_[gn]pu_plugin.so' -delete
# symbols for debuggers, most of them spaCy's. Libraries that a wheel brings in *.libs were rewritten by its builder, and stay as they are
find "$1/lib" -name '*.so' -not -path '*.libs/*' -exec strip --strip-debug {} +
