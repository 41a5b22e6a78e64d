package service

import (
	"errors"

	"fika/internal/bus"
	"fika/internal/text/hint"
)

// Outcomes wakes a caller that waits for many requests at once.
type Outcomes struct {
	// Ended receives a value when some request may have its outcome. Its capacity is 1,
	// because one look covers any number of them.
	Ended <-chan struct{}
	// News receives lines about the bus; capacity 8, for display only.
	News <-chan string

	subs []bus.Subscription
}

// Outcomes listens to the responses of agents and to the state of the bus.
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
			text = "the bus is away; work continues, and outcomes are read from the store"
		}
		select {
		case news <- text:
		default:
		}
	})
	return &Outcomes{Ended: ended, News: news, subs: []bus.Subscription{sub, watch}}, nil
}

// Close stops listening.
func (o *Outcomes) Close() error {
	var errs []error
	for _, s := range o.subs {
		errs = append(errs, s.Close())
	}
	o.subs = nil
	return errors.Join(errs...)
}

// BusLine says how a console is connected.
func (c *Service) BusLine() string {
	if !c.Connected() {
		return "Not connected: no hub is running, so requests wait in the store (" + hint.Up.With() + ")"
	}
	return "Connected to the bus (" + c.subjects.All() + ")"
}
