"""Documents: taken in, read, cut into chunks, kept, and worked on one job after another."""
