// Package crash lets a test harness end the program at the worst moments. In an
// ordinary build everything here is empty and costs nothing: it reads no variable and
// looks for no file. Only a build with the tag chaos obeys the folder named by
// FIKA_CHAOS:
//
//   - plan: "POINT N kill" kills the process that makes the N-th pass of POINT,
//     counted over all processes that share the folder; "POINT N stop" halts it;
//     one a line
//   - clock: milliseconds added to the time
//   - skew: milliseconds by which the clock of the machine differs from others', and from a
//     database server's
//   - pace: how many times as often periodic work is done
//   - pages: the maximum size of the database file, in pages
//   - without: names of guards to leave out, to check that the harness notices
//
// Each pass of a point appends a byte to a file named after it, so that a harness
// knows which points were reached and no second process dies of the same pass. A build
// with the tag also does not make its processes private, so that a harness of the same
// account finds those of a home.
//
// Read first: [Point], [Without], [Now], [Pace].
package crash

// A Guard is one of the mechanisms that keep work from being lost or done twice.
type Guard string

// The guards that a harness can leave out.
const (
	Fence     Guard = "fence"      // a write needs the epoch of the request's owner
	Claim     Guard = "claim"      // only unclaimed work is taken
	Dedup     Guard = "dedup"      // a request id is accepted once
	Before    Guard = "before"     // a tool is committed as started before it runs
	SyncBus   Guard = "sync-bus"   // the stream of foreign requests waits for the disk
	SyncStore Guard = "sync-store" // the store waits for the disk, too
	Reserve   Guard = "reserve"    // a budget reserved for calls under way is not spent twice
	Once      Guard = "once"       // what a killed executor was running is not run again
	Flock     Guard = "flock"      // one process per context; without it there are two owners
	Stale     Guard = "stale"      // a plan is stored only if its run is unchanged since it was read
	Check     Guard = "check"      // a task of the board with a check is done when that has passed
	Board     Guard = "board"      // a task of the board that an agent takes is not open any more
	Watch     Guard = "watch"      // the tools of an owner end with its lease, also while it is stopped
	Due       Guard = "due"        // any process that looks finds a run in which a step has ended
)
