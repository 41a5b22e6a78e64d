package e2e

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"

	"fika/internal/bus/bustest"
)

// TestC1StockServer: a NATS server without JetStream, which is what one gets
// who starts one, serves other programs while the hub is up, and everybody is
// told what it lacks.
func TestC1StockServer(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t, -1, "")
	h := scriptedHome(t, fmt.Sprintf("[nats]\nserver = %q\nsubject_prefix = \"niffler\"\nrequest_tools = [\"*\"]\n", s.ClientURL()), autoCoder)
	if r := h.run("up"); r.code != 0 || !strings.Contains(r.stderr, "no JetStream") || !strings.Contains(r.stderr, "LOST") {
		t.Errorf("up: %d\n%s", r.code, r.stderr)
	}
	f := h.foreign(s.ClientURL(), "niffler")
	f.exchange()
	f.malformed()
	if got := h.must("status"); !strings.Contains(got, "WARNING") || !strings.Contains(got, "no JetStream") || !strings.Contains(got, "nats-server -js") {
		t.Errorf("status:\n%s", got)
	}
	if got := h.must("doctor"); !strings.Contains(got, "no JetStream") {
		t.Errorf("doctor:\n%s", got)
	}
}

// TestD12StreamSetAside: a hub whose stream was damaged starts, serves, and
// says what happened until somebody has looked.
func TestD12StreamSetAside(t *testing.T) {
	t.Parallel()
	h := scriptedHome(t, "", autoCoder)
	h.must("up")
	h.must("down")
	run := filepath.Join(h.dir, "run")
	h.ok(os.WriteFile(filepath.Join(run, "jetstream", "jetstream", "$G", "streams", "FIKA_REQUESTS", "obs", "hub", "o.dat"), []byte("garbage"), 0o600))
	h.must("up")
	f := h.foreign(h.must("status", "--show-bus"), "fika")
	f.publish("request", fmt.Sprintf(taskRequest, "after", "hello"))
	if w := f.response("after"); w.Status != "completed" {
		t.Errorf("after: %+v", w)
	}
	aside, err := filepath.Glob(filepath.Join(run, "jetstream.damaged-*"))
	h.ok(err)
	if len(aside) != 1 {
		t.Fatalf("set aside: %s", aside)
	}
	if r := h.run("doctor"); r.code != 1 || !strings.Contains(r.stdout, "problem  bus: the stream of requests of other programs was damaged") {
		t.Errorf("doctor: %d\n%s", r.code, r.stdout)
	}
	if got := h.must("status"); !strings.Contains(got, aside[0]) || !strings.Contains(got, "WARNING") {
		t.Errorf("status:\n%s", got)
	}
	h.ok(os.RemoveAll(aside[0]))
	h.must("doctor")
	if got := h.must("status"); strings.Contains(got, "WARNING") {
		t.Errorf("status:\n%s", got)
	}
}

// TestD12LostRequests: what was accepted and is gone with the files of the
// stream is told to its sender, and in status, health and doctor until somebody
// has acknowledged it; one that is sent again is worked on.
func TestD12LostRequests(t *testing.T) {
	t.Parallel()
	h := scriptedHome(t, "", autoCoder)
	h.must("up")
	f := h.foreign(h.must("status", "--show-bus"), "fika")
	unlock := h.lockStore()
	ids := []string{"gone-1", "gone-2"}
	for _, id := range ids {
		m, err := f.nc.Request("fika.agent.coder.request", fmt.Appendf(nil, taskRequest, id, "hello"), patience)
		h.ok(err)
		if !strings.Contains(string(m.Data), `"seq"`) {
			t.Fatalf("accepted: %s", m.Data)
		}
	}
	h.kill(hubWords)
	unlock()
	h.ok(os.RemoveAll(filepath.Join(h.dir, "run", "jetstream")))
	h.must("up")
	for _, id := range ids {
		if w := f.response(id); w.Status != "failed" || !strings.Contains(w.Error, "lost") {
			t.Errorf("%s: %+v", id, w)
		}
	}
	for _, r := range []result{h.run("status"), h.run("agent", "health"), h.run("doctor")} {
		if !strings.Contains(r.stdout+r.stderr, "LOST: 2 requests") || !strings.Contains(r.stdout+r.stderr, "gone-1 (@coder), gone-2 (@coder)") {
			t.Errorf("%+v", r)
		}
	}
	f.publish("request", fmt.Sprintf(taskRequest, "gone-1", "hello"))
	for f.response("gone-1").Status != "completed" { // it may have been told a second time that it was lost
	}
	h.until("one is lost", func() bool { return strings.Contains(h.must("status"), "LOST: 1 request ") })
	if r := h.run("doctor", "--fix"); !strings.Contains(r.stdout, "fixed    bus: LOST") {
		t.Errorf("doctor --fix: %+v", r)
	}
	if got := h.must("status"); strings.Contains(got, "LOST") {
		t.Errorf("acknowledged, and told of:\n%s", got)
	}
}

