package storetest

import (
	"sync"
	"time"
)

// Clock is the time of the stores under test; it moves only when told to.
// Safe for concurrent use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock gives a clock that stands at some moment.
func NewClock() *Clock {
	return &Clock{now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}
}

// Now is the present moment.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock on.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
