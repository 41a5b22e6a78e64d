package service_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/api"
	"fika/internal/service"
	"fika/internal/settings/config"
)

func tokenCalls() map[string]call {
	return map[string]call{
		"token.list": counted(func(ctx context.Context, _ *world, s *service.Service) ([]service.Token, error) {
			return s.Tokens().List(ctx)
		}),
		"token.create": failed(func(ctx context.Context, _ *world, s *service.Service) error {
			_, _, err := s.Tokens().Create(ctx, service.NewToken{Name: "board-reader"})
			return err
		}),
		"token.revoke": failed(func(ctx context.Context, _ *world, s *service.Service) error {
			return s.Tokens().Revoke(ctx, "panel-reader")
		}),
		"webhook.list": counted(func(ctx context.Context, _ *world, s *service.Service) ([]service.Webhook, error) {
			return s.Webhooks().List(ctx)
		}),
		"webhook.retry": failed(func(ctx context.Context, _ *world, s *service.Service) error {
			_, err := s.Webhooks().Retry(ctx, "")
			return err
		}),
		"host.list": counted(func(ctx context.Context, _ *world, s *service.Service) ([]service.Host, error) {
			return s.Hosts().List(ctx)
		}),
		"host.show": ofHost(func(ctx context.Context, h *service.Hosts) error {
			_, err := h.Show(ctx, "box")
			return err
		}),
		"host.label":   ofHost(func(ctx context.Context, h *service.Hosts) error { return h.Label(ctx, "box", []string{"gpu"}, nil) }),
		"host.drain":   ofHost(func(ctx context.Context, h *service.Hosts) error { return h.Drain(ctx, "box") }),
		"host.start":   ofHost(func(ctx context.Context, h *service.Hosts) error { return h.Start(ctx, "box") }),
		"host.stop":    ofHost(func(ctx context.Context, h *service.Hosts) error { return h.Stop(ctx, "box") }),
		"host.resume":  ofHost(func(ctx context.Context, h *service.Hosts) error { return h.Resume(ctx, "box") }),
		"host.forget":  ofHost(func(ctx context.Context, h *service.Hosts) error { return h.Forget(ctx, "box", false) }),
		"home.metrics": counted(func(ctx context.Context, _ *world, s *service.Service) ([]api.Metric, error) { return s.Metrics(ctx) }),
	}
}

// ofHost is a call about the host of the world.
func ofHost(do func(context.Context, *service.Hosts) error) call {
	return failed(func(ctx context.Context, _ *world, s *service.Service) error { return do(ctx, s.Hosts()) })
}

func keyedTokens() map[string]keyedWrite {
	revoke := texted(func(ctx context.Context, s *service.Service, text string) (string, error) {
		return "", s.Tokens().Revoke(ctx, text)
	})
	revoke.single = true
	revoke.prepare = func(_ keyHome, s *service.Service) error {
		return errors.Join(second(s.Tokens().Create(context.Background(), service.NewToken{Name: "one"})), second(s.Tokens().Create(context.Background(), service.NewToken{Name: "two"})))
	}
	return map[string]keyedWrite{
		"token.create": texted(func(ctx context.Context, s *service.Service, text string) (string, error) {
			_, k, err := s.Tokens().Create(ctx, service.NewToken{Name: text + "-" + s.Principal().Name})
			return k.Name + k.Hash, err
		}),
		"token.revoke": revoke,
	}
}

// TestAProgramWithATokenIsForeign: it gets in where its token says, reaches the agents that
// the token names, sees what it has asked for itself, and what it asks is tainted and has no
// tools.
func TestAProgramWithATokenIsForeign(t *testing.T) {
	w := walkWorld(t)
	ctx := t.Context()
	secret, made, err := w.person.Tokens().Create(ctx, service.NewToken{Name: "Laptop", Doors: []string{"mcp"}, Agents: []string{"arya"}})
	check(t, err)
	if made.Name != "laptop" || strings.Contains(secret, made.Hash) || made.By != w.person.Principal().Name {
		t.Errorf("made %+v", made)
	}
	for _, wrong := range []string{"", "fika_", secret + "x", secret[:len(secret)-1], made.Hash, strings.ToLower(secret), "laptop"} {
		if _, err := w.person.ByToken(ctx, wrong, api.DoorMCP); !fika.IsKind(err, fika.Denied) {
			t.Errorf("%.20q gets in: %v", wrong, err)
		}
	}
	if _, err := w.person.ByToken(ctx, secret, api.DoorMetrics); !fika.IsKind(err, fika.Denied) {
		t.Errorf("it gets in by another door: %v", err)
	}
	p, err := w.person.ByToken(ctx, secret, api.DoorMCP)
	check(t, err)
	arya, err := p.Agents.Find(ctx, "arya")
	check(t, err)
	accepted, err := p.Requests.Submit(ctx, arya, service.Ask{Kind: fika.AskRequest, Prompt: "hello"})
	check(t, err)
	row, err := w.person.Requests.Request(ctx, accepted.Request.ID)
	check(t, err)
	if row.Taint != "program laptop" || row.Rights == nil || len(row.Rights.Tools) != 0 || row.Payload.Sender != "laptop" {
		t.Errorf("it asks with taint %q, rights %+v, as %q", row.Taint, row.Rights, row.Payload.Sender)
	}
	if _, err := p.Requests.Submit(ctx, w.gendry, service.Ask{Kind: fika.AskRequest, Prompt: "hello"}); !fika.IsKind(err, fika.Denied) {
		t.Errorf("it asks an agent that its token does not name: %v", err)
	}
	if list, err := p.Requests.List(ctx, service.RequestFilter{}); err != nil || len(list) != 1 {
		t.Errorf("it sees %d requests: %v", len(list), err)
	}
	for what, err := range map[string]error{
		"creates a token": second(p.Tokens().Create(ctx, service.NewToken{Name: "mine"})), "revokes one": p.Tokens().Revoke(ctx, "laptop"),
		"pauses": p.ChatControl.PauseAll(ctx), "cancels": cancelled(ctx, p, w.request),
	} {
		if !fika.IsKind(err, fika.Denied) {
			t.Errorf("it %s: %v", what, err)
		}
	}
	list, err := w.person.Tokens().List(ctx)
	check(t, err)
	if len(list) != 1 || list[0].Used.IsZero() {
		t.Errorf("listed: %+v", list)
	}
}

