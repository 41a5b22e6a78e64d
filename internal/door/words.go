package door

import (
	"errors"
	"fmt"

	"fika/internal/api"
)

// Words returns the sentence for a status, as people read it.
type Words func(api.Status) string

// Error returns an error of the service as text for the program, or the person, at a door
// of this machine.
func (w Words) Error(err error) string {
	var e *api.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	text := e.Detail
	if !e.Why.IsClear() && w != nil {
		text = w(e.Why)
	}
	switch {
	case text == "":
		return string(e.Code)
	case e.Code == api.Internal:
		return text
	}
	return fmt.Sprintf("%s: %s", e.Code, text)
}

// Ended reports whether a request has ended.
func Ended(r api.RequestInfo) bool { return !r.Ended.IsZero() }