// TestD8BusAndLog: a key that is set while hub and agent run is neither in the
// hub's log nor in anything that fika says on the bus.
func TestD8BusAndLog(t *testing.T) {
	t.Parallel()
	h := scriptedHome(t, "", autoCoder)
	h.must("up")
	h.must("ask", "coder", "one")
	const key = "sk-test-0123456789abcdef"
	if r := h.runIn(key, "key", "set", "LATER_KEY"); r.code != 0 {
		t.Fatalf("key set: %+v", r)
	}
	f := h.foreign(h.must("status", "--show-bus"), "fika")
	h.ok(f.nc.Publish("fika.agent."+key+".request", []byte("no request")))
	f.publish("request", fmt.Sprintf(taskRequest, "leaks", "tell "+key))
	if w := f.response("leaks"); !strings.Contains(w.Result.Content, "[key LATER_KEY]") {
		t.Errorf("%+v", w)
	}
	h.must("down")
	for _, m := range f.seen {
		if strings.Contains(string(m.Data), key) && !strings.HasSuffix(m.Subject, ".request") {
			t.Errorf("%s: %s", m.Subject, m.Data)
		}
	}
	log, err := os.ReadFile(filepath.Join(h.dir, "run", "logs", "hub.log"))
	h.ok(err)
	if strings.Contains(string(log), key) || !strings.Contains(string(log), "[key LATER_KEY]") {
		t.Errorf("hub.log:\n%s", log)
	}
}

// lockStore keeps everybody from writing until the returned function is called.
func (h *home) lockStore() (unlock func()) {
	h.Helper()
	db, err := sql.Open("sqlite", filepath.Join(h.dir, "fika.db"))
	h.ok(err)
	c, err := db.Conn(h.Context())
	h.ok(err)
	_, err = c.ExecContext(h.Context(), "PRAGMA busy_timeout = 10000; BEGIN IMMEDIATE")
	h.ok(err)
	unlock = sync.OnceFunc(func() { h.ok(errors.Join(c.Close(), db.Close())) })
	h.Cleanup(unlock)
	return unlock
}

// TestC7Waiting: what a program asks of an agent that was stopped says so on
// the bus, with what helps.
func TestC7Waiting(t *testing.T) {
	t.Parallel()
	h := scriptedHome(t, "", autoCoder)
	h.must("up")
	f := h.foreign(h.must("status", "--show-bus"), "fika")
	h.must("agent", "stop", "coder")
	f.publish("request", fmt.Sprintf(taskRequest, "waits", "hello"))
	for {
		m, err := f.all.NextMsg(patience)
		h.ok(err)
		if m.Subject == "fika.agent.coder.status" && strings.Contains(string(m.Data), `"status":"waiting"`) {
			if !strings.Contains(string(m.Data), "fika agent start coder") {
				t.Errorf("it says %s", m.Data)
			}
			break
		}
	}
	h.must("agent", "start", "coder")
	if w := f.response("waits"); w.Status != "completed" {
		t.Errorf("%+v", w)
	}
}

// TestE9DocumentedSubjects: of the subjects in docs/reference/bus.md, those that others
// publish to are listened to, those that are asked are answered, and the rest
// is seen when an agent works.
func TestE9DocumentedSubjects(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/reference/bus.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| `fika\\.([^`]+)` \\| ([^|]+) \\|").FindAllStringSubmatch(string(page), -1)
	if len(rows) < 10 {
		t.Fatalf("%d subjects in docs/reference/bus.md", len(rows))
	}
	h := scriptedHome(t, "", autoCoder)
	h.must("up")
	url := h.must("status", "--show-bus")
	f := h.foreign(url, "fika")
	h.must("chat", "create", "coder")
	f.publish("request", "{}")
	f.publish("request", fmt.Sprintf(taskRequest, "work", "hello"))
	f.response("work")
	h.must("chat", "send", "coder", "@coder hello")
	h.must("chat", "wait", "coder")
	h.must("agent", "restart", "coder") // it says so with a heartbeat
	f.rest()
	seen := map[string]bool{}
	for _, m := range f.seen {
		seen[m.Subject] = true
	}
	asking, err := nats.Connect(url)
	h.ok(err)
	t.Cleanup(asking.Close)
	inbox, err := asking.SubscribeSync(asking.NewRespInbox())
	h.ok(err)
	for _, row := range rows {
		subject, who := "fika."+strings.ReplaceAll(row[1], "NAME", "coder"), row[2]
		if strings.HasPrefix(row[1], "member.") { // of those that a person made: TestD3MemberClient
			continue
		}
		if subject == "fika.agent.coder.idle" { // where several hosts share a database: TestLooksForIdle
			continue
		}
		switch {
		case strings.Contains(who, "whoever") || strings.Contains(who, "anybody") || strings.Contains(who, "answered"):
			if subject == "fika.chat.coder" { // for those who watch
				break
			}
			// A server tells at once when nobody listens there.
			h.ok(asking.PublishRequest(subject, inbox.Subject, []byte("{}")))
			h.ok(asking.Flush())
			if m, err := inbox.NextMsg(glance); err == nil && m.Header.Get("Status") == "503" {
				t.Errorf("nobody listens to %s", subject)
			} else if strings.Contains(who, "answered") || strings.Contains(who, "request/reply") {
				if m == nil {
					m, err = inbox.NextMsg(patience)
				}
				if err != nil && m == nil {
					t.Errorf("nobody answers %s: %v", subject, err)
				}
			}
			continue
		}
		if !seen[subject] {
			t.Errorf("nobody publishes %s", subject)
		}
	}
}
