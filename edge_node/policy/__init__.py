"""What may leave a site: the owner's policy file, redaction, and the release of summaries, passages and questions."""
