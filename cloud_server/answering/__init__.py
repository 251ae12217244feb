"""A question over several edges: evidence gathered, merged and answered by the large model."""
