"""Which runtime a state directory's cluster has."""

from __future__ import annotations

from deploy.cluster.by_docker import ByDocker
from deploy.cluster.by_process import ByProcess
from deploy.cluster.runtimes import Runtime
from deploy.cluster.state import ClusterState, StateDir


def runtime_of(directory: StateDir) -> Runtime:
    """The runtime of what was started there; where nothing was, processes. Raises ClusterError for a file that is not ours."""
    state = directory.load() or ClusterState()
    return ByDocker(directory) if state.runtime == "docker" else ByProcess(directory)
