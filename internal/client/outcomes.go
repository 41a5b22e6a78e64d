package client

import (
	"errors"

	"fika/internal/bus"
)

// Outcomes wakes whoever waits for many requests at once.
type Outcomes struct {
	// Ended is written to when some request may have its outcome; capacity 1, so
	// that one look reads any number of them.
	Ended <-chan struct{}
	// News are lines about the bus; capacity 8: display only.
	News <-chan string

	subs []bus.Subscription
}

// Outcomes listens to what agents answer, and to how the bus is.
func (s *Requests) Outcomes() (*Outcomes, error) {
	ended, news := make(chan struct{}, 1), make(chan string, 8)
	sub, err := s.c.bus.Subscribe(s.c.subjects.Response("*"), func(bus.Msg) {
		select {
		case ended <- struct{}{}:
		default:
		}
	})
	if err != nil {
		return nil, err
	}
	last := bus.Connected
	watch := s.c.bus.Watch(func(st bus.State, _ error) {
		if st == last || st == bus.Closed || st == bus.Off {
			return
		}
		last = st
		text := "the bus is back"
		if st != bus.Connected {
			text = "the bus is away; work goes on, and outcomes are read from the store"
		}
		select {
		case news <- text:
		default:
		}
	})
	return &Outcomes{Ended: ended, News: news, subs: []bus.Subscription{sub, watch}}, nil
}

// Close ends the listening.
func (o *Outcomes) Close() error {
	var errs []error
	for _, s := range o.subs {
		errs = append(errs, s.Close())
	}
	o.subs = nil
	return errors.Join(errs...)
}

// BusLine says how a console is connected.
func (c *Client) BusLine() string {
	if !c.Connected() {
		return "Not connected: no hub is running, so requests wait in the store (fika up)"
	}
	return "Connected to the bus (" + c.subjects.All() + ")"
}
