package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fika"
	"fika/internal/cli"
	"fika/internal/llm/llmtest"
	"fika/internal/system/term"
)

// spender is a home in which prompts are answered, by two agents on two models.
func spender(t *testing.T) func(args ...string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"rules.toml": "fallback = 'yes'\n",
		"config.toml": `
model = "dear"
[hub]
autostart = false
[[models]]
id = "dear"
provider = "scripted"
rules = "rules.toml"
prices = {input = 3, output = 15}
[[models]]
id = "cheap"
provider = "scripted"
rules = "rules.toml"
prices = {input = 1, output = 2}
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return func(args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		if status := cli.Main(args, &term.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, func(k string) string {
			return map[string]string{"FIKA_HOME": dir, "HOME": dir}[k]
		}); status != 0 {
			t.Fatalf("fika %v: status %d, %s", args, status, &errs)
		}
		return out.String()
	}
}

// TestL16UsageBy: whatever spending is added up by, the sums are those of the
// ledger.
func TestL16UsageBy(t *testing.T) {
	run := spender(t)
	run("run", "-c", "one", "hello")
	run("run", "-c", "one", "-m", "cheap", "hello again")
	run("run", "-c", "two", "hello")
	total := func(args ...string) (sum fika.Usage, requests, lines int) {
		for _, line := range strings.Split(strings.TrimSpace(run(append([]string{"usage", "--json"}, args...)...)), "\n") {
			var l struct {
				Requests int
				Usage    fika.Usage
			}
			if err := json.Unmarshal([]byte(line), &l); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			sum, requests, lines = sum.Add(l.Usage), requests+l.Requests, lines+1
		}
		return sum, requests, lines
	}
	var ledger fika.Usage
	for _, line := range strings.Split(strings.TrimSpace(run("request", "list", "--json")), "\n") {
		var r struct{ Usage fika.Usage }
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		ledger = ledger.Add(r.Usage)
	}
	if ledger.Cost == 0 {
		t.Fatalf("nothing was spent: %+v", ledger)
	}
	for by, want := range map[string]int{"": 3, "agent": 2, "model": 2, "chat": 1, "workflow": 1, "day": 1} {
		args := []string{"--since", "1h"}
		if by != "" {
			args = append(args, "--by", by)
		}
		if sum, requests, lines := total(args...); sum != ledger || requests != 3 || lines != want {
			t.Errorf("by %q: %+v of %d requests in %d lines, not %+v", by, sum, requests, lines, ledger)
		}
	}
	if table := run("usage", "--by", "chat"); !strings.Contains(table, "(none)") || !strings.Contains(table, "total") {
		t.Error(table)
	}
}

// TestL15ProfileSums: what the profile says was spent is what the ledger says.
func TestL15ProfileSums(t *testing.T) {
	run := spender(t)
	run("run", "-c", "one", "hello")
	run("run", "-c", "two", "-m", "cheap", "hello")
	sum := func(args ...string) (u fika.Usage, requests int) {
		for _, line := range strings.Split(strings.TrimSpace(run(args...)), "\n") {
			var l struct {
				Requests    int
				Usage       fika.Usage
				Wait, Model struct{ N int }
			}
			if err := json.Unmarshal([]byte(line), &l); err != nil || args[0] == "profile" && (l.Model.N != l.Requests || l.Wait.N < l.Requests) {
				t.Fatalf("%v: %s", err, line)
			}
			u, requests = u.Add(l.Usage), requests+l.Requests
		}
		return u, requests
	}
	profiled, n := sum("profile", "--json")
	if ledger, all := sum("usage", "--by", "agent", "--json"); profiled != ledger || n != all || n != 2 || ledger.Cost == 0 {
		t.Errorf("%+v of %d, the ledger has %+v of %d", profiled, n, ledger, all)
	}
	if topped, n := sum("top", "--json"); topped != profiled || n != 2 {
		t.Errorf("top: %+v of %d requests, not %+v", topped, n, profiled)
	}
	if table := run("top"); !strings.Contains(table, "\nall ") || !strings.Contains(table, "two ") {
		t.Error(table)
	}
	if table := run("profile", "--agent", "two"); strings.Contains(table, "one ") || !strings.Contains(table, "two ") {
		t.Error(table)
	}
}

// TestBudgetHoldsWithoutReportedUsage: a server that reports no tokens spends a budget all
// the same, within one call of its limit, and what is shown is marked as an estimate.
func TestBudgetHoldsWithoutReportedUsage(t *testing.T) {
	const budget, page = 30_000, 6_000
	srv := llmtest.NewOpenAI(t, func(r llmtest.Request) llmtest.Script {
		return llmtest.Script{llmtest.Call(fmt.Sprint("c", r.N), "read", fmt.Sprintf(`{"path":"page.txt","offset":%d}`, r.N+1))}
	})
	h := newHome(t, strings.Replace(openAI(srv, "[budgets]\n"), "[budgets]\n", "\n[[budgets]]\nscope = \"home\"\nper = \"day\"\ntokens = 30000\n", 1))
	var text strings.Builder
	for n := range 400 {
		fmt.Fprintf(&text, "line %d of a page that is read again and again\n", n)
	}
	if err := os.WriteFile(filepath.Join(h.work, "page.txt"), []byte(text.String()[:page]), 0o600); err != nil {
		t.Fatal(err)
	}
	_, errs := h.run(8, "run", "read the page until it ends")
	has(t, "the refusal", errs, "budget of home")
	sent := 0
	for _, r := range srv.Requests() {
		sent += len(r.Body) / 4
	}
	last := len(srv.Requests()[len(srv.Requests())-1].Body) / 4
	if sent-last > budget || sent < budget/4 {
		t.Errorf("%d tokens were sent in %d calls, %d of them in the last, for a budget of %d", sent, len(srv.Requests()), last, budget)
	}
	out, _ := h.run(0, "usage")
	has(t, "the usage", out, "~")
}
