package nats

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"fika"
	"fika/internal/bus"
	"fika/internal/bus/bustest"
)

// TestC1PlainServer: a server that keeps nothing is heard all the same, with
// what it lacks said; when it keeps a stream later the requests come from there.
func TestC1PlainServer(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t, bustest.AnyPort, "")
	url := s.ClientURL()
	b, err := Dial(deadline(t), Options{URL: url, ReconnectWait: 10 * time.Millisecond})
	must(t, err)
	t.Cleanup(func() { must(t, b.Close()) })
	in, unkept, err := OpenExternal(deadline(t), b, InboundOptions{Prefix: "fika", Log: func(err error) { t.Log(err) }})
	must(t, err)
	if !errors.Is(unkept, ErrNoJetStream) {
		t.Fatalf("what it lacks is said to be %v", unkept)
	}
	client, err := nats.Connect(url, nats.ReconnectWait(10*time.Millisecond), nats.MaxReconnects(-1))
	must(t, err)
	t.Cleanup(client.Close)
	send := func(body string) {
		t.Helper()
		must(t, client.Publish("fika.agent.coder.request", []byte(body)))
		must(t, client.FlushTimeout(patience))
	}
	send("0") // before anybody consumes
	got := make(chan string, 100)
	failed := atomic.Bool{}
	inbox := inbox{inbound: in.(*external).stream}
	consume := func(in bus.Inbound) func() {
		return consuming(t, in, func(_ context.Context, m bus.Msg) error {
			if string(m.Data) == "2" && failed.CompareAndSwap(false, true) {
				return fika.Errorf(fika.Storage, "", "the disk is full")
			}
			got <- string(m.Data)
			return nil
		})
	}
	stop := consume(in)
	for i := 1; i < 5; i++ {
		send(fmt.Sprint(i))
	}
	for i := range 5 {
		if body := next(t, got); body != fmt.Sprint(i) {
			t.Errorf("message %d is %q", i, body)
		}
	}
	must(t, in.Probe(deadline(t), patience))
	stop()

	port := s.Addr().(*net.TCPAddr).Port
	s.Shutdown()
	s.WaitForShutdown()
	bustest.StartServer(t, port, t.TempDir())
	must(t, b.Flush(deadline(t)))
	in, unkept, err = OpenExternal(deadline(t), b, InboundOptions{Prefix: "fika"})
	if unkept != nil || err != nil {
		t.Fatal(unkept, err)
	}
	inbox.inbound = in.(*external).stream
	send("kept")
	for ctx := deadline(t); inbox.stored(t) != 1; { // a stream stores beside the connection
		must(t, ctx.Err())
	}
	consume(in)
	if body := next(t, got); body != "kept" {
		t.Errorf("got %q", body)
	}
}

// TestC1StreamComesAndGoes: a server that is started again without JetStream is
// heard from then on, and read when it has it again.
func TestC1StreamComesAndGoes(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t, bustest.AnyPort, t.TempDir())
	b, err := Dial(deadline(t), Options{URL: s.ClientURL(), ReconnectWait: 10 * time.Millisecond})
	must(t, err)
	t.Cleanup(func() { must(t, b.Close()) })
	in, unkept, err := OpenExternal(deadline(t), b, InboundOptions{Prefix: "fika"})
	if unkept != nil || err != nil {
		t.Fatal(unkept, err)
	}
	x := in.(*external)
	x.look = 10 * time.Millisecond
	got, handler := collect()
	consuming(t, in, handler)
	again := func(dir string) {
		t.Helper()
		jetStream := dir != ""
		port := s.Addr().(*net.TCPAddr).Port
		s.Shutdown()
		s.WaitForShutdown()
		s = bustest.StartServer(t, port, dir)
		look := time.NewTicker(time.Millisecond)
		defer look.Stop()
		for ctx := deadline(t); x.plain.Load() == jetStream; <-look.C {
			if ctx.Err() != nil {
				t.Fatal("it does not notice")
			}
		}
		must(t, b.Publish("fika.agent.coder.request", fmt.Append(nil, jetStream)))
		if body := next(t, got); body != fmt.Sprint(jetStream) {
			t.Errorf("got %q", body)
		}
	}
	again("")
	again(t.TempDir())
}
