"""The gate's thresholds for the models in use, set from the site's own documents without labels (ADR 38)."""
