package app

import (
	"context"

	"fika/internal/bus"
	"fika/internal/redact"
)

// CleanBus takes keys out of what a process says on the bus.
type CleanBus struct {
	bus.Bus
	Keys *redact.Keys
}

// Publish implements [bus.Bus].
func (c CleanBus) Publish(subject string, data []byte) error {
	return c.Bus.Publish(subject, c.Keys.Bytes(data))
}

// Request implements [bus.Bus].
func (c CleanBus) Request(ctx context.Context, subject string, data []byte) ([]byte, error) {
	return c.Bus.Request(ctx, subject, c.Keys.Bytes(data))
}
