package webhook

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fika"
	"fika/internal/api"
	"fika/internal/app"
	"fika/internal/report/delivery"
	"fika/internal/service"
	"fika/internal/store"
)

const secret = "whsec_c2VzYW1l" // sesame

// world is a home with a receiver.
type world struct {
	*testing.T
	person *service.Service
	rows   *store.Store
	server *httptest.Server
	now    time.Time

	mu     sync.Mutex
	got    []received
	answer func(w http.ResponseWriter, r *http.Request, n int) // of the n-th request; nil: 204
}

// received is a request that the receiver got.
type received struct {
	id    string
	trace string
	body  []byte
	m     Message
}

func newWorld(t *testing.T) *world {
	w := &world{T: t, now: time.Now()}
	root := t.TempDir()
	for name, text := range map[string]string{
		"config.toml": "model = \"m\"\nusername = \"anna\"\n[[models]]\nid = \"m\"\nprovider = \"scripted\"\nrules = \"rules.toml\"\n[[agents]]\nid = \"coder\"\n", "rules.toml": "",
	} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a := app.New(app.Options{Root: root, Getenv: func(string) string { return "" }, Dir: root})
	t.Cleanup(func() { _ = a.Close() })
	a.StayOpen()
	var err error
	if w.person, err = service.OpenOffline(t.Context(), a, api.Principal{Kind: api.Person, Name: "anna", Door: api.DoorCLI}); err != nil {
		t.Fatal(err)
	}
	if w.rows, err = a.Store(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.server = httptest.NewServer(http.HandlerFunc(w.receive))
	t.Cleanup(w.server.Close)
	return w
}

// receive checks a signature as any receiver would, and takes the message.
func (w *world) receive(out http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	id, at := r.Header.Get("webhook-id"), r.Header.Get("webhook-timestamp")
	mac := hmac.New(sha256.New, []byte("sesame"))
	mac.Write([]byte(id + "." + at + "."))
	mac.Write(body)
	if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); r.Header.Get("webhook-signature") != want {
		w.Errorf("signed %q, want %q", r.Header.Get("webhook-signature"), want)
	}
	one := received{id: id, trace: r.Header.Get("Traceparent"), body: body}
	if err := json.Unmarshal(body, &one.m); err != nil || one.m.ID != id {
		w.Errorf("%v %s", err, body)
	}
	w.mu.Lock()
	w.got = append(w.got, one)
	n, answer := len(w.got), w.answer
	w.mu.Unlock()
	if answer == nil {
		out.WriteHeader(http.StatusNoContent)
		return
	}
	answer(out, r, n)
}

// worker returns a worker, as a new process has one.
func (w *world) worker(url string) (*Worker, *Poster) {
	post := NewPoster(url, false, nil)
	w.Cleanup(post.Close)
	events := w.person.As(api.Principal{Kind: api.System, Name: "hub", Door: api.DoorHub})
	return &Worker{
		Place: delivery.Place{Receiver: url, Rows: w.rows, Now: func() time.Time { return w.now }}, Kinds: []string{"entry", "request"}, Home: "home",
		Events: func(ctx context.Context, from api.Cursor) iter.Seq2[api.Event, error] {
			return events.Events(ctx, api.Scope{}, from)
		},
		Trace: func(e api.Event) string { return "trace of " + e.Chain + e.Request },
		Post: func(ctx context.Context, id, trace string, body []byte) error {
			return post.Post(ctx, secret, id, w.now, trace, body)
		},
	}, post
}

