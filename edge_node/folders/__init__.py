"""A folder or a bucket, and an edge that is kept equal to it: one way for ``dgrag sync`` and for the service itself."""
