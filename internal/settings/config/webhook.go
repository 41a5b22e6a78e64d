package config

import (
	"net/url"
	"slices"

	"fika/internal/settings/toml"
	"fika/internal/system/address"
)

// Webhook is a receiver of events over HTTP.
type Webhook struct {
	URL       string
	Events    []string // kinds
	SecretEnv string   // the variable, or the stored key, whose value signs what is sent
	Private   bool     // the host may be at a private address
}

func defaultWebhook() Webhook { return Webhook{Events: []string{"request", "approval"}} }

// EventKinds lists the kinds of events that a webhook may ask for.
func EventKinds() []string {
	return []string{"entry", "request", "step", "approval", "pause", "agent", "conversation", "run", "access", "input", "task", "job", "offer"}
}

func webhookKeys() []key[Webhook] {
	return []key[Webhook]{
		{name: "url", at: func(w *Webhook) any { return &w.URL }, check: checkWebhook, example: `"https://example.com/fika"`,
			doc: "The address to which the hub posts events: https, or http on this machine. Redirects are not followed. Required."},
		{name: "events", at: func(w *Webhook) any { return &w.Events }, check: checkEvents, example: `["request", "approval"]`,
			doc: "The kinds of events, as fika conversation events shows them."},
		{name: "secret_env", at: func(w *Webhook) any { return &w.SecretEnv }, check: checkEnvName, example: `"FIKA_WEBHOOK_SECRET"`,
			doc: "The environment variable of the hub, or the key stored with fika key set, that signs what is sent. Required."},
		{name: "private", at: func(w *Webhook) any { return &w.Private },
			doc: "Allows a host name that leads to a private address of your own network. An address that is written as a number needs no permission."},
	}
}

func checkWebhook(v value, at any) string {
	if wrong := checkURL(v, at); wrong != "" {
		return wrong
	}
	u, err := url.Parse(v.Text)
	switch {
	case err != nil:
		return err.Error()
	case u.Scheme == "http" && !address.IsLoopback(u.Hostname()):
		return "what is sent to " + u.Host + " over plain http can be read by others: use https"
	case u.Fragment != "":
		return "an address for requests has no #"
	}
	return ""
}

func checkEvents(_ value, at any) string {
	list := *at.(*[]string)
	if len(list) == 0 {
		return "needs at least one kind of event"
	}
	for _, kind := range list {
		if !slices.Contains(EventKinds(), kind) {
			return toml.Quote(kind) + " is not a kind of event; fika conversation events shows them"
		}
	}
	return ""
}

// readWebhooks reads [[webhooks]].
func (r *reader) readWebhooks(v value, path string, list *[]Webhook) bool {
	return readTables(r, v, path, list, webhookKeys(), func(value) Webhook { return defaultWebhook() }, func(item value, w *Webhook) {
		r.needKey(item, "url", "this webhook has no url: give it one, as in url = \"https://example.com/fika\"")
		r.needKey(item, "secret_env", "this webhook has no secret_env: name the variable or stored key that signs what is sent")
		for _, other := range *list {
			if other.URL == w.URL && w.URL != "" {
				r.Problem(item.At, "the webhook %s is defined twice", toml.Quote(w.URL))
			}
		}
	})
}
