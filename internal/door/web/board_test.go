package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"fika/internal/service"
)

// TestBoard: the board shows in a bounded page what is open, held and done, with the words
// of fika board why, and a person adds, changes, closes and reopens tasks there; what is sent
// twice happens once.
func TestBoard(t *testing.T) {
	w := newWorld(t)
	const many = 5000
	for from := 0; from < many; from += service.MaxNewTasks {
		var list []service.NewTask
		for i := range service.MaxNewTasks {
			list = append(list, service.NewTask{Title: fmt.Sprint("part ", from+i), Priority: 2})
		}
		if _, err := w.person.Board().Add(t.Context(), list); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	status, page, _ := w.do("GET", "/board", nil, nil)
	t.Logf("the board of %d tasks: %s, %d bytes", many, time.Since(began), len(page))
	if n := strings.Count(page, `<li class="task`); status != http.StatusOK || n != cardsShown || !strings.Contains(page, `<span class="count">5000</span>`) {
		t.Errorf("%d: %d tasks are shown", status, n)
	}
	why, err := w.person.Board().Why(t.Context(), 1)
	if err != nil || len(why.Why) == 0 || !strings.Contains(page, "no agent takes tasks of the board") {
		t.Errorf("the board does not say why nobody takes a task: %+v, %v", why, err)
	}
	_, list, _ := w.do("GET", "/board?state=open&after=4900", nil, nil)
	if n := strings.Count(list, `<li class="task`); n != tasksShown || strings.Contains(list, ">More<") {
		t.Errorf("the last page has %d tasks", n)
	}
	post := func(path, key string, form url.Values, want int) {
		t.Helper()
		if status, body, _ := w.do("POST", path, form, func(r *http.Request) { r.Header.Set("Idempotency-Key", key) }); status != want {
			t.Errorf("%s %v: %d %s", path, form, status, body)
		}
	}
	for range 2 {
		post("/board", "add", url.Values{"title": {"urgent"}, "body": {"now"}, "priority": {"0"}, "needs": {"1, 2"}}, http.StatusOK)
	}
	if _, page, _ = w.do("GET", "/board", nil, nil); strings.Count(page, "urgent</a>") != 1 || !strings.Contains(page, `<span class="count">5001</span>`) {
		t.Error("a task that was added twice is there twice, or not first")
	}
	post("/board/5001/note", "n", url.Values{"note": {"by hand"}}, http.StatusOK)
	post("/board/5001/edit", "e", url.Values{"title": {"less urgent"}, "priority": {"3"}, "needs": {""}, "agent": {"arya"}}, http.StatusOK)
	post("/board/5001/release", "r", nil, http.StatusConflict)
	post("/board/5001/close", "c", url.Values{"as": {"dropped"}}, http.StatusOK)
	post("/board/5001/close", "c2", url.Values{"as": {"done"}}, http.StatusConflict)
	post("/board/5001/reopen", "o", nil, http.StatusOK)
	post("/board/5001/explode", "x", nil, http.StatusNotFound)
	post("/board/9999/close", "y", nil, http.StatusNotFound)
	post("/board", "bad", url.Values{"title": {"x"}, "priority": {"9"}}, http.StatusBadRequest)
	_, page, _ = w.do("GET", "/board/5001", nil, nil)
	for _, want := range []string{"less urgent", "noted: by hand", "dropped", "reopened", "@arya", "<dd>3</dd>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the task does not show %q: %s", want, page)
		}
	}
	post("/landing/1/retry", "z", nil, http.StatusNotFound)
	post("/landing/apply", "a", nil, http.StatusBadRequest)
	if status, page, _ := w.do("GET", "/landing", nil, nil); status != http.StatusOK || !strings.Contains(page, "nothing lands here") {
		t.Errorf("landing without a project: %d %s", status, page)
	}
}
