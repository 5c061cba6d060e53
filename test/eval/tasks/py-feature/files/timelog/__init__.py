"""Working hours out of a plain text file."""
