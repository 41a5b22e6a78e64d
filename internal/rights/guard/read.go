package guard

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// Read fills in what the arguments of a tool name: a command, files, a host. Arguments
// that cannot be parsed name nothing.
func (c *Call) Read(args []byte) {
	var all map[string]any
	if json.Unmarshal(args, &all) != nil {
		return
	}
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		text, ok := all[name].(string)
		if !ok {
			continue
		}
		switch strings.ToLower(name) {
		case "command":
			if c.Tool == "bash" {
				c.Command = text
			}
		case "hosts":
			if c.Tool == "bash" {
				c.Reach = strings.FieldsFunc(text, func(r rune) bool { return r <= ' ' || r == ',' })
			}
		case "path", "file", "filename", "file_path", "dir", "folder":
			c.Paths = append(c.Paths, text)
		case "url":
			if u, err := url.Parse(text); err == nil {
				c.Host = u.Hostname()
			}
		}
	}
}

// Files lists the words of a call that may name files it depends on: scripts that a
// command runs, files that it reads, files that a tool opens.
func (c Call) Files() []string {
	var out []string
	add := func(list []Word) {
		for _, w := range list {
			if w.Known && w.Text != "" && !slices.Contains(out, w.Text) {
				out = append(out, w.Text)
			}
		}
	}
	script := readScript(c.Command, c.Workspace)
	for _, cmd := range script.commands {
		add(cmd.Words)
	}
	add(script.targets)
	add(c.known())
	return out
}

// AllowingRule returns the shortest rule that allows the part of a call that a decision
// is about and wins over the rule behind it. It returns false if there is none: that
// rule has to be changed, what runs cannot be known, or the call opens a protected file,
// which only a yes can do.
func (d Decision) AllowingRule(c Call) (Rule, bool) {
	if len(d.Opens) > 0 {
		return Rule{}, false
	}
	r := Rule{Tool: c.Tool, Do: Allow}
	least := 0
	if d.Rule != nil {
		least = d.Rule.literals() + 1
	}
	switch {
	case d.Rule != nil && d.Rule.Path != "":
		r.Path = d.What
	case strings.HasPrefix(d.What, writeMark):
		r.Path = strings.TrimPrefix(d.What, writeMark)
		return r, slices.Contains(readScript(c.Command, c.Workspace).writes, Word{r.Path, true}) && !strings.ContainsAny(r.Path, "*?[\\")
	case c.Host != "" && d.What == c.Host:
		r.Host = c.Host
	case c.Command != "":
		return d.allowingWords(c)
	}
	return r, r.literals() >= least
}

// maxRuleWords bounds the rules that are proposed: nobody would read a longer one.
const maxRuleWords = 64

// allowingWords returns the shortest rule by words that allows the command that a
// decision is about.
func (d Decision) allowingWords(c Call) (Rule, bool) {
	rules := make([]Rule, 1, 2)
	if d.Rule != nil {
		rules = append(rules, *d.Rule)
	}
	for _, cmd := range readScript(c.Command, c.Workspace).commands {
		if cmd.Partial || cmd.String() != d.What {
			continue
		}
		nameable := slices.IndexFunc(cmd.Words, func(w Word) bool {
			return !w.Known || w.Text == "" || strings.Contains(w.Text, "*") || strings.ContainsFunc(w.Text, unicode.IsSpace)
		})
		if nameable < 0 {
			nameable = len(cmd.Words)
		}
		for n := max(1, cmd.Named, min(2, nameable)); n <= min(nameable, maxRuleWords); n++ {
			rules[0] = Rule{Tool: c.Tool, Do: Allow, Match: SimpleCommand{Words: cmd.Words[:n]}.String()}
			if n < len(cmd.Words) {
				rules[0].Match += " *"
			}
			if got, _ := judgeCommand(cmd, rules, Facts{Default: Ask}); got.Do == Allow && rules[0].Check() == nil {
				return rules[0], true
			}
		}
	}
	return Rule{}, false
}
