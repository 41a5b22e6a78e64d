package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"fika"
)

// post sends a form under a key of its own, and returns the answer.
func (w *world) post(path, key string, form url.Values) (int, string) {
	w.Helper()
	status, body, _ := w.do("POST", path, form, func(r *http.Request) { r.Header.Set("Idempotency-Key", key) })
	return status, body
}

// TestLeadAgent: the page of an agent offers to start it, says why it cannot be started, and
// stops it in the way that is chosen: it is to stay stopped.
func TestLeadAgent(t *testing.T) {
	w := newWorld(t)
	row, err := w.person.Agents.Find(t.Context(), "arya")
	if err != nil {
		t.Fatal(err)
	}
	if _, page, _ := w.do("GET", "/agents/arya", nil, nil); !strings.Contains(page, `action="/agents/arya/start"`) || strings.Contains(page, "/agents/arya/stop") {
		t.Errorf("the page of a stopped agent does not offer to start it: %s", page)
	}
	if status, body := w.post("/agents/arya/start", "a", nil); status != http.StatusNotFound || !strings.Contains(body, "no hub is running") {
		t.Errorf("start without a hub: %d %s", status, body)
	}
	for how, want := range map[string]int{"": http.StatusBadRequest, "gently": http.StatusBadRequest, "finish": http.StatusOK, "now": http.StatusOK, "step": http.StatusOK} {
		if status, body := w.post("/agents/arya/stop", "stop"+how, url.Values{"how": {how}}); status != want {
			t.Errorf("stop %q: %d %s", how, status, body)
		}
	}
	if v, err := w.person.Agents.View(t.Context(), "arya"); err != nil || v.Row.Desired != fika.DesiredStopped {
		t.Errorf("%s is to be %s: %v", row.Name, v.Row.Desired, err)
	}
	for _, path := range []string{"/agents/none/start", "/agents/none/stop", "/agents/arya/explode"} {
		if status, body := w.post(path, path, url.Values{"how": {"now"}}); status != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}
