package changes

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fika"
	"fika/internal/repository/undo"
	"fika/internal/service"
	"fika/internal/system/term"
	"fika/internal/text/diff"
)

// Source finds changes and undoes them.
type Source interface {
	// Newest returns the last request in scope that changed something.
	Newest(context.Context) (service.Undoing, error)
	Find(ctx context.Context, id string) (service.Undoing, error)
	Apply(context.Context, fika.RequestID) (service.Undoing, error)
	Differences(service.Undoing) []service.FileDifference
}

// Look says how to show things.
type Look struct {
	Style term.Style
	Width int // of the terminal; 0: there is none
	Now   time.Time
}

// Undo carries out /undo [REQUEST]: it undoes the changes of that request, or of the
// last one, or redoes them if they were undone before. It returns the lines to show.
func Undo(ctx context.Context, s Source, words []string, l Look) ([]string, error) {
	x, err := choose(ctx, s, "/undo", words)
	if err != nil {
		return nil, err
	}
	newer := x.Newer
	if NothingToDo(x) {
		return PlanLines(x, l), NothingError(x)
	}
	if x, err = s.Apply(ctx, x.Turn.Request); err != nil {
		return nil, err
	}
	x.Newer = newer
	return append(OutcomeLines(x, l), l.Style.Dim("— /undo "+ShortID(x.Turn.Request)+" again to redo; agents are not notified")), nil
}

// Diff carries out /diff [REQUEST]: it shows what the request changed in its files.
func Diff(ctx context.Context, s Source, words []string, l Look) ([]string, error) {
	x, err := choose(ctx, s, "/diff", words)
	if err != nil {
		return nil, err
	}
	out := []string{l.Style.Dim("— " + Title(x, l.Now))}
	out = append(out, Differences(s.Differences(x), l)...)
	return append(out, l.commands(x)...), nil
}

func choose(ctx context.Context, s Source, command string, words []string) (service.Undoing, error) {
	switch len(words) {
	case 0:
		return s.Newest(ctx)
	case 1:
		return s.Find(ctx, words[0])
	}
	return service.Undoing{}, fika.Errorf(fika.Invalid, "", "%s takes a request, or nothing for the last one", command)
}

// ShortID returns enough of a request's id to name it: the millisecond in which it was
// made.
func ShortID(id fika.RequestID) string { return string(id[:min(13, len(id))]) }

// Title names the changes of a request in one line.
func Title(x service.Undoing, now time.Time) string {
	t := x.Turn
	title := fmt.Sprintf("%s, what @%s changed %s", ShortID(t.Request), t.Agent, term.Ago(t.LastChange(), now))
	if prompt := term.CleanLine(x.Info.Payload.Prompt); prompt != "" {
		title += " (" + term.Truncate(prompt, 60) + ")"
	}
	return title
}

// NothingToDo reports whether there is nothing to undo, redo or resume in a request's
// changes.
func NothingToDo(x service.Undoing) bool { return !x.Open() && !x.Again }

// NothingError returns the error of an undo that would do nothing.
func NothingError(x service.Undoing) error {
	if x.Redo {
		return fika.Errorf(fika.Conflict, "", "nothing of %s can be made again", ShortID(x.Turn.Request))
	}
	return fika.Errorf(fika.Conflict, "", "nothing of %s can be undone", ShortID(x.Turn.Request))
}

// LeftError returns the error of an undo that left files as they are, or nil if it
// left none.
func LeftError(x service.Undoing) error {
	var paths []string
	for _, i := range x.ItemsLeft() {
		paths = append(paths, i.Path)
	}
	if len(paths) == 0 {
		return nil
	}
	noun, verb := "files", "were"
	if len(paths) == 1 {
		noun, verb = "file", "was"
	}
	return fika.Errorf(fika.Conflict, "", "%d %s %s left: %s", len(paths), noun, verb, strings.Join(paths, ", "))
}

// PlanLines says what would happen to each file.
func PlanLines(x service.Undoing, l Look) []string {
	verb := "undo"
	if x.Redo {
		verb = "make again"
	}
	if x.Again {
		verb = "go on: " + verb
	}
	words := map[undo.Action]string{undo.Restore: "restore", undo.Create: "create", undo.Delete: "delete", undo.Done: "done"}
	return l.list(verb+" "+Title(x, l.Now)+":", x, words, "leave")
}

