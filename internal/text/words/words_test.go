package words_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"fika/internal/api"
	"fika/internal/text/words"
)

var placeholder = regexp.MustCompile(`\{(\w+)\}`)

// TestEveryCodeHasWords: each code has a phrase, in the same order, which names all its
// arguments and no others.
func TestEveryCodeHasWords(t *testing.T) {
	phrases, meanings := words.Phrases(), api.Meanings()
	if len(phrases) != len(meanings) {
		t.Fatalf("%d phrases for %d codes", len(phrases), len(meanings))
	}
	commands, seen := words.Commands(), map[api.Code]bool{}
	helps := map[string]bool{}
	for i, m := range meanings {
		p := phrases[i]
		if p.Code != m.Code || p.Text == "" || seen[m.Code] {
			t.Errorf("%s: the phrase is of %s: %q", m.Code, p.Code, p.Text)
		}
		seen[m.Code] = true
		used := map[string]bool{}
		for _, found := range placeholder.FindAllStringSubmatch(p.Text+p.Brief, -1) {
			used[found[1]] = true
			own := []string{"until", "in"}
			if len(m.Help) > 0 {
				own = append(own, "help")
			}
			if m.Parts {
				own = append(own, "parts", "each", "briefly")
			}
			if !slices.Contains(own, found[1]) && !slices.Contains(m.Args, found[1]) {
				t.Errorf("%s: the words name %s, which it does not have", m.Code, found[0])
			}
		}
		if m.Parts && !used["parts"] && !used["each"] {
			if !used["briefly"] {
				t.Errorf("%s: the words leave out what is within it", m.Code)
			}
		}
		for _, r := range m.Help {
			verb := strings.TrimSpace(r.Verb + " " + r.How)
			helps[verb] = true
			if _, found := api.Find(r.Verb); !found || commands[verb] == "" {
				t.Errorf("%s: %q helps, which is not a verb or has no command", m.Code, verb)
			}
			if r.Arg != "" && !slices.Contains(m.Args, r.Arg) {
				t.Errorf("%s: %s is about %q, which it does not have", m.Code, verb, r.Arg)
			}
		}
	}
	for verb := range commands {
		if !helps[verb] {
			t.Errorf("%q helps against nothing", verb)
		}
	}
}

// TestNoCodeWithoutUser: every constant of package api that is a code is in the list, and
// something outside its list and words uses it.
func TestNoCodeWithoutUser(t *testing.T) {
	listed := map[api.Code]bool{}
	for _, m := range api.Meanings() {
		listed[m.Code] = true
	}
	used := usedNames(t)
	file, err := parser.ParseFile(token.NewFileSet(), "../../api/code.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	ast.Inspect(file, func(node ast.Node) bool {
		v, is := node.(*ast.ValueSpec)
		if !is || len(v.Values) != 1 || len(v.Names) != 1 {
			return true
		}
		if kind, is := v.Type.(*ast.Ident); !is || kind.Name != "Code" {
			return true
		}
		n++
		if text := strings.Trim(v.Values[0].(*ast.BasicLit).Value, `"`); !listed[api.Code(text)] {
			t.Errorf("%s (%s) is not in Meanings", v.Names[0].Name, text)
		}
		if !used[v.Names[0].Name] {
			t.Errorf("nothing uses api.%s", v.Names[0].Name)
		}
		return true
	})
	if n != len(listed) {
		t.Errorf("%d constants, %d codes in the list", n, len(listed))
	}
}

