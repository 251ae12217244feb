"""HTTP only: a body in, a part called, a body out."""
