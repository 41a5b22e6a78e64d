// Package crash lets a harness end the program at the worst moments. In an
// ordinary build everything here is empty and costs nothing: no variable is
// read, no file is looked for. Only a build with the tag chaos obeys the folder
// that FIKA_CHAOS names:
//
//   - plan: "POINT N kill" ends the process that passes POINT as the N-th of
//     all processes that share the folder; "POINT N stop" halts it instead
//   - clock: milliseconds that are added to the time
//   - pace: by how much what is done now and then is done more often
//   - pages: the database's file may not grow beyond so many
//   - without: the names of guards to leave out, to see that the harness
//     notices
//
// Each pass of a point leaves a byte in a file of its name, so a harness knows
// which points were reached, and a second process never dies of the same pass. And
// a build with the tag does not make its processes private, so that a harness of the
// same account finds those of a home.
//
// Read first: [Point], [Without], [Now], [Pace].
package crash

// A Guard is one of the things that keep work from being lost or done twice.
type Guard string

// The guards that a harness can leave out.
const (
	Fence     Guard = "fence"      // a write needs the epoch of the request's owner
	Claim     Guard = "claim"      // only work that nobody has is taken
	Dedup     Guard = "dedup"      // a request id is accepted once
	Before    Guard = "before"     // a tool is committed as started before it runs
	SyncBus   Guard = "sync-bus"   // the stream of foreign requests waits for the disk
	SyncStore Guard = "sync-store" // so does the store
	Reserve   Guard = "reserve"    // what is set aside for calls under way is not spent twice
	Once      Guard = "once"       // what a killed executor was running is not run again
	Flock     Guard = "flock"      // one process per context; left out, there are two owners
	Stale     Guard = "stale"      // a plan of a run is stored only while the run is as it was seen
	Due       Guard = "due"        // a run in which something has ended is found by whoever looks
)
