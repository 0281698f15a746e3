"""Files that browsers read."""
