package term

import "strings"

// Retake keeps a streamed answer readable when its call is made again: what a
// new attempt repeats is not printed twice, and no more than one attempt is
// printed half. The zero value is ready for the first attempt.
type Retake struct {
	shown string // what was printed of the attempt that went furthest
	held  string // of this attempt, not printed yet
	again bool   // this attempt is not the first and has not gone further yet
}

// Restart says that what came so far is void.
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

// Flush returns what is still to be printed when the answer is complete: its
// rest where it continues what was printed, all of it where it differs.
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
