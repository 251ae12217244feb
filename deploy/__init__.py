"""Running the system: the ``dgrag`` command, the local cluster, the sample documents."""