// usedNames returns the names of package api that the product uses.
func usedNames(t *testing.T) map[string]bool {
	t.Helper()
	used, name := map[string]bool{}, regexp.MustCompile(`\b(?:api\.|Stands\()(\w+)`)
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
			path == "../../api/code.go" || strings.HasPrefix(path, "../../text/words/") {
			return err
		}
		data, err := os.ReadFile(path)
		for _, found := range name.FindAllStringSubmatch(string(data), -1) {
			used[found[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return used
}

func TestSay(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.Local)
	stopped := api.Stands(api.AgentStopped, "agent", "arya")
	for _, c := range []struct {
		status      api.Status
		text, brief string
	}{
		{api.Status{}, "", ""},
		{stopped, "@arya is off: stopped by you (fika agent start arya)", "stopped by you: fika agent start arya"},
		{api.Status{Code: api.AgentStopped, Args: map[string]string{"agent": "arya"}}, "@arya is off: stopped by you", "stopped by you"},
		{api.Stands(api.AgentLimit, "agent", "arya", "limit", "20 turns per hour").At(now.Add(time.Hour)),
			"@arya reached its limit of 20 turns per hour; waiting work resumes at 13:00 (in 1h)", "reached its limit of 20 turns per hour, resumes at 13:00 (in 1h)"},
		{api.Stands(api.WaitingBudget).At(now.Add(90 * time.Second)), "it waits for a budget (fika budget list shows which), until 12:01:30 (1m 30s)", "waits for a budget (fika budget list shows which), until 12:01:30 (1m 30s)"},
		{api.Stands(api.WaitingPaused, "chat", "tale"), "the chat is paused (fika chat resume tale)", "the chat is paused (fika chat resume tale)"},
		{api.Stands(api.WaitingPaused, "chat", "tale", "owners", "ned"), "the chat is held by ned, until they leave it (fika chat resume tale)", "the chat is held by ned, until they leave it (fika chat resume tale)"},
		{api.Stands(api.TurnFailed, "chat", "tale", "agent", "arya"), "the turn failed (fika chat retry tale arya)", "the turn failed (fika chat retry tale arya)"},
		{api.Stands(api.WaitingAgents).With(api.Stands(api.WaitingAgent, "agent", "bran", "seconds", "30"), api.Stands(api.WaitingAgent, "agent", "arya").With(stopped)),
			"waits for @bran (at most 30s more), @arya (stopped by you: fika agent start arya)", "waits for @bran (at most 30s more), @arya (stopped by you: fika agent start arya)"},
		{api.Stands(api.WaitingPerson, "request", "r1").With(stopped),
			"@arya is off: stopped by you (fika agent start arya); the request waits (fika request cancel r1 cancels it)", "stopped by you: fika agent start arya; the request waits (fika request cancel r1 cancels it)"},
		{api.Stands(api.AgentLastFailed, "agent", "arya", "at", now.Add(-time.Minute).Format(time.RFC3339), "reason", "disk [full] {x}"),
			"the last request of @arya failed (1m ago): disk [full] {x}", "its last request failed (1m ago): disk [full] {x}"},
		{api.Status{Code: "no.such"}, "no.such", "no.such"},
	} {
		if got := words.Say(c.status, now); got != c.text {
			t.Errorf("%+v\n got %q\nwant %q", c.status, got, c.text)
		}
		if got := words.Brief(c.status, now); got != c.brief {
			t.Errorf("%+v briefly\n got %q\nwant %q", c.status, got, c.brief)
		}
	}
}

// FuzzSay: whatever arguments hold, the words are made, and an argument is not read as a
// phrase.
func FuzzSay(f *testing.F) {
	f.Add("agent.failed", "{help} [x|")
	f.Add("work.tool", "]")
	f.Fuzz(func(t *testing.T, code, value string) {
		m, _ := api.MeaningOf(api.Code(code))
		var args []string
		for _, name := range m.Args {
			args = append(args, name, value)
		}
		words.Say(api.Stands(api.Code(code), args...), time.Time{})
	})
}

// TestInSession: what a session is told to type is what it understands.
func TestInSession(t *testing.T) {
	got := words.InSession("it waits (fika request retry 01a21d03-253a asks at once), or fika request cancel 01a21d03; fika chat resume s-2026-1; fika chat resume --all; fika key set K; 2 wait (fika approve 2); fika approve 3 --always (fika agent list)")
	if want := "it waits (/retry asks at once), or /stop; /unpause; fika chat resume --all; fika key set K; 2 wait (/approve 2); fika approve 3 --always (/agents)"; got != want {
		t.Errorf("got %s", got)
	}
}
