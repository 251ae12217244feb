"""What the pages of both services share: sessions, templates, styles and scripts. Nothing is fetched from elsewhere."""
