package guard

import (
	"slices"
	"testing"
)

// TestOpens: a yes opens what a rule that asks about this very command names, and
// nothing if the call is denied or no such rule fits.
func TestOpens(t *testing.T) {
	byPath := []Rule{{Tool: "bash", Path: ".git/config", Do: Ask}}
	byWords := []Rule{{Tool: "bash", Match: "make setup", Path: ".envrc", Do: Ask}}
	for _, c := range []struct {
		rules   []Rule
		command string
		do      Action
		opens   []string
	}{
		{byPath, "git remote add o /o", Ask, []string{"/w/.git/config"}},
		{byPath, "git -C . config user.name a", Ask, []string{"/w/.git/config"}},
		{byPath, "echo >> .git/config; git push -u origin main", Ask, []string{"/w/.git/config"}},
		{byPath, "git config --get user.name; git remote -v; git push", Allow, nil},
		{byPath, `echo > "$FILE"`, Ask, nil},
		{byWords, "make setup", Ask, []string{"/w/.envrc"}},
		{byWords, "make test", Allow, nil},
		{append([]Rule{{Tool: "bash", Match: "rm *", Do: Deny}}, byPath...), "rm x; git config a.b c", Deny, nil},
		{[]Rule{{Tool: "*", Path: ".git/config", Do: Allow}}, "git config a.b c", Allow, nil},
	} {
		d := Decide(Call{Tool: "bash", Command: c.command, Workspace: "/w"}, c.rules, Facts{Default: Allow})
		if d.Do != c.do || !slices.Equal(d.Opens, c.opens) {
			t.Errorf("%s: %s, opens %q instead of %s, %q", c.command, d.Do, d.Opens, c.do, c.opens)
		}
		if _, ok := d.AllowingRule(Call{Tool: "bash", Command: c.command}); ok && len(d.Opens) > 0 {
			t.Errorf("%s: a rule is said to spare the question", c.command)
		}
	}
	if d := Decide(Call{Tool: "create", Paths: []string{".git/config"}, Workspace: "/w"}, []Rule{{Tool: "*", Path: ".git/config", Do: Ask}}, Facts{Default: Allow}); len(d.Opens) > 0 {
		t.Errorf("a file tool opens %q", d.Opens)
	}
	for _, r := range []Rule{{Tool: "bash", Match: "a", Path: "b", Do: Deny}, {Tool: "bash", Match: "a", Path: "b/*", Do: Ask}} {
		if r.Check() == nil {
			t.Errorf("%+v is taken", r)
		}
	}
}
