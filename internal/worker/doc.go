// Package worker is what works in a context: the folder locked, the agent's lease held,
// the mirror following the store, and a turn runtime made from what the files say.
// One-shot prompts and agent processes share it.
//
// It is not a process and does not follow the bus: [Run] works one prompt and returns,
// and package daemon builds the process of an agent around a [Worker]. It decides
// nothing about turns, chats or what is compacted either: it gives those packages their
// tools, hooks and texts.
//
// Read first: [Open] (lock, lease, repair after a crash, mirror), [LiveRuntime] (what
// the files say now, for each turn), [Run].
//
// Who owns what: a Worker owns the lock and the lease, which its Close releases; the
// store belongs to the App. A [Runtime] owns nothing that must be closed, and is
// replaced when a file changes. [Toolbox], [PromptSource], [EntrySource] and [Summary]
// are values that tell what a context would get, without locking it. The lock's
// goroutine renews the lease ([Worker.Heartbeat]); everything else runs in the caller's
// goroutine.
//
// How it fails: with kind Locked if another process holds the context, and with Lost if
// the lease was taken over. Everything that is put into the store has an id, so the
// next opening repeats what was interrupted (an import, a compaction, a half-read
// inbox). Settings that cannot be used fail the request that needs them, visibly, and
// not the process.
package worker
