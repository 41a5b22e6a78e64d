package nats

import (
	"context"
	"slices"
	"testing"
	"time"

	"fika/internal/bus"
)

// BenchmarkBell is one message from a process through a server in another
// process to a subscriber.
func BenchmarkBell(b *testing.B) {
	dir := b.TempDir()
	p := spawn(b, dir)
	defer p.kill()
	from, err := Dial(context.Background(), Options{Redial: RedialFrom(dir, UserMember)})
	must(b, err)
	to, err := Dial(context.Background(), Options{Redial: RedialFrom(dir, UserMember)})
	must(b, err)
	heard := make(chan time.Time)
	_, err = to.Subscribe("fika.agent.coder.bell", func(bus.Msg) { heard <- time.Now() })
	must(b, err)
	must(b, to.Flush(context.Background()))
	took := make([]time.Duration, 0, 1024)
	for b.Loop() {
		start := time.Now()
		must(b, from.Publish("fika.agent.coder.bell", nil))
		took = append(took, (<-heard).Sub(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
	must(b, from.Close())
	must(b, to.Close())
}
