"""A cloud, its edges and a model server as processes of one machine."""
