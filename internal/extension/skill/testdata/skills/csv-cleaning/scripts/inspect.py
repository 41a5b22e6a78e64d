#!/usr/bin/env python3
"""Says what is wrong with a CSV file."""
import csv, sys

path = sys.argv[1]
with open(path, newline="", encoding="utf-8", errors="replace") as f:
    rows = list(csv.reader(f))
width = max((len(r) for r in rows), default=0)
bad = [n for n, r in enumerate(rows, 1) if len(r) != width]
print(f"{len(rows)} rows, {width} columns, rows that do not fit: {bad or 'none'}")
