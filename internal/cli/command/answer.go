package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/service"
	"fika/internal/system/term"
)

// This file is the only one that writes to stdout: every command passes its answer
// to one of these functions. A failed write is reported when the command ends,
// whether or not the command has checked the error.

// Print writes text unchanged. The caller must have cleaned text that others wrote.
func (e *Env) Print(text string) error {
	_, err := io.WriteString(e.Out, text)
	return err
}

// Printf writes formatted text.
func (e *Env) Printf(format string, args ...any) error {
	_, err := fmt.Fprintf(e.Out, format, args...)
	return err
}

// Println writes one value and a newline.
func (e *Env) Println(v any) error {
	_, err := fmt.Fprintln(e.Out, v)
	return err
}

// Terminal returns what a program that the command starts writes to: the terminal itself
// if there is one, as a shell wants it.
func (e *Env) Terminal() (out, errs io.Writer) {
	if e.OutTTY {
		return os.Stdout, os.Stderr
	}
	return e.Out, e.Err
}

// Wire returns what a command writes to that speaks a protocol on stdout: nothing else may
// write there meanwhile, and the protocol sees failed writes.
func (e *Env) Wire() io.Writer { return e.Out }

// PrintJSON writes one value as indented JSON.
func (e *Env) PrintJSON(v any) error {
	enc := json.NewEncoder(e.Out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// PrintLine writes one value as one line of JSON.
func (e *Env) PrintLine(v any) error {
	line, err := PlainJSON(v)
	if err != nil {
		return err
	}
	_, err = e.Out.Write(append(line, '\n'))
	return err
}

// PrintLines writes a list as JSON Lines, many of them at once.
func PrintLines[T, J any](e *Env, list []T, to func(T) J) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, x := range list {
		if err := enc.Encode(to(x)); err != nil {
			return err
		}
		if b.Len() >= 64<<10 {
			if _, err := b.WriteTo(e.Out); err != nil {
				return err
			}
		}
	}
	_, err := b.WriteTo(e.Out)
	return err
}

// AnswerText writes the text of an answer and a newline, cleaned of terminal
// escapes unless raw says that the person wants them.
func (e *Env) AnswerText(text string, raw bool) error {
	if !raw {
		text = term.Clean(text)
	}
	return e.Println(text)
}

// CleanOut returns the writer for a stream of text that others wrote. Unless raw,
// the text is cleaned of terminal escapes, not only on a terminal: what is piped
// often ends up on one.
func (e *Env) CleanOut(raw bool) io.Writer {
	if raw {
		return e.Out
	}
	return term.NewCleaner(e.Out)
}

// Display returns the writer on which an agent's process shows its work. Nobody
// waits for that, so a failed write to it does not make the command fail.
func (e *Env) Display() *term.Cleaner {
	if a, ok := e.Out.(*term.Answer); ok {
		return term.NewCleaner(a.Unwrap())
	}
	return term.NewCleaner(e.Out)
}

// lostAnswer is the error for an answer that could not be written. Its kind is
// Failed.
type lostAnswer struct {
	cause error
	kept  string // where the answer still is, and how to get it; may be empty
}

// Error returns why the answer is lost, and what to do.
func (l *lostAnswer) Error() string {
	cause := l.cause
	var path *fs.PathError
	if errors.As(cause, &path) {
		cause = path.Err
	}
	msg := "the answer could not be written to stdout: " + cause.Error()
	if l.kept != "" {
		msg += "; " + l.kept
	}
	return msg
}

// Unwrap returns the cause.
func (l *lostAnswer) Unwrap() error { return l.cause }

// CheckWritten returns a lostAnswer if a write to stdout has failed. kept says
// where the answer still is.
func (e *Env) CheckWritten(kept string) error {
	if a, ok := e.Out.(*term.Answer); ok && a.Err() != nil {
		return &lostAnswer{a.Err(), kept}
	}
	return nil
}

// ReaderGone reports whether nobody can read stdout any more.
func (e *Env) ReaderGone() bool {
	a, ok := e.Out.(*term.Answer)
	return ok && a.ReaderGone()
}

// CheckAnswered adds a failure to write the answer to the outcome of a command. A
// command that did everything else has failed then; one that failed anyway keeps
// its own status.
func (e *Env) CheckAnswered(err error) error {
	lost := e.CheckWritten("")
	var told *lostAnswer
	var quiet Silent
	switch {
	case lost == nil || errors.As(err, &told):
		return err
	case err == nil || errors.As(err, &quiet) || errors.Is(err, errors.Unwrap(lost)):
		return lost
	}
	e.Complain(lost)
	return err
}

// RawFlag adds --raw, for text as the model wrote it.
func RawFlag(c *cobra.Command, raw *bool) {
	c.Flags().BoolVar(raw, "raw", false, "print the text as written: not rendered on a terminal, and with its terminal escapes")
}

// TableRows makes the rows of a table.
func TableRows[T any](list []T, row func(T) []string) [][]string {
	out := make([][]string, 0, len(list))
	for _, x := range list {
		out = append(out, row(x))
	}
	return out
}

// WithHosts adds a column with the host of the agent of each row, at a position, if there
// are several hosts.
func WithHosts[T any](where service.Where, at int, headers []string, list []T, agent func(T) fika.AgentName, row func(T) []string) ([]string, [][]string) {
	if where == nil {
		return headers, TableRows(list, row)
	}
	return slices.Insert(slices.Clone(headers), at, "HOST"), TableRows(list, func(x T) []string {
		return slices.Insert(row(x), at, OrDash(where[agent(x)]))
	})
}

// Nullable is a string that is null in JSON when it is empty.
type Nullable string

// MarshalJSON implements json.Marshaler.
func (n Nullable) MarshalJSON() ([]byte, error) {
	if n == "" {
		return []byte("null"), nil
	}
	return PlainJSON(string(n))
}

// EmptyIfNil returns list, or an empty one if it is nil: JSON then has [], not null.
func EmptyIfNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Optional returns a pointer to v, or nil if v is its zero value: JSON keys without
// a value are null, never absent.
func Optional[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// PlainJSON encodes a value without the escapes that only HTML needs.
func PlainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}

// PrintText writes text that others wrote, cleaned, without empty lines at its end.
func (e *Env) PrintText(text string) error {
	return e.AnswerText(strings.TrimRight(text, "\n"), false)
}
