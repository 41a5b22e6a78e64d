#!/bin/sh
# triage FILE: kinds of errors, the earliest first.
awk '/ERROR|FATAL|panic:/ { kind = $0; gsub(/[0-9a-f]{8,}|[0-9]+/, "N", kind); if (!(kind in first)) { first[kind] = NR; order[++n] = kind }; count[kind]++ }
END { for (i = 1; i <= n; i++) printf "%d x from line %d: %s\n", count[order[i]], first[order[i]], order[i] }' "$1"
