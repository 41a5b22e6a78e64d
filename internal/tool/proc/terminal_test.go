package proc

import (
	"context"
	"testing"
	"time"

	"github.com/creack/pty"
)

// A process that does not read its input ends all the same, though nobody
// types anything at the terminal that gives it.
func TestATerminalAsInputHoldsNothingUp(t *testing.T) {
	person, tty, err := pty.Open()
	if err != nil {
		t.Skip(err)
	}
	defer person.Close()
	defer tty.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := Run(ctx, Cmd{Path: "/bin/sh", Args: []string{"-c", "echo hi"}, Dir: t.TempDir(), Stdin: tty})
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-ctx.Done():
		t.Error("it waits for the terminal")
	}
}
