package daemon

import (
	"context"
	"iter"
	"net/netip"
	"reflect"
	"sync"

	"fika/internal/api"
	"fika/internal/config"
	"fika/internal/crash"
	"fika/internal/login"
	"fika/internal/service"
	"fika/internal/sleep"
	"fika/internal/webhook"
)

// keepWebhooks sends events to the receivers that the settings name, until ctx ends.
func (h hubHome) keepWebhooks(ctx context.Context, home string, events *service.Service) {
	type running struct {
		entry config.Webhook
		end   context.CancelFunc
	}
	now := map[string]running{}
	var all sync.WaitGroup
	defer all.Wait()
	for {
		c, err := h.app.Config()
		wanted := map[string]config.Webhook{}
		if err == nil {
			for _, w := range c.Webhooks {
				wanted[w.URL] = w
			}
		}
		for url, r := range now {
			if w, found := wanted[url]; err == nil && (!found || !reflect.DeepEqual(w, r.entry)) {
				r.end()
				delete(now, url)
			}
		}
		for url, w := range wanted {
			if _, found := now[url]; !found {
				one, end := context.WithCancel(ctx)
				now[url] = running{w, end}
				all.Go(func() { h.sendEvents(one, home, events, w) })
			}
		}
		if sleep.For(ctx, crash.Pace(chatsLook)) != nil {
			for _, r := range now {
				r.end()
			}
			return
		}
	}
}

// sendsEvents reports whether the settings name a receiver of events.
func (h hubHome) sendsEvents() bool {
	c, err := h.app.Config()
	return err == nil && len(c.Webhooks) > 0
}

// sendEvents sends events to one receiver until ctx ends.
func (h hubHome) sendEvents(ctx context.Context, home string, events *service.Service, entry config.Webhook) {
	post := webhook.NewPoster(entry.URL, entry.Private, func(a netip.AddrPort) bool { return login.In(h.home.RunDir(), h.app.Now).IsAt(a) })
	defer post.Close()
	said := ""
	w := webhook.Worker{
		URL: entry.URL, Kinds: entry.Events, Home: home, Rows: h.store, Now: h.app.Now,
		Events: func(ctx context.Context, from api.Cursor) iter.Seq2[api.Event, error] {
			return events.Events(ctx, api.Scope{}, from)
		},
		Post: func(ctx context.Context, id string, body []byte) error {
			secret, err := h.app.WebhookSecret(entry)
			if err != nil {
				return err
			}
			return post.Post(ctx, secret, id, h.app.Now(), body)
		},
	}
	w.Run(ctx, func(err error) {
		if err.Error() != said {
			said = err.Error()
			h.app.Log().Warn("webhook", "url", entry.URL, "err", err)
		}
	})
}
