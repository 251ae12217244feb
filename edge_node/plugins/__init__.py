"""What not every site needs, behind seams of the core."""