func second(_ string, _ service.Token, err error) error { return err }

func cancelled(ctx context.Context, s *service.Service, id fika.RequestID) error {
	_, err := s.Requests.Cancel(ctx, id, "")
	return err
}

// TestNamesOfTokens: no agent, no person and no other token has the name of a token, and one
// whose name an agent gets later does not count.
func TestNamesOfTokens(t *testing.T) {
	w := walkWorld(t)
	ctx := t.Context()
	for _, n := range []service.NewToken{
		{Name: "arya"}, {Name: "GENDRY"}, {Name: w.person.Principal().Name}, {Name: "master"}, {Name: ""}, {Name: "a_b"}, {Name: "../x"}, {Name: "a\nb"}, {Name: strings.Repeat("x", 33)},
		{Name: "ok", Doors: []string{"page"}}, {Name: "ok", Agents: []string{"nobody"}}, {Name: "ok", Within: -time.Second},
	} {
		if secret, _, err := w.person.Tokens().Create(ctx, n); err == nil || secret != "" {
			t.Errorf("%+v is made: %q", n, secret)
		}
	}
	secret, _, err := w.person.Tokens().Create(ctx, service.NewToken{Name: "later"})
	check(t, err)
	if _, _, err := w.person.Tokens().Create(ctx, service.NewToken{Name: "LATER"}); !fika.IsKind(err, fika.Conflict) {
		t.Errorf("made twice: %v", err)
	}
	check(t, w.home.sql(`INSERT INTO agents (id, name, home_id, created_at) VALUES ('x', 'later', 'h', 1)`))
	if _, err := w.person.ByToken(ctx, secret, api.DoorMCP); !fika.IsKind(err, fika.Denied) {
		t.Errorf("it comes in with the name of an agent: %v", err)
	}
	old, _, err := w.person.Tokens().Create(ctx, service.NewToken{Name: "old", Within: time.Hour})
	check(t, err)
	_, err = w.person.ByToken(ctx, old, api.DoorMCP)
	check(t, err)
	check(t, w.home.sql(`UPDATE tokens SET expires_at = 1 WHERE name = 'old'`))
	if _, err := w.person.ByToken(ctx, old, api.DoorMCP); !fika.IsKind(err, fika.Denied) {
		t.Errorf("it comes in after its end: %v", err)
	}
}

// TestRevokingEndsStreams: a stream of a program ends with its token, whether anything
// happens or not, and shows nothing of what is committed after that.
func TestRevokingEndsStreams(t *testing.T) {
	for _, busy := range []bool{false, true} {
		w := walkWorld(t)
		ctx := t.Context()
		secret, _, err := w.person.Tokens().Create(ctx, service.NewToken{Name: "laptop"})
		check(t, err)
		p, err := w.person.ByToken(ctx, secret, api.DoorMCP)
		check(t, err)
		arya, err := p.Agents.Find(ctx, "arya")
		check(t, err)
		var last error
		seen, late := 0, 0
		for e, err := range p.Watch(ctx, api.Scope{}, api.FromNow) {
			if last = err; err != nil {
				break
			}
			switch {
			case e.Kind == "request":
				late++
			case e.Kind != "mark":
			case seen == 0:
				check(t, w.person.Tokens().Revoke(ctx, "laptop"))
				if busy {
					_, err := p.Requests.Submit(ctx, arya, service.Ask{Kind: fika.AskRequest, Prompt: "hello"})
					check(t, err)
				}
				seen++
			}
		}
		if !fika.IsKind(last, fika.Denied) || late > 0 || seen != 1 {
			t.Errorf("busy %v: the stream ends with %v after %d marks, and shows %d requests", busy, last, seen, late)
		}
		if _, err := w.person.ByToken(ctx, secret, api.DoorMCP); !fika.IsKind(err, fika.Denied) {
			t.Errorf("it still gets in: %v", err)
		}
	}
}

// TestWebhooksKnowEveryKind: what may be asked for in the settings is what there is.
func TestWebhooksKnowEveryKind(t *testing.T) {
	a, b := slices.Sorted(slices.Values(config.EventKinds())), slices.Sorted(slices.Values(service.EventKinds()))
	if !slices.Equal(a, b) {
		t.Errorf("settings know %v, events are %v", a, b)
	}
}
