// Package sandbox says what the kernel lets a tool's process touch, and starts
// it so. It is the boundary around what a model can make a tool do; rules and
// permissions are convenience beside it.
//
// There are two tiers. Full is for machines with bubblewrap: namespaces of its own
// for users, mounts, processes and, without the network, interfaces. They are made
// by the process itself, which is quicker, or by bubblewrap where that is refused;
// steps says for both what is mounted. Landlock needs nothing installed: a
// process restricts itself before it becomes the tool. Which of them works here is
// found out by doing it once ([Open]), and what a tier lacks is listed, so that
// whoever shows a status can say it. What a process does to itself is a program of
// package child.
//
// It is no policy: which paths are hidden, protected or lent comes in as a
// [Profile]. It decides nothing about commands, and asks nobody.
//
// Read first: [Profile], [Open], [Sandbox.Command]. A Sandbox owns nothing that
// outlives a call and may be used by many goroutines at once.
//
// How it fails: a process that cannot be confined is not started; the error is
// of kind Denied and names the step that failed.
package sandbox
