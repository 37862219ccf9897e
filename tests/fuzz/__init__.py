"""Random inputs: `make fuzz PART=native SECONDS=60`. Findings are written as files that show them again."""
