"""Array libraries on the symmetric heap. This version has NumPy."""
