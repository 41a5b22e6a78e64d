// Command bench measures how fast fika is against floors measured in the same run,
// interleaved with it: what the machine needs for the same work without fika. Goals
// are ratios, so that they hold on slow and fast machines alike. scripts/bench.sh
// builds fika and runs it.
//
//	go run ./test/bench -fika bin/fika [-engine postgres] [-only hop] [-n 30] [-json FILE]
//
// Models are llmtest servers in this process, over loopback, which answer at once:
// only fika's own time is measured. Everything else is real: the binary, SQLite with
// its syncs, NATS, processes, a pseudo-terminal. Homes are made in a temporary folder
// (-dir chooses where: fsync costs what that disk costs) and removed afterwards, and
// hubs are brought down.
//
// It is not a test: it fails only when something does not work, not when a goal is
// missed, unless -strict is given.
//
// Read first: the list of measures in main.go, [lab] (homes, runs of fika),
// [series] (medians and spread).
//
// The lab owns every process that it starts and ends it; each measure owns its server
// and its home.
package main
