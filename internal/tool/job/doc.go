// Package job runs background commands: those that an agent starts with its tool bash and
// that run on after the call, as a server does while tests are written against it.
//
// It is not a service manager: a job ends with the process of its agent, which nothing
// restarts. It is not the sandbox either: how a command is confined, and which calls join
// its namespaces, is for its caller to say.
//
// A [Pool] belongs to the process of one agent. A job is a committed row before its process
// is started, and the row ends once, whoever ends the job; what the command prints is in a
// [folder.JobLog], from which keys are removed. Processes carry the mark job/ID and die
// with this process; after a crash, the next owner of the agent, or the hub, finds the rest
// by the mark and sets the row to lost.
//
// Read first: [Pool], [Pool.Start], [Tools]. A Pool owns one goroutine for each running
// job; Close ends the jobs and joins them.
package job
