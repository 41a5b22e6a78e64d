package template

import (
	"bytes"
	"embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fika"
	"fika/internal/text/hint"
	"fika/internal/text/spelling"
)

//go:embed agents/*.md
var shipped embed.FS

// Template is the file of an agent, to be used as a starting point.
type Template struct {
	Name string
	Text string
	File string // empty: fika ships it
}

// Set is all templates: the shipped ones, and those of a folder, which replace shipped
// ones of the same name.
type Set struct{ dir string }

// Open returns the templates of a folder, which need not exist, and the shipped ones.
func Open(dir string) Set { return Set{dir} }

// maxFile is the most bytes of a template.
const maxFile = 256 << 10

// List returns all templates sorted by name. Error kinds: Storage, Invalid for a file
// that cannot be a template.
func (s Set) List() ([]Template, error) {
	var out []Template
	files, err := fs.Glob(shipped, "agents/*.md")
	if err != nil {
		return nil, fika.Wrap(fika.Failed, "list templates", err)
	}
	for _, f := range files {
		text, err := shipped.ReadFile(f)
		if err != nil {
			return nil, fika.Wrap(fika.Failed, "list templates", err)
		}
		out = append(out, Template{Name: nameOf(f), Text: string(text)})
	}
	own, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fika.Wrap(fika.Storage, "list templates", err)
	}
	for _, d := range own {
		if !strings.HasSuffix(d.Name(), ending) || strings.HasPrefix(d.Name(), ".") {
			continue
		}
		t, err := s.read(d.Name())
		if err != nil {
			return nil, err
		}
		out = slices.DeleteFunc(out, func(x Template) bool { return x.Name == t.Name })
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b Template) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

const ending = ".md"

func nameOf(file string) string { return strings.TrimSuffix(filepath.Base(file), ending) }

func (s Set) read(base string) (Template, error) {
	path := filepath.Join(s.dir, base)
	info, err := os.Stat(path)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxFile) {
		return Template{}, fika.Errorf(fika.Invalid, "read template", "%s is not a file with the text of an agent", path)
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(path)
	}
	return Template{Name: nameOf(base), Text: string(text), File: path}, fika.Wrap(fika.Storage, "read template", err)
}

// Find returns the template with a name; its NotFound error suggests the nearest name.
func (s Set) Find(name string) (Template, error) {
	all, err := s.List()
	if err != nil {
		return Template{}, err
	}
	var names []string
	for _, t := range all {
		if t.Name == name {
			return t, nil
		}
		names = append(names, t.Name)
	}
	return Template{}, fika.WithHint(fika.Errorf(fika.NotFound, "find template", "template %q not found%s", name, spelling.DidYouMean(name, names)), hint.TemplateList.With())
}

// Description returns the template's own description.
func (t Template) Description() string {
	for line := range strings.Lines(t.Text) {
		if text, ok := strings.CutPrefix(line, "description:"); ok {
			return strings.Trim(strings.TrimSpace(text), `"'`)
		}
	}
	return ""
}

// Choice is what a person adds to a template.
type Choice struct {
	Model       string // empty: that of the template or the settings
	Personality string // in words
}

// FileFor returns the file of an agent made from the template.
func (t Template) FileFor(c Choice) string {
	text := t.Text
	if c.Model != "" {
		text = setModel(text, c.Model)
	}
	if p := strings.TrimSpace(c.Personality); p != "" {
		text = strings.TrimRight(text, "\n") + "\n\nYour manner: " + p + "\n"
	}
	return text
}

const fence = "---\n"

// setModel sets the model in the settings of an agent's file.
func setModel(text, model string) string {
	line := "model: " + quoted(model) + "\n"
	rest, ok := strings.CutPrefix(text, fence)
	if !ok {
		return fence + line + fence + text
	}
	var b bytes.Buffer
	b.WriteString(fence)
	done, open := false, true
	for l := range strings.Lines(rest) {
		switch {
		case open && strings.HasPrefix(l, "model:"):
			b.WriteString(line)
			done = true
			continue
		case open && strings.TrimSpace(l) == "---":
			if open = false; !done {
				b.WriteString(line)
			}
		}
		b.WriteString(l)
	}
	return b.String()
}

// quoted returns s as YAML reads it back, unquoted where that is safe.
func quoted(s string) string {
	plain := strings.IndexFunc(s, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_./", r))
	}) < 0 && strings.IndexFunc(s, func(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }) == 0
	if plain && !slices.Contains([]string{"true", "false", "null", "yes", "no", "on", "off"}, strings.ToLower(s)) {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(s) + `"`
}

// Team is a set of agents that work well together.
type Team struct {
	Name        string
	Description string
	Agents      []Member // the first is addressed when no agent is named
	Lands       bool     // its work lands on a branch, checked
}

// Member is an agent of a team, and the template that it is made from.
type Member struct{ Name, Template string }

// members are agents that are called as their templates.
func members(names ...string) (out []Member) {
	for _, n := range names {
		out = append(out, Member{n, n})
	}
	return out
}

// ShippedTeams returns the teams that fika ships.
func ShippedTeams() []Team {
	return []Team{
		{"review", "one writes code, one reviews it, one tests it", members("coder", "reviewer", "tester"), false},
		{"research", "one finds out, one builds, one tests", members("researcher", "coder", "tester"), false},
		{"discussion", "two argue about a question, and one leads them to a decision", members("moderator", "researcher", "reviewer"), false},
		{"build", "one plans tasks, three build them side by side, one reviews; it lands reviewed and checked", []Member{{"lead", "lead"}, {"builder", "builder"}, {"reviewer", "board-reviewer"}}, true},
	}
}

// FindTeam returns the team with a name; its NotFound error lists the teams.
func FindTeam(name string) (Team, error) {
	var names []string
	for _, t := range ShippedTeams() {
		if t.Name == name {
			return t, nil
		}
		names = append(names, t.Name)
	}
	return Team{}, fika.Errorf(fika.NotFound, "find team", "team %q not found; known: %s", name, strings.Join(names, ", "))
}
