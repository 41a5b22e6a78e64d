package console

import (
	"context"
	"strings"

	"fika/internal/system/term"
)

// editOutside has the line changed by another program, which has the terminal meanwhile.
func (a *actor) editOutside() {
	if a.opts.Edit == nil || a.ask.armed() {
		return
	}
	before := a.edit.text // only this goroutine changes it
	a.in.Cancel()
	for range a.chunks { // until nobody reads any more
	}
	a.giveBack()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	a.wg.Go(func() {
		defer close(ended)
		select {
		case <-a.quit:
			stop()
		case <-ctx.Done():
		}
	})
	text, err := a.opts.Edit(ctx, plain(before))
	stop()
	<-ended
	if !a.readAgain() {
		return
	}
	a.mu.Lock()
	a.menu.clear()
	a.hint = ""
	if err != nil {
		a.hint = oneRow("not edited: " + err.Error())
	} else if text = typed(strings.TrimRight(text, "\n")); text != plain(before) {
		a.edit.set(chipsAgain(text, decode(before)))
	}
	a.mu.Unlock()
	a.resume()
}

// readAgain reads from the terminal again; false: the console is closed, or the terminal is
// gone.
func (a *actor) readAgain() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	select {
	case <-a.quit:
		return false
	default:
	}
	in, err := openInput(a.opts.Streams.In)
	if err != nil {
		a.end(err)
		return false
	}
	_ = a.in.Close() // what it returns is of no use to anybody
	a.in, a.chunks = in, a.startReading(in)
	return true
}

// chipsAgain turns those words of a changed text back into chips that were chips in the line
// before, in their order.
func chipsAgain(text string, before Line) string {
	var b strings.Builder
	for _, c := range before.Chips {
		chip := before.Text[c.From:c.To]
		head, tail, found := strings.Cut(text, chip)
		if !found {
			continue
		}
		b.WriteString(head)
		b.WriteString(asChip(term.CleanLine(chip)))
		text = tail
	}
	return b.String() + text
}
