package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"fika"
	"fika/internal/store"
)

// TestBackupTakesOver: an agent that cannot work has a backup, which answers a
// request that is delivered again and again: one row, one answer, no error, and
// everybody sees who was asked and who worked.
func TestBackupTakesOver(t *testing.T) {
	t.Parallel()
	const broken = "id = \"coder\"\nmodel = \"nowhere\"\nbackup = [\"reviewer\"]\n"
	h := scriptedHome(t, "", broken, "id = \"reviewer\"\n")
	h.write("models.toml", "[[models]]\nid = \"nowhere\"\nprovider = \"scripted\"\nrules = \"there-is-no-such-file.toml\"\n")
	h.write("rules.toml", "[[rule]]\nmatch = \"work\"\nreply = \"worked\"\n")
	h.must("up")
	f := h.foreign(h.must("status", "--show-bus"), "fika")
	body := fmt.Sprintf(taskRequest, "again", "work")
	for range 3 {
		f.publish("request", body)
	}
	w := f.response("again")
	if w.AgentName != "coder" || w.Status != "completed" || w.Result.Content != "worked" {
		t.Errorf("answered %+v", w)
	}
	f.publish("request", body) // as JetStream does where its acknowledgement was lost
	if again := f.response("again"); again.Status != "completed" || again.Result.Content != "worked" {
		t.Errorf("answered again %+v", again)
	}
	f.rest()
	if n := f.count("response", "again", "failed") + f.count("response", "again", "rejected"); n > 0 {
		t.Errorf("%d error responses", n)
	}
	all, err := h.store().ListRequests(t.Context(), store.RequestFilter{})
	h.ok(err)
	if len(all) != 1 || all[0].AgentName != "reviewer" || all[0].AskedName() != "coder" || all[0].State != fika.Done {
		t.Fatalf("rows: %+v", all)
	}
	var shown struct {
		Agent, Addressed string
		HandedOver       string `json:"handed_over"`
	}
	h.ok(json.Unmarshal([]byte(h.must("request", "show", "--json", "again")), &shown))
	if shown.Agent != "reviewer" || shown.Addressed != "coder" || !strings.Contains(shown.HandedOver, "@coder cannot work") {
		t.Errorf("request show --json: %+v", shown)
	}
	for _, look := range []struct{ want, args string }{
		{"reviewer for coder", "request list"}, {"asked         coder", "request show again"}, {"@reviewer for @coder", "trace again"},
		{"to @reviewer, done: @coder cannot work", "agent show coder"},
	} {
		if out := h.must(strings.Fields(look.args)...); !strings.Contains(out, look.want) {
			t.Errorf("fika %s does not say %q:\n%s", look.args, look.want, out)
		}
	}
	entries, err := h.store().Entries(t.Context(), store.EntryQuery{Conversation: all[0].Conversation})
	h.ok(err)
	if len(entries) != 3 || entries[0].Type != fika.Notice || !strings.HasPrefix(entries[0].Content, "handed over from @coder to @reviewer: ") {
		t.Errorf("its conversation: %+v", entries)
	}
}

// A provider that refuses the key is asked once, and then its agent's backup, which everybody
// sees.
func TestBackupTakesOverFromAProvider(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		http.Error(w, `{"error":{"message":"Incorrect API key provided"}}`, http.StatusUnauthorized)
	}))
	defer provider.Close()
	h := scriptedHome(t, "", "id = \"coder\"\nmodel = \"locked\"\nbackup = [\"reviewer\"]\n", "id = \"reviewer\"\n")
	h.write("models.toml", fmt.Sprintf("[[models]]\nid = \"locked\"\nprovider = \"openai\"\nbase_url = %q\n", provider.URL))
	h.write("rules.toml", "[[rule]]\nmatch = \"work\"\nreply = \"worked\"\n")
	h.must("up")
	for n, verb := range []string{"task", "ask"} {
		r := h.run(verb, "coder", "work")
		if r.code != 0 || !strings.Contains(r.stdout, "worked") || !strings.Contains(r.stderr, "reviewer") {
			t.Errorf("%s: %+v", verb, r)
		}
		if calls := asked.Load(); calls != int64(n+1) {
			t.Errorf("after the %s the provider was asked %d times", verb, calls)
		}
	}
	all, err := h.store().ListRequests(t.Context(), store.RequestFilter{})
	h.ok(err)
	for _, q := range all {
		if q.AgentName != "reviewer" || q.AskedName() != "coder" || q.State != fika.Done || !strings.Contains(q.Handed, "the provider of @coder fails: ") || !strings.Contains(q.Handed, "Incorrect API key") {
			t.Errorf("row: %+v", q)
		}
		for _, look := range []struct{ want, args string }{
			{"reviewer for coder", "request list"}, {"Incorrect API key", "request show "}, {"@reviewer for @coder", "trace "}, {"the provider of @coder fails", "agent show coder"},
		} {
			args := strings.Fields(look.args)
			if strings.HasSuffix(look.args, " ") {
				args = append(args, string(q.ID))
			}
			if out := h.must(args...); !strings.Contains(out, look.want) {
				t.Errorf("fika %s does not say %q:\n%s", look.args, look.want, out)
			}
		}
	}
}
