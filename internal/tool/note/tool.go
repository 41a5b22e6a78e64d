package note

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"fika"
	"fika/internal/tool"
)

// maxNote bounds todos and goals, in characters, because they are in every prompt.
const maxNote = 100_000

// Options configures [Tools].
type Options struct {
	Store    Store
	Versions *Versions
	// Reflection turns on update_reflection; Limit is the most characters that it
	// accepts.
	Reflection bool
	Limit      int
}

// Tools returns update_todos, update_goals and, if it is on, update_reflection.
func Tools(o Options) []tool.Tool {
	list := []tool.Tool{
		&update{opts: o, note: Todos, limit: maxNote, about: "Replace your todos."},
		&update{opts: o, note: Goals, limit: maxNote, about: "Replace your goals."},
	}
	if o.Reflection {
		list = append(list, &update{opts: o, note: Reflection, limit: o.Limit, about: "Replace your lasting notes."})
	}
	return list
}

// update replaces one note.
type update struct {
	opts  Options
	note  Name
	limit int // characters
	about string
}

const contentOnly = `{"type":"object","properties":{"content":{"type":"string"}},"required":["content"]}`

// Spec implements [tool.Tool].
func (u *update) Spec() tool.Spec {
	return tool.Spec{
		Name: "update_" + string(u.note), Description: u.about, Parameters: json.RawMessage(contentOnly),
		Checked: true, Effect: fika.Idempotent, Always: true,
	}
}

// Call implements [tool.Tool].
func (u *update) Call(_ context.Context, c tool.Call) (tool.Result, error) {
	var args struct{ Content string }
	if err := tool.Decode(u.Spec(), c, &args); err != nil {
		return tool.Refusal(err), nil
	}
	if n := utf8.RuneCountInString(args.Content); n > u.limit {
		return tool.Errorf(fmt.Sprintf("not written: %d characters, and the %s may have %d. Shorten it by at least %d and send the whole text again.", n, u.note, u.limit, n-u.limit)), nil
	}
	if args.Content != "" && !strings.HasSuffix(args.Content, "\n") {
		args.Content += "\n"
	}
	now, v, err := u.opts.Store.Write(u.note, u.opts.Versions.last(c.Request, u.note), args.Content)
	switch {
	case fika.IsKind(err, fika.Conflict):
		u.opts.Versions.MarkSeen(c.Request, u.note, v)
		return tool.Errorf("not written: somebody changed the " + string(u.note) + " since you saw them. Now they say:\n\n" + orNothing(now) +
			"\n\nKeep what was changed and send the whole text again."), nil
	case err != nil:
		return tool.Errorf("not written: " + err.Error()), nil
	}
	u.opts.Versions.MarkSeen(c.Request, u.note, v)
	return tool.Result{Text: "Written.", File: string(u.note) + ".md"}, nil
}

func orNothing(text string) string {
	if strings.TrimSpace(text) == "" {
		return "(nothing)"
	}
	return strings.TrimRight(text, "\n")
}
