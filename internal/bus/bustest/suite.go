package bustest

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fika"
	"fika/internal/bus"
)

// Fixture is a bus under test.
type Fixture struct {
	Dial func(t *testing.T) bus.Bus // another connection; the suite closes it
	Down func(t *testing.T)         // takes the server away; nil: such tests are skipped
	Up   func(t *testing.T)         // brings it back at the same place
}

// patience bounds every wait for an event that must come.
const patience = time.Minute

// Run tests an implementation against the contract of bus.Bus. open is called for each
// test and cleans up through t.
func Run(t *testing.T, open func(t *testing.T) Fixture) {
	tests := []struct {
		name string
		run  func(*testing.T, Fixture)
	}{
		{"Order", testOrder},
		{"Wildcards", testWildcards},
		{"OwnCopies", testOwnCopies},
		{"RequestReply", testRequest},
		{"NoResponders", testNoResponders},
		{"RequestGivesUp", testRequestGivesUp},
		{"PayloadLimit", testPayload},
		{"BadSubjects", testBadSubjects},
		{"CloseSubscription", testCloseSubscription},
		{"CloseJoins", testClose},
		{"Reconnect", testReconnect},
		{"BufferLimit", testBufferLimit},
		{"ManyPublishers", testManyPublishers},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { tt.run(t, open(t)) })
	}
}

func (f Fixture) dial(t *testing.T) bus.Bus {
	t.Helper()
	b := f.Dial(t)
	t.Cleanup(func() { must(t, b.Close()) })
	return b
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantKind(t *testing.T, err error, kind fika.Kind) {
	t.Helper()
	if !fika.IsKind(err, kind) {
		t.Fatalf("error is %v, of kind %q; want kind %q", err, fika.KindOf(err), kind)
	}
}

func flush(t *testing.T, b bus.Bus) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	must(t, b.Flush(ctx))
}

// listen subscribes and delivers into a channel of capacity 4096.
func listen(t *testing.T, b bus.Bus, subject string) <-chan bus.Msg {
	t.Helper()
	c := make(chan bus.Msg, 4096)
	_, err := b.Subscribe(subject, func(m bus.Msg) { c <- m })
	must(t, err)
	flush(t, b)
	return c
}

func next[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}

func testOrder(t *testing.T, f Fixture) {
	from, to := f.dial(t), f.dial(t)
	got := listen(t, to, "t.order")
	for i := range 1000 {
		must(t, from.Publish("t.order", strconv.AppendInt(nil, int64(i), 10)))
	}
	for i := range 1000 {
		if m := next(t, got); string(m.Data) != strconv.Itoa(i) || m.Subject != "t.order" {
			t.Fatalf("message %d is %q on %s", i, m.Data, m.Subject)
		}
	}
}

func testWildcards(t *testing.T, f Fixture) {
	b := f.dial(t)
	one, all := listen(t, b, "t.*.bell"), listen(t, b, "t.>")
	for _, s := range []string{"t.a.bell", "t.a.b.bell", "t.b.bell", "u.a.bell", "t.a.bells"} {
		must(t, b.Publish(s, nil))
	}
	must(t, b.Publish("t.end.bell", nil))
	read := func(c <-chan bus.Msg) string {
		var subjects []string
		for {
			m := next(t, c)
			if m.Subject == "t.end.bell" {
				return strings.Join(subjects, " ")
			}
			subjects = append(subjects, m.Subject)
		}
	}
	if got := read(one); got != "t.a.bell t.b.bell" {
		t.Errorf("t.*.bell got %s", got)
	}
	if got := read(all); got != "t.a.bell t.a.b.bell t.b.bell t.a.bells" {
		t.Errorf("t.> got %s", got)
	}
}

func testOwnCopies(t *testing.T, f Fixture) {
	b := f.dial(t)
	first, second := listen(t, b, "t.copy"), listen(t, b, "t.copy")
	data := []byte("before")
	must(t, b.Publish("t.copy", data))
	copy(data, "after!")
	a := next(t, first)
	copy(a.Data, "******")
	if m := next(t, second); string(m.Data) != "before" {
		t.Errorf("the second subscriber got %q", m.Data)
	}
	must(t, a.Respond([]byte("to nobody")))
}

