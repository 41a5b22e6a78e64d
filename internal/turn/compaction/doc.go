// Package compaction decides how to shorten a conversation that has grown too long:
// which part of it leaves the window, and which summary replaces that part.
//
// Nothing is deleted: entries that leave the window stay in the store, and a compaction
// can be taken back. It is decided here and committed elsewhere: by internal/turn within
// a turn, by internal/worker when a person asks for it.
//
// A conversation is divided into units, whole turns or single messages; units are never
// split, so that every tool call keeps its result. Units that a turn still has to answer
// are never archived, nor pinned ones and those with a call that waits. A full compaction
// archives all others. A rolling one archives the oldest until the rest fits; one that a
// person asks for archives first what the model names in the light of goals and todos.
// Within a turn the rounds of the turn are units, too.
//
// Read first: [Compactor], [Plan], [DivideUnits]. How it fails: an error means that
// nothing was decided and nothing may be committed; the conversation is unchanged. It
// owns no goroutine.
package compaction