func (w *world) step(k *Worker) time.Duration {
	w.Helper()
	wait, err := k.Step(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	return wait
}

// say posts messages in a chat.
func (w *world) say(chat string, n int) {
	w.Helper()
	conv, err := w.person.Chats.Find(w.Context(), chat)
	if fika.IsKind(err, fika.NotFound) {
		conv, err = w.person.Chats.Create(w.Context(), chat)
	}
	for i := range n {
		if err == nil {
			_, err = w.person.Chats.Send(w.Context(), conv, fmt.Sprint("secret words ", i), service.Alias{})
		}
	}
	if err != nil {
		w.Fatal(err)
	}
}

// seqs returns conversation and seq of the entries that arrived, without those that came
// again.
func (w *world) seqs() (out []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := map[string]bool{}
	for _, r := range w.got {
		if !seen[r.id] {
			out = append(out, fmt.Sprint(r.m.Event.Conversation, r.m.Event.Seq))
		}
		seen[r.id] = true
	}
	return out
}

// TestEventsArriveInOrderAndSigned: what was committed after the receiver was set arrives
// once, in order, without text; what it did not ask for does not; a new process goes on.
func TestEventsArriveInOrderAndSigned(t *testing.T) {
	w := newWorld(t)
	w.say("a", 1)
	k, _ := w.worker(w.server.URL)
	w.step(k)
	if len(w.got) != 0 {
		t.Errorf("what was before arrives: %s", w.got[0].body)
	}
	w.say("a", 2)
	w.say("b", 1) // also an event about a conversation
	w.step(k)
	w.say("a", 1)
	next, _ := w.worker(w.server.URL)
	w.step(next)
	w.step(next)
	if got, want := w.seqs(), []string{"a2", "a3", "b1", "a4"}; !slices.Equal(got, want) || len(w.got) != len(want) {
		t.Errorf("got %v (%d requests), want %v", got, len(w.got), want)
	}
	for _, r := range w.got {
		if strings.Contains(string(r.body), "secret words") || r.m.Home != "home" || r.m.Event.Cursor == "" {
			t.Errorf("%s", r.body)
		}
	}
}

// TestAReceiverThatFailsIsWaitedFor: an event that is answered with an error, or not at all,
// comes again under its id, later each time, before all that follow, also from a new process.
func TestAReceiverThatFailsIsWaitedFor(t *testing.T) {
	w := newWorld(t)
	k, post := w.worker(w.server.URL)
	w.step(k)
	w.say("a", 3)
	hang := make(chan struct{})
	defer close(hang)
	post.client.Timeout = 100 * time.Millisecond
	w.answer = func(out http.ResponseWriter, r *http.Request, n int) {
		switch n {
		case 1:
			out.WriteHeader(http.StatusInternalServerError)
		case 2:
			select {
			case <-hang:
			case <-r.Context().Done():
			}
		case 3:
			panic(http.ErrAbortHandler)
		case 4:
			out.WriteHeader(http.StatusTooManyRequests)
		}
	}
	first := w.step(k)
	state, err := w.rows.Webhook(t.Context(), k.Receiver)
	if err != nil || state.Tries != 1 || !strings.Contains(state.Error, "HTTP 500") || first <= 0 || state.Next.IsZero() {
		t.Errorf("%+v %v", state, err)
	}
	if w.step(k); len(w.got) != 1 {
		t.Error("it does not wait")
	}
	k, post = w.worker(w.server.URL) // another process
	post.client.Timeout = 100 * time.Millisecond
	if w.step(k); len(w.got) != 1 {
		t.Error("a new process does not wait")
	}
	for range 6 {
		w.now = w.now.Add(time.Minute)
		w.step(k)
	}
	ids := map[string]int{}
	for _, r := range w.got {
		ids[r.id]++
	}
	if got := w.seqs(); !slices.Equal(got, []string{"a1", "a2", "a3"}) || len(w.got) != 7 || ids[w.got[0].id] != 5 {
		t.Errorf("got %v in %d requests, %v", got, len(w.got), ids)
	}
	if state, err := w.rows.Webhook(t.Context(), k.Receiver); err != nil || state.Tries != 0 || state.Error != "" || state.Delivered.IsZero() {
		t.Errorf("%+v %v", state, err)
	}
}

// TestAReceiverThatIsDownForAnHour: attempts are few, nothing piles up, and then all arrives
// in order.
func TestAReceiverThatIsDownForAnHour(t *testing.T) {
	w := newWorld(t)
	k, _ := w.worker(w.server.URL)
	w.step(k)
	tries := 0
	up := k.Post
	k.Post = func(context.Context, string, string, []byte) error { tries++; return fmt.Errorf("connection refused") }
	for range 60 {
		w.say("a", 1)
		for range 60 {
			w.step(k)
			w.now = w.now.Add(time.Second)
		}
	}
	list, err := w.rows.Deliveries(t.Context(), k.Receiver, false)
	if err != nil || len(list) != 0 || tries < 12 || tries > 40 {
		t.Errorf("%d attempts, %d refused: %v", tries, len(list), err)
	}
	k.Post = up
	w.now = w.now.Add(delivery.LastWait)
	w.step(k)
	got := w.seqs()
	for i := range 60 {
		if len(got) != 60 || got[i] != fmt.Sprint("a", i+1) {
			t.Fatalf("got %v", got)
		}
	}
}

// TestRefusedEventsCanBeSentAgain: what a receiver does not want, and what it redirects, is
// listed, holds up nothing, and is sent again under its id when a person wants that.
func TestRefusedEventsCanBeSentAgain(t *testing.T) {
	w := newWorld(t)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect is followed") }))
	defer elsewhere.Close()
	k, _ := w.worker(w.server.URL)
	w.step(k)
	w.say("a", 3)
	w.answer = func(out http.ResponseWriter, r *http.Request, n int) {
		switch n {
		case 1:
			out.WriteHeader(http.StatusBadRequest)
		case 2:
			http.Redirect(out, r, elsewhere.URL, http.StatusTemporaryRedirect)
		}
	}
	w.step(k)
	list, err := w.person.Webhooks().List(t.Context())
	if err != nil || len(list) != 0 {
		t.Errorf("one that the settings do not name is listed: %v %v", list, err)
	}
	refused, err := w.rows.Deliveries(t.Context(), "", false)
	if err != nil || len(refused) != 2 || refused[0].ID != w.got[0].id || !strings.Contains(refused[0].Error, "HTTP 400") || !strings.Contains(refused[1].Error, "redirects are not followed") {
		t.Fatalf("%+v %v", refused, err)
	}
	if got := w.seqs(); !slices.Equal(got, []string{"a1", "a2", "a3"}) {
		t.Errorf("got %v", got)
	}
	if _, err := w.person.Webhooks().Retry(t.Context(), "evt_none"); !fika.IsKind(err, fika.NotFound) {
		t.Error(err)
	}
	for _, id := range []string{refused[1].ID, ""} {
		if _, err := w.person.Webhooks().Retry(t.Context(), id); err != nil {
			t.Error(err)
		}
		w.step(k)
	}
	if len(w.got) != 5 || w.got[3].id != refused[1].ID || string(w.got[4].body) != refused[0].Body {
		t.Errorf("%d requests", len(w.got))
	}
	if refused, err := w.rows.Deliveries(t.Context(), "", false); err != nil || len(refused) != 0 {
		t.Errorf("%+v %v", refused, err)
	}
}

// TestAnEventIsGivenUp: one that fails for a day counts as refused, and the next follow.
func TestAnEventIsGivenUp(t *testing.T) {
	w := newWorld(t)
	k, _ := w.worker(w.server.URL)
	w.step(k)
	w.say("a", 2)
	up := k.Post
	k.Post = func(_ context.Context, id, _ string, _ []byte) error {
		return fmt.Errorf("%s", strings.Repeat("no ", 1000))
	}
	w.step(k)
	w.now = w.now.Add(patience + time.Minute)
	w.step(k)
	k.Post = up
	w.now = w.now.Add(time.Minute)
	w.step(k)
	refused, err := w.rows.Deliveries(t.Context(), "", false)
	if err != nil || len(refused) != 1 || !strings.HasPrefix(refused[0].Error, "given up after 2 attempts: no no") || len(refused[0].Error) > 400 {
		t.Errorf("%+v %v", refused, err)
	}
	if got := w.seqs(); !slices.Equal(got, []string{"a2"}) {
		t.Errorf("got %v", got)
	}
}

// TestEventsThatAreGone: a receiver whose next event was removed with age goes on with the
// oldest that is there, and the hole is listed.
func TestEventsThatAreGone(t *testing.T) {
	w := newWorld(t)
	k, _ := w.worker(w.server.URL)
	w.say("a", 1)
	w.step(k)
	state, err := w.rows.Webhook(t.Context(), k.Receiver)
	if err != nil {
		t.Fatal(err)
	}
	state.Place.At++ // an event that is not there
	if err := w.rows.KeepWebhook(t.Context(), state); err != nil {
		t.Fatal(err)
	}
	k, _ = w.worker(w.server.URL)
	w.step(k)
	w.step(k)
	refused, err := w.rows.Deliveries(t.Context(), "", false)
	if err != nil || len(refused) != 1 || !strings.Contains(refused[0].Body, `"lost_after":`) || len(w.got) == 0 {
		t.Errorf("%+v %v, %d requests", refused, err, len(w.got))
	}
}

// TestNothingIsSentElsewhere: not to private addresses behind a name, not to the page of the
// home.
func TestNothingIsSentElsewhere(t *testing.T) {
	w := newWorld(t)
	own := func(a netip.AddrPort) bool { return "http://"+a.String() == w.server.URL }
	if err := NewPoster(w.server.URL, false, own).Post(t.Context(), secret, "x", w.now, "", []byte("{}")); !fika.IsKind(err, fika.Denied) || len(w.got) != 0 {
		t.Errorf("to the page itself: %v", err)
	}
	for _, url := range []string{"https://localhost.localdomain./x", "https://ip6-localhost/x", "https://2130706433/", "https://0x7f.1/"} {
		if err := NewPoster(url, false, nil).Post(t.Context(), secret, "x", w.now, "", []byte("{}")); err == nil {
			t.Errorf("%s: %v", url, err)
		}
	}
}