// OutcomeLines says what happened to each file.
func OutcomeLines(x service.Undoing, l Look) []string {
	verb := "undone"
	if x.Redo {
		verb = "made again"
	}
	words := map[undo.Action]string{undo.Restore: "restored", undo.Create: "created", undo.Delete: "deleted", undo.Done: "done"}
	return l.list(verb+": "+Title(x, l.Now), x, words, "left")
}

func (l Look) list(title string, x service.Undoing, words map[undo.Action]string, left string) []string {
	out := []string{l.cut(title)}
	for _, i := range x.Items {
		word, note := words[i.Do], i.Why
		if i.Do == undo.Leave {
			word = left
		}
		if note != "" {
			note = ": " + note
		}
		line := fmt.Sprintf("  %-8s %s%s", word, term.CleanLine(i.Path), note)
		if i.Do == undo.Leave {
			line = l.Style.Yellow(line)
		}
		out = append(out, line)
	}
	return append(out, l.commands(x)...)
}

// maxNamed is the most files changed by commands that are listed by name.
const maxNamed = 10

// commands reports what commands did, which cannot be undone.
func (l Look) commands(x service.Undoing) []string {
	var out []string
	for _, t := range append(slices.Clone(x.Newer), x.Turn) {
		ran, changed, notes := t.Commands()
		if !ran {
			continue
		}
		text := "commands ran"
		if t.Request != x.Turn.Request {
			text = fmt.Sprintf("commands ran later (%s)", ShortID(t.Request))
		}
		switch n := len(changed); {
		case n > maxNamed:
			text += fmt.Sprintf(" and changed %s and %d more files", strings.Join(changed[:maxNamed], ", "), n-maxNamed)
		case n > 0:
			text += " and changed " + strings.Join(changed, ", ")
		case len(notes) == 0:
			text += " and changed no other files"
		}
		if len(notes) > 0 {
			text += "; " + strings.Join(notes, "; ")
		}
		if len(changed) > 0 || len(notes) > 0 {
			text += " (that is not undone)"
		}
		out = append(out, l.Style.Yellow(l.wrap("  "+term.CleanLine(text))))
	}
	return out
}

// Differences shows the changes of files, line by line.
func Differences(list []service.FileDifference, l Look) []string {
	var out []string
	for _, d := range list {
		lines := diff.Lines(d.Before, d.After)
		gone, come := 0, 0
		for _, line := range lines {
			switch line[0] {
			case '-':
				gone++
			case '+':
				come++
			}
		}
		note := fmt.Sprintf("−%d +%d", gone, come)
		binary := !diff.IsText(d.Before) || !diff.IsText(d.After)
		if binary {
			note = fmt.Sprintf("no text, %d bytes before, %d now", len(d.Before), len(d.After))
		}
		if d.Note != "" {
			note += ", " + d.Note
		}
		out = append(out, l.Style.Yellow("✎")+" "+term.CleanLine(d.Path)+"  "+l.Style.Dim(note))
		if binary {
			continue
		}
		for _, line := range lines {
			out = append(out, l.line(line))
		}
	}
	return out
}

func (l Look) line(line string) string {
	text := "    " + line[:1] + " " + term.CleanLine(strings.ReplaceAll(line[1:], "\t", "    "))
	switch line[0] {
	case '-':
		return l.Style.Red(text)
	case '+':
		return l.Style.Green(text)
	case '@':
		return l.Style.Dim("    … " + strings.TrimPrefix(line, "@@ "))
	}
	return text
}

// CountFiles returns the number of files in a request's changes, as text.
func CountFiles(x service.Undoing) string { return fmt.Sprint(len(x.Items)) }

// StateText says what can be done with a request's changes.
func StateText(x service.Undoing) string {
	left := len(x.ItemsLeft())
	switch {
	case x.Again:
		return "interrupted"
	case x.Redo:
		return "taken back"
	case left == len(x.Items):
		return "changed since"
	case left > 0:
		return fmt.Sprintf("%d changed since", left)
	}
	return "can be undone"
}

func (l Look) cut(text string) string {
	if l.Width == 0 {
		return text
	}
	return term.Truncate(text, max(20, l.Width-1))
}

func (l Look) wrap(text string) string {
	if l.Width == 0 {
		return text
	}
	return term.Wrap(text, max(20, l.Width-1))
}
