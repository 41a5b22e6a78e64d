package service

import (
	"fmt"
	"strconv"
	"strings"

	"fika"
)

// item is an item of a checklist while it is read.
type item struct {
	NewTask
	indent int
	line   int
	done   bool
	below  int // its place in the list of tasks; -1: it is done
}

// ParseChecklist reads the open items of a Markdown checklist, as in "- [ ] title". A task
// needs the open items that are indented below it; other text that is indented below it is
// its body, except for lines that begin with needs:, agent:, capability:, check:, review: or priority:. It
// returns Invalid, with the line, for what it cannot read.
func ParseChecklist(text string) ([]NewTask, error) {
	var list []NewTask
	var open []*item // the item of the present line, and those that it is below
	fenced := false
	keep := func(it *item) { // nothing more is below it
		if !it.done {
			it.Body = strings.Trim(it.Body, "\n")
			list[it.below] = it.NewTask
		}
	}
	n := 0
	for raw := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		n++
		line := strings.ReplaceAll(raw, "\t", "    ")
		words := strings.TrimLeft(line, " ")
		indent := len(line) - len(words)
		for !fenced && words != "" && len(open) > 0 && open[len(open)-1].indent >= indent {
			keep(open[len(open)-1])
			open = open[:len(open)-1]
		}
		if strings.HasPrefix(words, "```") && len(open) > 0 {
			fenced = !fenced
		}
		title, done, is := checkbox(words)
		switch {
		case is && !fenced:
			it := &item{NewTask: NewTask{Title: title, Priority: fika.DefaultPriority}, indent: indent, line: n, done: done, below: -1}
			if title == "" {
				return nil, fika.Errorf(fika.Invalid, "", "line %d: an item without a title", n)
			}
			if !done {
				it.below = len(list)
				list = append(list, it.NewTask)
				if k := len(open); k > 0 && !open[k-1].done {
					open[k-1].Needs = append(open[k-1].Needs, title)
				}
			}
			open = append(open, it)
		case len(open) > 0:
			if err := open[len(open)-1].add(line, words, fenced); err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
		}
	}
	for _, it := range open {
		keep(it)
	}
	if len(list) == 0 {
		return nil, fika.Errorf(fika.Invalid, "", "there is no open item: a line such as \"- [ ] title\"")
	}
	return list, nil
}

// checkbox returns the title of an item of a checklist.
func checkbox(line string) (title string, done, is bool) {
	for _, mark := range []string{"- [", "* [", "+ ["} {
		rest, ok := strings.CutPrefix(line, mark)
		if !ok || len(rest) < 2 || rest[1] != ']' || !strings.ContainsRune(" xX", rune(rest[0])) {
			continue
		}
		return strings.TrimSpace(rest[2:]), rest[0] != ' ', true
	}
	return "", false, false
}

// add takes in a line that is below an item.
func (it *item) add(line, words string, fenced bool) error {
	key, value, _ := strings.Cut(words, ":")
	value = strings.TrimSpace(value)
	switch {
	case fenced || value == "":
	case key == "needs":
		for need := range strings.SplitSeq(value, ",") {
			it.Needs = append(it.Needs, strings.TrimSpace(need))
		}
		return nil
	case key == "agent":
		it.Agent = value
		return nil
	case key == "capability":
		it.Capability = value
		return nil
	case key == "check":
		it.Check = value
		return nil
	case key == "review":
		it.Review = value
		return nil
	case key == "priority":
		p, err := strconv.Atoi(value)
		if err != nil {
			return fika.Errorf(fika.Invalid, "", "a priority is a number from %d to %d, not %.40q", fika.MinPriority, fika.MaxPriority, value)
		}
		it.Priority = p
		return nil
	}
	cut := min(it.indent+2, len(line)-len(words)) // the indentation of the body itself
	it.Body += line[cut:] + "\n"
	return nil
}
