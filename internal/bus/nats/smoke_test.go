package nats

import (
	"context"
	"testing"
	"time"

	"fika/internal/bus"
)

func TestSmoke(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	dir := t.TempDir()
	t0 := time.Now()
	s, err := StartServer(ctx, ServerOptions{Dir: dir + "/js", RunDir: dir, Prefix: "fika"})
	if err != nil {
		t.Fatal(err)
	}
	t.Log("start", time.Since(t0))
	b, err := Dial(ctx, Options{Redial: RedialFrom(dir, UserHub), Retry: true})
	if err != nil {
		t.Fatal(err)
	}
	in, err := OpenInbound(ctx, b, InboundOptions{Prefix: "fika"})
	if err != nil {
		t.Fatal(err)
	}
	if err := in.Probe(ctx, time.Second); err != nil {
		t.Fatal(err)
	}
	got := make(chan string, 10)
	cctx, stop := context.WithCancel(ctx)
	done := make(chan error)
	go func() {
		done <- in.Consume(cctx, func(_ context.Context, m bus.Msg) error { got <- string(m.Data); return nil })
	}()
	_, err = in.(*inbound).js.Publish(ctx, "fika.agent.coder.request", []byte("x"))
	t.Log(<-got, err)
	if err := s.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	t1 := time.Now()
	for in.Probe(ctx, 100*time.Millisecond) != nil {
	}
	_, err = in.(*inbound).js.Publish(ctx, "fika.agent.coder.request", []byte("y"))
	t.Log(<-got, err, time.Since(t1))
	stop()
	t.Log(<-done, b.Close(), s.Shutdown(ctx))
}
