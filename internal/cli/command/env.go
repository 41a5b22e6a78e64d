package command

import (
	"fmt"
	"io"
	"time"

	"fika/internal/api"
	"fika/internal/app"
	"fika/internal/settings/config"
	"fika/internal/system/term"
	"fika/internal/text/words"
)

// Env is what every command is given: the streams, the environment, and an app
// whose parts are made when they are needed.
type Env struct {
	*term.Streams
	Getenv func(string) string
	Clock  func() time.Time // nil: the real one
	Opened *app.App
	Home   string // --home
	Typed  string // what a person has typed and no request holds yet
	again  string // the command that takes it
	Key    string // --key: see [api.Write]
	Quiet  bool   // --quiet
	Dir    string // where the command works; empty: the shell's working folder

	Version string // of the program

	// Keyboard is In for questions to a person: reading from it ends with the command.
	Keyboard io.Reader

	Looks    bool // the command writes nothing
	LastGood bool // if the settings cannot be read, the command uses the last ones that could be

	principal api.Principal // nobody until [Env.Principal] finds out
}

// New makes the Env of a command. Its stdout remembers whether a write to it has
// failed.
func New(s *term.Streams, getenv func(string) string) *Env {
	checked := *s
	checked.Out = term.NewAnswer(s.Out)
	return &Env{Streams: &checked, Getenv: getenv, Keyboard: s.In}
}

// App returns the app of this invocation, made on the first call, after flag parsing.
func (e *Env) App() *app.App {
	if e.Opened == nil {
		e.Opened = app.New(app.Options{Root: e.Home, Dir: e.Dir, Getenv: e.Getenv, Now: e.Clock, LastGood: e.LastGood, Looks: e.Looks, Warn: e.Warn})
	}
	return e.Opened
}

// Now returns the time that goes into rows.
func (e *Env) Now() time.Time { return e.App().Now() }

// Say writes a message for the person to stderr, unless they want none (--quiet).
func (e *Env) Say(format string, args ...any) {
	if e.Quiet {
		return
	}
	fmt.Fprintln(e.Err, e.FoldedText(term.CleanStyled(fmt.Sprintf(format, args...))))
}

// Warn writes a warning for the person to stderr.
func (e *Env) Warn(text string) {
	fmt.Fprintln(e.Err, e.FoldedText(e.ErrStyle().Yellow("warning:")+" "+term.Clean(config.WithoutSecrets(text))))
}

// Words returns the sentence for a status.
func (e *Env) Words(s api.Status) string { return words.Say(s, e.Now()) }

// WarnStatus is [Env.Warn] for a status.
func (e *Env) WarnStatus(s api.Status) { e.Warn(e.Words(s)) }

// FoldedText breaks the lines of a text between words at the width of the person's
// terminal; without a terminal it returns the text unchanged.
func (e *Env) FoldedText(text string) string {
	if !e.ErrTTY || e.Width == 0 {
		return text
	}
	return term.FoldLines(text, e.Width)
}

// Renders reports whether the words of agents are shown as rendered Markdown.
func (e *Env) Renders(raw bool) bool {
	if raw || !e.OutTTY {
		return false
	}
	conf, err := e.App().Config()
	return err != nil || conf.Terminal.Markdown // a broken config is reported elsewhere
}

// Notifies reports whether the terminal is told what a person who looks elsewhere would
// want to know.
func (e *Env) Notifies() bool {
	conf, err := e.App().Config()
	return err == nil && conf.Terminal.Notify && e.Color
}

// Reopen closes the app; the next call of [Env.App] makes a new one.
func (e *Env) Reopen() {
	if e.Opened != nil {
		_ = e.Opened.Close() // it was only used for reading
		e.Opened = nil
	}
}