func testRequest(t *testing.T, f Fixture) {
	server, client := f.dial(t), f.dial(t)
	_, err := server.Subscribe("t.echo", func(m bus.Msg) {
		if err := m.Respond(append([]byte("re: "), m.Data...)); err != nil {
			t.Error(err)
		}
	})
	must(t, err)
	flush(t, server)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			got, err := client.Request(ctx, "t.echo", fmt.Append(nil, i))
			if err != nil || string(got) != fmt.Sprintf("re: %d", i) {
				t.Errorf("request %d: %q, %v", i, got, err)
			}
		})
	}
	wg.Wait()
}

func testNoResponders(t *testing.T, f Fixture) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err := f.dial(t).Request(ctx, "t.nobody", nil)
	wantKind(t, err, fika.NotFound)
}

func testRequestGivesUp(t *testing.T, f Fixture) {
	b := f.dial(t)
	got := listen(t, b, "t.silent")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-got
		cancel()
	}()
	_, err := b.Request(ctx, "t.silent", nil)
	wantKind(t, err, fika.Interrupted)
	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = b.Request(ctx, "t.silent", nil)
	wantKind(t, err, fika.Failed)
}

func testPayload(t *testing.T, f Fixture) {
	b := f.dial(t)
	got := listen(t, b, "t.big")
	limit := b.MaxPayload()
	if limit < 64<<10 {
		t.Fatalf("MaxPayload is %d", limit)
	}
	err := b.Publish("t.big", make([]byte, limit+1))
	wantKind(t, err, fika.Invalid)
	if !strings.Contains(err.Error(), strconv.Itoa(limit)) || !strings.Contains(err.Error(), "t.big") {
		t.Errorf("the error does not name limit and subject: %v", err)
	}
	_, err = b.Request(t.Context(), "t.big", make([]byte, limit+1))
	wantKind(t, err, fika.Invalid)
	must(t, b.Publish("t.big", make([]byte, limit)))
	if m := next(t, got); len(m.Data) != limit {
		t.Errorf("got %d bytes", len(m.Data))
	}
	must(t, b.Publish("t.big", []byte("still here")))
	if m := next(t, got); string(m.Data) != "still here" {
		t.Errorf("got %q", m.Data)
	}
}

func testBadSubjects(t *testing.T, f Fixture) {
	b := f.dial(t)
	for _, s := range []string{"", ".", "a.", ".a", "a..b", "a.*", "a.>", "a b", "a\r\nPUB x 0"} {
		wantKind(t, b.Publish(s, nil), fika.Invalid)
	}
	flush(t, b)
}

func testCloseSubscription(t *testing.T, f Fixture) {
	b := f.dial(t)
	var closed atomic.Bool
	running := make(chan struct{}, 1)
	s, err := b.Subscribe("t.sub", func(bus.Msg) {
		if closed.Load() {
			t.Error("a handler ran after Close had returned")
		}
		select {
		case running <- struct{}{}:
		default:
		}
	})
	must(t, err)
	other := listen(t, b, "t.sub")
	for range 500 {
		must(t, b.Publish("t.sub", nil))
	}
	next(t, running)
	must(t, s.Close())
	closed.Store(true)
	must(t, s.Close())
	for range 500 {
		next(t, other)
	}
	must(t, b.Publish("t.sub", nil))
	next(t, other)
}

func testClose(t *testing.T, f Fixture) {
	watch, b := f.dial(t), f.Dial(t)
	got := listen(t, watch, "t.last")
	var closed atomic.Bool
	busy, release := make(chan struct{}), make(chan struct{})
	_, err := b.Subscribe("t.close", func(bus.Msg) {
		if closed.Load() {
			t.Error("a handler ran after Close had returned")
		}
		close(busy)
		<-release
	})
	must(t, err)
	var states []bus.State
	b.Watch(func(s bus.State, _ error) { states = append(states, s) })
	must(t, b.Publish("t.close", nil))
	next(t, busy)
	must(t, b.Publish("t.last", []byte("word")))
	ended := make(chan error)
	go func() { ended <- b.Close() }()
	close(release)
	must(t, next(t, ended))
	closed.Store(true)
	must(t, b.Close())
	if m := next(t, got); string(m.Data) != "word" {
		t.Errorf("got %q", m.Data)
	}
	if want := []bus.State{bus.Connected, bus.Closed}; fmt.Sprint(states) != fmt.Sprint(want) {
		t.Errorf("states %v, want %v", states, want)
	}
	wantKind(t, b.Publish("t.close", nil), fika.Failed)
	_, err = b.Subscribe("t.close", func(bus.Msg) {})
	wantKind(t, err, fika.Failed)
	_, err = b.Request(t.Context(), "t.close", nil)
	wantKind(t, err, fika.Failed)
	if b.Flush(t.Context()) == nil {
		t.Error("Flush of a closed bus succeeded")
	}
}

