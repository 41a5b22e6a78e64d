package command

import (
	"fmt"
	"io"
	"time"

	"fika/internal/app"
	"fika/internal/config"
	"fika/internal/term"
)

// Env is what every command gets: the streams, the environment, and an app
// whose parts are made when they are asked for.
type Env struct {
	*term.Streams
	Getenv func(string) string
	Clock  func() time.Time // nil: the usual one
	Opened *app.App
	Home   string // --home
	Typed  string // what a person has typed and no request holds yet

	// Keyboard is In for questions to a person: reading it ends with the command.
	Keyboard io.Reader

	Looks    bool // the command writes nothing
	LastGood bool // the command works with the settings that could be read last, too
}

// New returns what a command gets. Its stdout remembers whether all of the
// answer was written.
func New(s *term.Streams, getenv func(string) string) *Env {
	checked := *s
	checked.Out = term.NewAnswer(s.Out)
	return &Env{Streams: &checked, Getenv: getenv, Keyboard: s.In}
}

// App makes the app of this invocation; flags are known by now.
func (e *Env) App() *app.App {
	if e.Opened == nil {
		e.Opened = app.New(app.Options{Root: e.Home, Getenv: e.Getenv, Now: e.Clock, LastGood: e.LastGood, Looks: e.Looks, Warn: e.Warn})
	}
	return e.Opened
}

// Now is the time by which rows are stamped.
func (e *Env) Now() time.Time { return e.App().Now() }

// Say writes a line for the person.
func (e *Env) Say(format string, args ...any) {
	fmt.Fprintln(e.Err, e.FoldedText(term.CleanStyled(fmt.Sprintf(format, args...))))
}

// Warn writes a warning for the person.
func (e *Env) Warn(text string) {
	fmt.Fprintln(e.Err, e.FoldedText(e.ErrStyle().Yellow("warning:")+" "+term.Clean(config.WithoutSecrets(text))))
}

// FoldedText breaks the lines of a text for a person between words, at the width of
// their terminal; elsewhere they stay as they are.
func (e *Env) FoldedText(text string) string {
	if !e.ErrTTY || e.Width == 0 {
		return text
	}
	return term.FoldLines(text, e.Width)
}

// Renders reports whether what agents say is shown as rendered Markdown.
func (e *Env) Renders(raw bool) bool {
	if raw || !e.OutTTY {
		return false
	}
	conf, err := e.App().Config()
	return err != nil || conf.Terminal.Markdown // a broken config is told of elsewhere
}

// Notifies reports whether the terminal is told what its person would want to know who
// looks elsewhere.
func (e *Env) Notifies() bool {
	conf, err := e.App().Config()
	return err == nil && conf.Terminal.Notify && e.Color
}

// Reopen closes what was opened; what is asked for next is found anew.
func (e *Env) Reopen() {
	if e.Opened != nil {
		_ = e.Opened.Close() // it was only looked at
		e.Opened = nil
	}
}
