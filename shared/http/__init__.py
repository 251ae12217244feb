"""Every HTTP service's door: who may come in, what a problem looks like, what is logged."""
