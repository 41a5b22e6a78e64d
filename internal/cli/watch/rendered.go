package watch

import (
	"io"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/service"
	"fika/internal/system/term"
	"fika/internal/terminal/console"
	"fika/internal/terminal/view"
)

// Rendered shows answers on a terminal: Markdown, block by block, with other activity
// on stderr. While it exists, stderr appears above its rows.
type Rendered struct {
	*view.Feed
	env     *command.Env
	before  *term.Streams
	display *console.Display
	Turns   *view.Statuses
}

// Render returns nil if answers are written unchanged: where stdout is not a terminal,
// or because raw or the settings say so.
func Render(e *command.Env, raw bool) *Rendered {
	if !e.Renders(raw) {
		return nil
	}
	r := &Rendered{env: e, before: e.Streams, display: console.NewDisplay(e.Streams)}
	r.Feed = view.NewFeed(r.display, view.Options{
		Style: e.OutStyle(), Links: e.Color, Width: r.display.Width, Notes: r.display.Err(), NoteStyle: e.ErrStyle(),
	})
	with := *e.Streams
	with.Err = afterFeed{r.Feed, r.display.Err()}
	e.Streams = &with
	r.Turns = view.NewStatuses(r.Feed)
	return r
}

// End shows the rest of the answer of a request, as it was committed, and finishes.
func (r *Rendered) End(info service.RequestInfo) {
	if info.State == fika.Done {
		r.Turns.End(string(info.ID), string(info.AgentName), info.Outcome.Answer)
	}
	r.Finish()
}

// Finish shows what is left and gives the terminal back. It may be called again, or on nil.
func (r *Rendered) Finish() {
	if r == nil {
		return
	}
	r.Close()
	_ = r.display.Close() // the command checks at its end that all was written
	r.env.Streams = r.before
}

// afterFeed is stderr: a line on it appears after what was shown before.
type afterFeed struct {
	feed *view.Feed
	io.Writer
}

func (w afterFeed) Write(p []byte) (int, error) {
	w.feed.Flush()
	return w.Writer.Write(p)
}

// Unwrap returns the underlying writer, for code that must know whether it is a
// terminal.
func (w afterFeed) Unwrap() io.Writer { return w.Writer }
