package command

import (
	"errors"
	"time"

	"fika"
	"fika/internal/settings/folder"
	"fika/internal/system/term"
)

// HeldHint adds to the error of a context in use its age, and how to wait.
func HeldHint(err error) error {
	var held *folder.HeldError
	if !errors.As(err, &held) || held.Stale {
		return err
	}
	age := ""
	if !held.Info.Since.IsZero() {
		age = " (" + term.Duration(time.Since(held.Info.Since)) + ")"
	}
	return fika.Errorf(fika.Locked, "", "%v%s; --wait 1m waits for it", held, age)
}
