package guard

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
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
	for _, cmd := range SimpleCommands(c.Command) {
		add(cmd.Words)
	}
	add(RedirectTargets(c.Command))
	add(c.known())
	return out
}

// AllowingRule returns the shortest rule that allows the part of a call that a decision
// is about and wins over the rule behind it. It returns false if no rule would win and
// that rule has to be changed, or if the call opens a protected file, which only a yes
// can do.
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
	case c.Host != "" && d.What == c.Host:
		r.Host = c.Host
	case c.Command != "":
		words := strings.Fields(d.What)
		if i := slices.Index(words, "?"); i >= 0 {
			words = words[:i]
		}
		for n := min(2, len(words)); n <= len(words) && n > 0; n++ {
			r.Match = strings.Join(words[:n], " ")
			if n < len(strings.Fields(d.What)) {
				r.Match += " *"
			}
			if r.literals() >= least {
				break
			}
		}
	}
	return r, r.literals() >= least && (c.Command == "" || r.Match != "" || r.Path != "")
}
