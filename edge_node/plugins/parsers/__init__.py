"""Parsers of documents, a module a family of formats; each ends with what it declares."""
