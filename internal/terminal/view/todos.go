package view

import (
	"encoding/json"
	"fmt"
	"strings"

	"fika/internal/system/term"
)

// todosTool is the tool with which an agent replaces its todos.
const todosTool = "update_todos"

// todo is something that an agent has set out to do.
type todo struct {
	text string
	done bool
}

// todosOf returns the todos that a call writes; ok is false for other calls, and where
// the list did not arrive whole.
func todosOf(c Call) (list []todo, ok bool) {
	var a struct {
		Content *string `json:"content"`
	}
	if c.Tool != todosTool || c.Failed || c.Denied || json.Unmarshal(c.Args, &a) != nil || a.Content == nil {
		return nil, false
	}
	for line := range strings.Lines(*a.Content) {
		if t, ok := parseTodo(strings.TrimSpace(line)); ok {
			list = append(list, t)
		}
	}
	return list, true
}

// parseTodo parses an item of a list, with or without a box.
func parseTodo(line string) (t todo, ok bool) {
	mark, text, _ := strings.Cut(line, " ")
	if mark != "-" && mark != "*" && mark != "+" && strings.Trim(mark, "0123456789") != "." {
		return t, false
	}
	text = strings.TrimSpace(text)
	for _, box := range []string{"[x]", "[X]", "[ ]"} {
		if rest, found := strings.CutPrefix(text, box); found {
			t.done, text = box != "[ ]", strings.TrimSpace(rest)
			break
		}
	}
	t.text = term.CleanLine(text)
	return t, t.text != ""
}

// todosRow returns a list in one row of at most width columns: what is to be done comes
// first if there is no room for all. It is empty if nothing is left to do.
func todosRow(list []todo, style term.Style, width int) string {
	var done, open []string
	all := ""
	for _, t := range list {
		mark := "· " + t.text
		if t.done {
			mark = style.Green("✓ ") + style.Dim(t.text)
			done = append(done, mark)
		} else {
			open = append(open, mark)
		}
		all += "  " + mark
	}
	if len(open) == 0 {
		return ""
	}
	row := "  " + style.Dim("todos") + all
	if term.Width(row) > width {
		row = "  " + style.Dim("todos") + fmt.Sprintf("  %d of %d done  ", len(done), len(list)) + strings.Join(open, "  ")
	}
	return term.Truncate(row, width)
}
