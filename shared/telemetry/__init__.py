"""What a service tells about itself: logs, metrics, spans, traces, and the request that they belong to."""
