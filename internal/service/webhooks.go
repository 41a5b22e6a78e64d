package service

import (
	"context"

	"fika/internal/settings/config"
	"fika/internal/store"
)

// Webhooks is the interface to the receivers of events.
type Webhooks struct{ c *Service }

// Webhooks returns the interface to the receivers of events that the settings name.
func (c *Service) Webhooks() *Webhooks { return &Webhooks{c} }

// TracesEvent stands for the events that a collector is sent: traces of what has ended.
const TracesEvent = "traces"

// Delivery is an event that a receiver has refused.
type Delivery = store.Delivery

// Webhook is a receiver with how it stands: a [[webhooks]] entry, or the collector of
// [otlp], whose only event is [TracesEvent].
type Webhook struct {
	config.Webhook
	store.WebhookState
	Secret  error      // why it cannot be signed; nil: it can
	Refused []Delivery // oldest first
}

// List returns the receivers in the order of the settings, if the caller sees everything,
// and none otherwise.
func (h *Webhooks) List(ctx context.Context) (out []Webhook, err error) {
	v := h.c.sight()
	return atMost(v, 0, func(int, int, Webhook) ([]Webhook, error) { return h.all(ctx) }, func(Webhook) (bool, error) { return false, nil })
}

func (h *Webhooks) all(ctx context.Context) (out []Webhook, err error) {
	states, err := h.c.store.ListWebhooks(ctx)
	if err != nil {
		return nil, err
	}
	c := h.c.config()
	add := func(w config.Webhook, receiver string, secret error) error {
		one := Webhook{Webhook: w, Secret: secret}
		for _, s := range states {
			if s.URL == receiver {
				one.WebhookState = s
			}
		}
		var err error
		one.Refused, err = h.c.store.Deliveries(ctx, receiver, false)
		out = append(out, one)
		return err
	}
	for _, w := range c.Webhooks {
		_, secret := h.c.app.WebhookSecret(w)
		if err := add(w, w.URL, secret); err != nil {
			return nil, err
		}
	}
	if to := c.OTLP.Traces(); to != "" {
		_, headers := h.c.app.CollectorHeaders(c.OTLP)
		if err := add(config.Webhook{URL: to, Events: []string{TracesEvent}}, c.OTLP.Receiver(), headers); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Retry has refused events sent again: that of an id, or all if it is empty. It returns how
// many there are, and has receivers that fail tried at once. Error kinds: Denied, NotFound.
func (h *Webhooks) Retry(ctx context.Context, id string) (int, error) {
	if err := h.c.may("webhook.retry"); err != nil {
		return 0, err
	}
	n, err := h.c.store.RetryDeliveries(ctx, id)
	return int(n), err
}
