package daemon

import (
	"context"
	"iter"
	"net/netip"
	"reflect"
	"sync"

	"fika"
	"fika/internal/api"
	"fika/internal/report/delivery"
	"fika/internal/report/otlp"
	"fika/internal/report/trace"
	"fika/internal/report/webhook"
	"fika/internal/rights/login"
	"fika/internal/service"
	"fika/internal/settings/config"
	"fika/internal/system/crash"
	"fika/internal/system/sleep"
)

// keepWebhooks sends events to the receivers that the settings name, and traces to the
// collector, until ctx ends.
func (h hubHome) keepWebhooks(ctx context.Context, home string, events *service.Service) {
	h.keepEach(ctx, func(c *config.Config) map[string]any {
		wanted := map[string]any{}
		for _, w := range c.Webhooks {
			wanted[w.URL] = w
		}
		if c.OTLP.Endpoint != "" {
			wanted[c.OTLP.Receiver()] = c.OTLP
		}
		return wanted
	}, func(ctx context.Context, receiver string, entry any) {
		h.whileHas(ctx, receiverDuty(receiver), func(ctx context.Context) {
			switch entry := entry.(type) {
			case config.Webhook:
				h.sendEvents(ctx, home, events, entry)
			case config.OTLP:
				h.sendTraces(ctx, home, entry)
			}
		})
	})
}

// keepEach runs one function for each entry of the settings that of returns, by its name, until
// ctx ends. It ends the function of an entry that is gone, and begins it anew for one that has
// changed.
func (h hubHome) keepEach(ctx context.Context, of func(*config.Config) map[string]any, run func(ctx context.Context, name string, entry any)) {
	type running struct {
		entry any
		end   context.CancelFunc
	}
	now := map[string]running{}
	var all sync.WaitGroup
	defer all.Wait()
	for {
		wanted := map[string]any{}
		c, err := h.app.Config()
		if err == nil {
			wanted = of(c)
		}
		for name, r := range now {
			if w, found := wanted[name]; err == nil && (!found || !reflect.DeepEqual(w, r.entry)) {
				r.end()
				delete(now, name)
			}
		}
		for name, w := range wanted {
			if _, found := now[name]; !found {
				one, end := context.WithCancel(ctx)
				now[name] = running{w, end}
				all.Go(func() { run(one, name, w) })
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
	post := webhook.NewPoster(entry.URL, entry.Private, h.isPage)
	defer post.Close()
	said := ""
	w := webhook.Worker{
		Place: delivery.Place{Receiver: entry.URL, Rows: h.store, Now: h.store.Now}, Kinds: entry.Events, Home: home,
		Events: func(ctx context.Context, from api.Cursor) iter.Seq2[api.Event, error] {
			return events.Events(ctx, api.Scope{}, from)
		},
		Trace: func(e api.Event) string {
			if c, err := h.app.Config(); err != nil || c.OTLP.Endpoint == "" {
				return ""
			}
			return trace.Parent(home, fika.RequestID(e.Chain), fika.RequestID(e.Request))
		},
		Post: func(ctx context.Context, id, trace string, body []byte) error {
			secret, err := h.app.WebhookSecret(entry)
			if err != nil {
				return err
			}
			return post.Post(ctx, secret, id, h.store.Now(), trace, body)
		},
	}
	w.Run(ctx, func(err error) {
		if err.Error() != said {
			said = err.Error()
			h.app.Log().Warn("webhook", "url", entry.URL, "err", err)
		}
	})
}

// isPage reports whether an address is the page of this home.
func (h hubHome) isPage(a netip.AddrPort) bool { return login.In(h.home.RunDir(), h.app.Now).IsAt(a) }

// sendTraces sends traces to a collector until ctx ends.
func (h hubHome) sendTraces(ctx context.Context, home string, entry config.OTLP) {
	post := otlp.NewPoster(entry.Traces(), h.isPage)
	defer post.Close()
	log := h.app.Log().With("endpoint", entry.Endpoint)
	said := ""
	w := otlp.Worker{
		Place: delivery.Place{Receiver: entry.Receiver(), Rows: h.store, Now: h.store.Now}, History: h.store, Resource: otlp.Resource{Home: home, Version: version()},
		Projection: otlp.Projection{Home: home, Provider: h.providerName, Redact: h.app.Secrets().Text, Content: entry.Content},
		Post: func(ctx context.Context, body []byte) (int64, string, error) {
			headers, err := h.app.CollectorHeaders(entry)
			if err != nil {
				return 0, "", otlp.Unset(err)
			}
			return post.Post(ctx, headers, body)
		},
		Lost: func(text string) { log.Warn("otlp", "lost", text) },
	}
	w.Run(ctx, func(err error) {
		if err.Error() != said {
			said = err.Error()
			log.Warn("otlp", "err", err)
		}
	})
}

// providerName returns who makes a model available, as OpenTelemetry names them; empty: the
// settings do not say.
func (h hubHome) providerName(model string) string {
	c, err := h.app.Config()
	if err != nil {
		return ""
	}
	m, err := c.FindModel(model, func(string) string { return "" })
	switch {
	case err != nil:
		return ""
	case m.Provider == config.Gemini:
		return "gcp.gemini"
	case m.Provider == config.Responses:
		return config.OpenAI
	}
	return m.Provider
}
