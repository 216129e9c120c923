"""The checks that ``run-gpu-tests`` performs, by subject."""
