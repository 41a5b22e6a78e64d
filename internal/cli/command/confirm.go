package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"fika"
)

// Confirm asks on a terminal (default: no; then Interrupted), else fails with Invalid.
func (e *Env) Confirm(what string) error {
	if !e.InTTY {
		return UsageError("not a terminal: use --yes to %s", what)
	}
	fmt.Fprint(e.Err, e.FoldedText(what+"? [y/N]")+" ")
	var answer string
	if _, err := fmt.Fscanln(e.Keyboard, &answer); errors.Is(err, context.Canceled) {
		fmt.Fprintln(e.Err) // what follows begins on a line of its own
	}
	if a := strings.ToLower(answer); a != "y" && a != "yes" {
		return fika.Errorf(fika.Interrupted, "", "nothing was done")
	}
	return nil
}
