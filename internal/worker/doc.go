// Package worker is what works in a context: the folder locked, the agent's
// lease held, the mirror following the store, and a turn runtime made from what
// the files say. A one-shot prompt and the process of an agent have it in
// common.
//
// It is no process and follows no bus: [Run] works one prompt and returns, and
// package daemon puts the process of an agent around a [Worker]. It decides
// nothing about turns, chats or what is compacted either; those packages are
// given their tools, hooks and texts here.
//
// Read first: [Open] (lock, lease, what a crash left half done, mirror),
// [LiveRuntime] (what the files say now, for each turn), [Run].
//
// Who owns what: a Worker owns the lock and the lease, which its Close gives
// back; the store belongs to the App. A [Runtime] owns nothing that must be
// closed, and is replaced when a file changes. [Toolbox], [PromptSource],
// [EntrySource] and [Summary] are values for whoever wants to know what a
// context would get, without locking it. The lock's goroutine renews the lease
// ([Worker.Heartbeat]); all else runs in the caller's.
//
// How it fails: an error of kind Locked when somebody has the context, Lost
// when the lease was taken over. Everything that is put into the store has an id,
// so what was interrupted (an import, a compaction, an inbox half read) is done
// again by the next opening. Settings that cannot be used fail the request that
// needs them, visibly, and not the process.
package worker
