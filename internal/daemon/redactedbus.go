package daemon

import (
	"context"

	"fika/internal/bus"
	"fika/internal/text/redact"
)

// redactedBus removes keys from what a process publishes on the bus.
type redactedBus struct {
	bus.Bus
	keys *redact.Keys
}

// Publish implements [bus.Bus].
func (r redactedBus) Publish(subject string, data []byte) error {
	return r.Bus.Publish(subject, r.keys.Bytes(data))
}

// Subscribe implements [bus.Bus]: what h answers is redacted, too.
func (r redactedBus) Subscribe(subject string, h func(bus.Msg)) (bus.Subscription, error) {
	return r.Bus.Subscribe(subject, func(m bus.Msg) {
		if answer := m.Respond; answer != nil {
			m.Respond = func(data []byte) error { return answer(r.keys.Bytes(data)) }
		}
		h(m)
	})
}

// Request implements [bus.Bus].
func (r redactedBus) Request(ctx context.Context, subject string, data []byte) ([]byte, error) {
	return r.Bus.Request(ctx, subject, r.keys.Bytes(data))
}
