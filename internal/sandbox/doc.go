// Package sandbox says what the kernel lets a tool's process touch, and starts the
// process within those limits. It is the boundary around what a model can make a tool do;
// rules and permissions are only a convenience beside it.
//
// There are two tiers. Full is for machines with bubblewrap: the process gets its own
// namespaces for users, mounts, processes and, without the network, interfaces. The
// process makes them itself, which is quicker, or bubblewrap makes them where that is
// refused; in both cases the function steps says what is mounted. Landlock needs nothing
// installed: a process restricts itself before it becomes the tool. [Open] finds out
// which tier works here by trying it once, and [Sandbox.Lacks] lists what a tier lacks,
// so that a status can show it. What a process does to itself is a program of package
// child.
//
// It is not a policy: which paths are hidden, protected or lent comes in as a [Profile].
// It decides nothing about commands, and asks nobody.
//
// Read first: [Profile], [Open], [Sandbox.Command]. A Sandbox owns nothing that outlives
// a call and is safe for concurrent use.
//
// How it fails: a process that cannot be confined is not started; the error is of kind
// Denied and names the step that failed.
package sandbox
