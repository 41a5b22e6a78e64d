package view

import (
	"encoding/json"
	"fmt"
	"strings"

	"fika/internal/bus/message"
	"fika/internal/system/term"
)

// difference is the change that an edit makes in a file.
type difference struct {
	path       string
	gone, come []string // lines
	less, more int      // how many lines follow those of gone and of come, in a call of which only the beginning is known
	every      bool     // wherever it occurs
	full       bool     // show all lines in full
}

// difference returns the change of an edit or of a new file; false for other calls.
func (c Call) difference() (d difference, ok bool) {
	var a struct {
		Path    string                       `json:"path"`
		Old     *string                      `json:"old"`
		New     *string                      `json:"new"`
		Content *string                      `json:"content"`
		All     bool                         `json:"replace_all"`
		Cut     map[string]message.Shortened `json:"$shortened"`
	}
	if c.Tool != "edit" && c.Tool != "create" || json.Unmarshal(c.Args, &a) != nil || a.Path == "" {
		return d, false
	}
	d.path, d.every = a.Path, a.All
	part := func(name, text string) (known []string, more int) {
		known = lines(text)
		return known, max(0, a.Cut[name].Lines-len(known))
	}
	switch {
	case a.Old != nil && a.New != nil:
		d.gone, d.less = part("old", *a.Old)
		d.come, d.more = part("new", *a.New)
		if d.less+d.more == 0 {
			d.gone, d.come = changed(d.gone, d.come)
		}
	case a.Content != nil:
		d.come, d.more = part("content", *a.Content)
	default:
		return d, false
	}
	return d, true
}

func lines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// changed drops the lines that before and after have in common at the beginning and at
// the end.
func changed(before, after []string) (gone, come []string) {
	for len(before) > 0 && len(after) > 0 && before[0] == after[0] {
		before, after = before[1:], after[1:]
	}
	for len(before) > 0 && len(after) > 0 && before[len(before)-1] == after[len(after)-1] {
		before, after = before[:len(before)-1], after[:len(after)-1]
	}
	return before, after
}

// lines returns the file, the numbers of removed and added lines, and the first of
// them.
func (d difference) lines(l Look) []string {
	count := fmt.Sprintf("−%d +%d", len(d.gone)+d.less, len(d.come)+d.more)
	if len(d.gone) == 0 {
		count = fmt.Sprintf("+%d", len(d.come)+d.more)
	}
	if d.every {
		count += " everywhere"
	}
	path := term.Truncate(term.CleanLine(d.path), max(10, l.width()-term.Width(count)-6))
	out := []string{term.Truncate(l.Style.Yellow("✎")+" "+path+"  "+l.Style.Dim(count), max(20, l.width()-1))}
	most := diffLines
	if len(d.gone) == 0 && len(d.come) > most/2 {
		most /= 2 // the beginning of a new file is enough
	}
	if d.full {
		most = 2 * (len(d.gone) + len(d.come))
	}
	gone := d.gone[:min(len(d.gone), max(most/2, most-len(d.come)))]
	come := d.come[:min(len(d.come), most-len(gone))]
	row := func(sign, line string, colour func(string) string) {
		text := indent + sign + " " + term.CleanLine(tabs(line))
		if !d.full {
			text = term.Truncate(text, l.width()-1)
		}
		out = append(out, colour(text))
	}
	for _, line := range gone {
		row("-", line, l.Style.Red)
	}
	for _, line := range come {
		row("+", line, l.Style.Green)
	}
	if more := len(d.gone) + d.less + len(d.come) + d.more - len(gone) - len(come); more > 0 {
		out = append(out, l.Style.Dim(fmt.Sprintf(indent+"… %d more lines", more)))
	}
	return out
}