// states watches b into a channel and takes the first state, Connected, off it.
func states(t *testing.T, b bus.Bus) <-chan bus.State {
	t.Helper()
	c := make(chan bus.State, 64)
	b.Watch(func(s bus.State, _ error) { c <- s })
	if s := next(t, c); s != bus.Connected {
		t.Fatalf("at first the state is %s", s)
	}
	return c
}

func testReconnect(t *testing.T, f Fixture) {
	if f.Down == nil {
		t.Skip("the server cannot be taken away")
	}
	from, to := f.dial(t), f.dial(t)
	got := listen(t, to, "t.again")
	fromState, toState := states(t, from), states(t, to)
	for round := range 2 {
		f.Down(t)
		for _, c := range []<-chan bus.State{fromState, toState} {
			if s := next(t, c); s != bus.Reconnecting {
				t.Fatalf("state is %s, want reconnecting", s)
			}
		}
		flushCtx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if from.Flush(flushCtx) == nil {
			t.Error("Flush succeeded without a server")
		}
		cancel()
		f.Up(t)
		// The reader first: nothing is kept for a subscriber that is away.
		if s := next(t, toState); s != bus.Connected {
			t.Fatalf("state is %s, want connected", s)
		}
		flush(t, to)
		if s := next(t, fromState); s != bus.Connected {
			t.Fatalf("state is %s, want connected", s)
		}
		for i := range 10 {
			must(t, from.Publish("t.again", fmt.Append(nil, round, i)))
		}
		for i := range 10 {
			if m := next(t, got); string(m.Data) != fmt.Sprint(round, i) {
				t.Fatalf("got %q", m.Data)
			}
		}
	}
	select {
	case s := <-fromState:
		t.Errorf("a further state: %s", s)
	default:
	}
}

func testBufferLimit(t *testing.T, f Fixture) {
	if f.Down == nil {
		t.Skip("the server cannot be taken away")
	}
	b := f.dial(t)
	got := listen(t, b, "t.kept") // its own: subscribed again before the buffer is sent
	state := states(t, b)
	f.Down(t)
	if s := next(t, state); s != bus.Reconnecting {
		t.Fatalf("state is %s", s)
	}
	chunk := bytes.Repeat([]byte("x"), 256<<10)
	kept := 0
	var err error
	for ; err == nil && kept < 100; kept++ {
		err = b.Publish("t.kept", chunk)
	}
	kept--
	wantKind(t, err, fika.Failed)
	if kept < 30 || kept > 32 {
		t.Errorf("%d messages of 256 KiB were kept; 8 MiB are promised", kept)
	}
	f.Up(t)
	for range kept {
		if m := next(t, got); !bytes.Equal(m.Data, chunk) {
			t.Fatalf("a kept message came back with %d bytes", len(m.Data))
		}
	}
	next(t, state)
	must(t, b.Publish("t.kept", []byte("end")))
	if m := next(t, got); string(m.Data) != "end" {
		t.Errorf("then came %d bytes", len(m.Data))
	}
}

func testManyPublishers(t *testing.T, f Fixture) {
	b := f.dial(t)
	got := listen(t, b, "t.many.>")
	var wg sync.WaitGroup
	for p := range 8 {
		wg.Go(func() {
			for i := range 100 {
				if err := b.Publish(fmt.Sprintf("t.many.%d", p), fmt.Append(nil, i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	seen := map[string]int{}
	for range 800 {
		m := next(t, got)
		if string(m.Data) != strconv.Itoa(seen[m.Subject]) {
			t.Fatalf("%s: got %s after %d messages", m.Subject, m.Data, seen[m.Subject])
		}
		seen[m.Subject]++
	}
}
