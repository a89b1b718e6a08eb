"""The experiments behind `docs/findings.md`: `python -m bench.findings.<name>` prints the table of one finding."""
