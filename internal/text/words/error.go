package words

import (
	"time"

	"fika"
	"fika/internal/api"
)

// Reason is the cause of an error as a status. Its text is the sentence for that, without
// what helps.
type Reason struct{ Status api.Status }

// Error returns the sentence for the status.
func (r Reason) Error() string {
	r.Status.Help = nil
	return Say(r.Status, time.Now())
}

// Error returns an error of a kind and an operation, which may be empty, whose cause is a
// [Reason], with the command that helps against it.
func Error(kind fika.Kind, op string, why api.Status) error {
	return &fika.Error{Kind: kind, Op: op, Err: Reason{why}, Hint: Command(why)}
}
