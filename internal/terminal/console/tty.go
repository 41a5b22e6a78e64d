package console

import (
	"os"
	"os/signal"
	"syscall"

	xterm "golang.org/x/term"

	"fika"
	"fika/internal/system/term"
)

// tty is the terminal: its mode and its size.
type tty struct {
	in, out *os.File
	width   int // if the terminal does not tell
	before  *xterm.State
}

// openTTY switches the terminal to raw mode; it returns nil if the streams are not a
// terminal that can be drawn on.
func openTTY(s *term.Streams) (*tty, error) {
	in, okIn := file(s.In)
	out, okOut := file(s.Out)
	if !s.InTTY || !s.OutTTY || !okIn || !okOut || s.Plain {
		return nil, nil
	}
	t := &tty{in: in, out: out, width: s.Width}
	before, err := xterm.GetState(int(in.Fd()))
	if err != nil {
		return nil, fika.Wrap(fika.Failed, "open console", err)
	}
	t.before = before
	return t, t.raw()
}

// raw switches to raw mode. restore always returns to the mode found by openTTY, so that
// calling raw after a suspension does not save the shell's mode.
func (t *tty) raw() error {
	_, err := xterm.MakeRaw(int(t.in.Fd()))
	return fika.Wrap(fika.Failed, "set the terminal", err)
}

func (t *tty) restore() error { return xterm.Restore(int(t.in.Fd()), t.before) }

// size returns the current columns and rows.
func (t *tty) size() (width, height int) {
	width, height, err := xterm.GetSize(int(t.out.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		return max(t.width, term.DefaultWidth), 24
	}
	return width, height
}

func terminalSignals() []os.Signal { return []os.Signal{syscall.SIGWINCH, syscall.SIGCONT} }

func isContinue(s os.Signal) bool { return s == syscall.SIGCONT }

// stopSelf stops the whole job, as the terminal would on ctrl-z.
func stopSelf() { _ = syscall.Kill(0, syscall.SIGTSTP) }

// quitSelf ends the process with a dump of its goroutines.
func quitSelf() {
	signal.Reset(syscall.SIGQUIT)
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGQUIT)
}
