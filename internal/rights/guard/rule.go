package guard

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"fika"
)

// Action is what a rule does with a call.
type Action string

// The actions, from the mildest.
const (
	Allow Action = "allow"
	Ask   Action = "ask"
	Deny  Action = "deny"
)

// severity orders actions: of several, the severest applies.
func (a Action) severity() int {
	switch a {
	case Allow:
		return 0
	case Ask:
		return 1
	default:
		return 2
	}
}

// Rule allows, asks about or denies calls. Those of Match, Path and Host that are not
// empty must fit; a rule with none of them fits every call of its tools.
type Rule struct {
	Tool  string // name of a tool; * stands for any characters
	Match string // words of a simple command; a final * stands for any further words
	// Path is a file that the call reads or writes, as in "docs/**" or "~/.ssh/*". In a
	// rule that asks about a command, a yes also opens the file for that call if it is
	// protected.
	Path    string
	Host    string // the host that fetch asks for, as in "example.org" or "*.example.org"
	Tainted bool   // only in a turn that has read text from outside
	Do      Action
	Why     string // shown with the decision
	Where   string // file:line of the rule
}

// Check returns an error of kind Invalid if something is wrong with the rule itself.
func (r Rule) Check() error {
	switch r.Do {
	case Allow, Ask, Deny:
	default:
		return fika.Errorf(fika.Invalid, "do", "%q is not an action; it is allow, ask or deny", r.Do)
	}
	if r.Tool == "" {
		return fika.Errorf(fika.Invalid, "tool", "a rule names the tool that it is about (* for all)")
	}
	if _, err := path.Match(r.Tool, ""); err != nil {
		return fika.Errorf(fika.Invalid, "tool", "%q is not a pattern: %v", r.Tool, err)
	}
	if _, err := path.Match(strings.ReplaceAll(r.Path, "**", "*"), ""); err != nil {
		return fika.Errorf(fika.Invalid, "path", "%q is not a pattern: %v", r.Path, err)
	}
	if r.Match != "" && r.Tool != "bash" {
		return fika.Errorf(fika.Invalid, "match", "only commands of bash have words to match; use path or host for %s", r.Tool)
	}
	if r.Match != "" && r.Path != "" {
		switch {
		case r.Do != Ask:
			return fika.Errorf(fika.Invalid, "path", "match and path together name the file that a yes opens for the command: do is ask")
		case strings.ContainsAny(r.Path, "*?["):
			return fika.Errorf(fika.Invalid, "path", "beside match, path names one file, not %q", r.Path)
		}
	}
	for i, w := range strings.Fields(r.Match) {
		if strings.Contains(w, "*") && (w != "*" || i < len(strings.Fields(r.Match))-1) {
			return fika.Errorf(fika.Invalid, "match", "a * stands alone, as the last word of %q", r.Match)
		}
	}
	return nil
}

// TOML returns the rule as it stands in a file.
func (r Rule) TOML() string {
	var b strings.Builder
	b.WriteString("[[rules]]\n")
	for _, kv := range [][2]string{{"tool", r.Tool}, {"match", r.Match}, {"path", r.Path}, {"host", r.Host}, {"do", string(r.Do)}, {"why", r.Why}} {
		if kv[1] != "" {
			quoted, _ := json.Marshal(kv[1]) // a JSON string is also a TOML string
			fmt.Fprintf(&b, "%s = %s\n", kv[0], quoted)
		}
	}
	if r.Tainted {
		b.WriteString("tainted = true\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Pattern returns in a few words which calls the rule fits, as in "bash git push *".
func (r Rule) Pattern() string {
	if text := strings.Join(strings.Fields(strings.Join([]string{r.Match, r.Path, r.Host}, " ")), " "); text != "" {
		return r.Tool + " " + text
	}
	return "every call of " + r.Tool
}

// literals counts the literal characters of a rule: of two rules that fit, the more
// specific one wins.
func (r Rule) literals() int {
	return len(strings.NewReplacer("*", "", " ", "").Replace(r.Match + r.Path + r.Host))
}

// forTool reports whether the rule is about a tool.
func (r Rule) forTool(name string) bool {
	ok, err := path.Match(r.Tool, name)
	return ok && err == nil
}
