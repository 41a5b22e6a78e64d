// Package compaction decides how a conversation that has grown too long is
// made shorter: which of it leaves the window, and what summary stands in for
// that.
//
// Nothing is deleted: what leaves the window stays in the store, and a
// compaction can be taken back. It is decided here and committed elsewhere: in
// a turn by internal/turn, by hand in internal/worker.
//
// A conversation is divided into units, whole turns or single messages; units
// are never split, so that every tool call keeps its result. What a turn still
// has to answer is never archived. A full compaction archives all else. A
// rolling one archives a part: what the model names in the light of goals and
// todos, then the oldest, until enough has gone and the rest fits.
//
// Read first: [Compactor], [Plan], [DivideUnits]. How it fails: an error means that
// nothing was decided and nothing may be committed; the conversation is as it
// was. It owns no goroutine.
package compaction
