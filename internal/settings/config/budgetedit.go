package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"

	"fika"
	"fika/internal/settings/toml"
	"fika/internal/text/hint"
)

// SetBudget writes a budget into a file of settings, in place of one with the same
// scope and per, or removes that one. Every other line stays as it is. Error kinds:
// Invalid for a file that is not valid or cannot be edited safely, NotFound if the
// budget to be removed does not exist, Storage.
func SetBudget(path string, b Budget, remove bool) error {
	const op = "set budget"
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	data, _, err := readFile(path)
	if err != nil {
		return err
	}
	lines := strings.SplitAfter(string(data), "\n")
	begin, end, err := budgetBlock(path, data, lines, b)
	if err != nil {
		return err
	}
	var changed string
	switch {
	case begin < 0 && remove:
		return fika.WithHint(fika.Errorf(fika.NotFound, op, "budget of %s per %s not found", toml.Quote(b.Scope), b.Per), hint.BudgetList)
	case begin < 0:
		changed = strings.TrimRight(string(data), "\n")
		if changed != "" {
			changed += "\n\n"
		}
		changed += fmt.Sprintf("[[budgets]]\nscope = %s\nper = %s\n", toml.Quote(b.Scope), toml.Quote(b.Per)) + b.limitLines()
	case remove:
		changed = strings.Join(lines[:begin], "") + strings.Join(lines[end:], "")
	default:
		changed = strings.Join(lines[:begin], "") + strings.Join(withLimits(lines[begin:end], b), "") + strings.Join(lines[end:], "")
	}
	if check := toml.Read(path, []byte(changed), &Problems{}); check.Broken {
		return fika.Errorf(fika.Invalid, op, "%s: there is no safe place for the budget; write it by hand", path)
	}
	mode := os.FileMode(0o600)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	return fika.Wrap(fika.Storage, op, renameio.WriteFile(path, []byte(changed), mode))
}

// limitLines returns the lines of the keys that set the amounts.
func (b Budget) limitLines() string {
	text := ""
	if b.Money > 0 {
		text += "money = " + encodeValue(&b.Money) + "\n"
	}
	if b.Tokens > 0 {
		text += "tokens = " + encodeValue(&b.Tokens) + "\n"
	}
	return text
}

// budgetBlock returns the lines of a budget, from its header to the next one; begin is
// negative if there is none.
func budgetBlock(path string, data []byte, lines []string, b Budget) (begin, end int, err error) {
	s := toml.Read(path, data, &Problems{})
	if s.Broken {
		return 0, 0, fika.Errorf(fika.Invalid, "set budget", "fix the file by hand first: %s", s.Problems)
	}
	e := s.Root.Get("budgets")
	if e == nil {
		return -1, -1, nil
	}
	n := 0 // index of the budget among all
	for _, item := range e.Value.Items {
		if item.Kind == toml.KindTable && textOf(item.Table.Get("scope")) == b.Scope && textOf(item.Table.Get("per")) == b.Per {
			break
		}
		n++
	}
	if n == len(e.Value.Items) {
		return -1, -1, nil
	}
	begin = -1
	for i, line := range lines {
		text := strings.TrimSpace(line)
		if header := strings.HasPrefix(text, "["); !header {
			continue
		}
		if begin >= 0 {
			return begin, i, nil
		}
		if strings.HasPrefix(strings.ReplaceAll(text, " ", ""), "[[budgets]]") {
			if n == 0 {
				begin = i
			}
			n--
		}
	}
	if begin < 0 {
		return 0, 0, fika.Errorf(fika.Invalid, "set budget", "%s: budgets are not written as [[budgets]] there; change them by hand", path)
	}
	return begin, len(lines), nil
}

// withLimits puts the limits of a budget into its lines.
func withLimits(block []string, b Budget) []string {
	var out []string
	last := 0 // after the last key
	for _, line := range block {
		key, _, found := strings.Cut(line, "=")
		key = strings.TrimSpace(key)
		if found && (key == "money" || key == "tokens") {
			continue
		}
		out = append(out, line)
		if found && !strings.HasPrefix(key, "#") || len(out) == 1 {
			last = len(out)
		}
	}
	if !strings.HasSuffix(out[last-1], "\n") {
		out[last-1] += "\n"
	}
	return append(append(append([]string{}, out[:last]...), b.limitLines()), out[last:]...)
}
