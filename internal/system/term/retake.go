package term

import "strings"

// Retake keeps a streamed answer readable when its call is repeated: what a new attempt
// repeats is not printed twice, and at most one attempt is printed incompletely. The zero
// value is ready for the first attempt.
type Retake struct {
	shown string // what was printed of the attempt that got furthest
	held  string // of this attempt, not printed yet
	again bool   // this attempt is not the first and has not got further yet
}

// Restart discards what has come so far.
func (r *Retake) Restart() { r.again, r.held = true, "" }

// Add takes a piece of the answer and returns what to print of it.
func (r *Retake) Add(piece string) string {
	if !r.again {
		r.shown += piece
		return piece
	}
	r.held += piece
	if len(r.held) <= len(r.shown) {
		return ""
	}
	return r.Flush()
}

// Flush returns what is still to be printed when the answer is complete: its rest if it
// continues what was printed, otherwise all of it.
func (r *Retake) Flush() string {
	if !r.again || r.held == "" {
		return ""
	}
	rest, same := strings.CutPrefix(r.held, r.shown)
	if !same {
		rest = r.held
	}
	r.shown, r.held, r.again = r.held, "", false
	return rest
}
