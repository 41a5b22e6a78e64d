package nats

import (
	"context"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fika/internal/bus"
)

// TestRequestsOfAnOlderStreamAreCarriedOver: what programs had published to the stream of
// an older fika, and no hub had read, is read by the newer one, and nothing is called
// damaged (row F2).
func TestRequestsOfAnOlderStreamAreCarriedOver(t *testing.T) {
	// Before there was an intake, and before there were members.
	for name, stored := range map[string]string{"without intake": "fika.agent.*.request", "without members": "_requests.fika.agent.*.request"} {
		t.Run(name, func(t *testing.T) {
			h := &home{dir: t.TempDir()}
			leaveOlderStream(t, h, stored)
			h.up(t)
			t.Cleanup(func() { h.down(t) })
			in, err := h.server.OpenInbound(deadline(t), h.open(t, UserHub), InboundOptions{Prefix: "fika"})
			must(t, err)
			if damaged := DamageWarnings(h.dir); len(damaged) > 0 {
				t.Errorf("it says %q", damaged)
			}
			ctx, stop := context.WithCancel(t.Context())
			got := make(chan string, 10)
			done := make(chan error, 1)
			go func() {
				done <- in.Consume(ctx, func(_ context.Context, m bus.Msg) error {
					got <- m.Subject + " " + string(m.Data)
					return nil
				})
			}()
			for _, want := range []string{"fika.agent.coder.request unread 1", "fika.agent.coder.request unread 2"} {
				for text := next(t, got); text != want; text = next(t, got) {
					if text != "fika.agent.coder.request read" { // what was read may come again, and is recognised by its id
						t.Fatalf("got %q, not %q", text, want)
					}
				}
			}
			stop()
			must(t, <-done)
		})
	}
}

// leaveOlderStream leaves a stream with one request that was read and two that were not.
func leaveOlderStream(t *testing.T, h *home, stored string) {
	t.Helper()
	ns, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true, StoreDir: h.options(t).Dir})
	must(t, err)
	ns.Start()
	defer ns.WaitForShutdown()
	defer ns.Shutdown()
	if !ns.ReadyForConnections(patience) {
		t.Fatal("the server does not come up")
	}
	nc, err := nats.Connect("", nats.InProcessServer(ns))
	must(t, err)
	defer nc.Close()
	js, err := jetstream.New(nc)
	must(t, err)
	ctx := deadline(t)
	stream, err := js.CreateStream(ctx, jetstream.StreamConfig{
		Name: "FIKA_REQUESTS", Subjects: []string{stored, "_canary.fika"}, Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew,
		Storage: jetstream.FileStorage, MaxBytes: defaultStreamBytes, MaxMsgSize: maxStreamMsg,
	})
	must(t, err)
	config := jetstream.ConsumerConfig{Durable: hubConsumer, AckPolicy: jetstream.AckExplicitPolicy, AckWait: ackWait, MaxDeliver: -1, MaxAckPending: 8 * pullBatch}
	prefix := ""
	if stored == "fika.agent.*.request" {
		config.FilterSubject = stored
	} else {
		prefix = "_requests."
		config.FilterSubjects = []string{stored, "fika.agent.*.request"}
	}
	cons, err := stream.CreateConsumer(ctx, config)
	must(t, err)
	for _, text := range []string{"read", "unread 1", "unread 2"} {
		_, err := js.Publish(ctx, prefix+"fika.agent.coder.request", []byte(text))
		must(t, err)
	}
	m, err := cons.Next()
	must(t, err)
	must(t, m.DoubleAck(ctx))
	if string(m.Data()) != "read" {
		t.Fatalf("read %q", m.Data())
	}
}
