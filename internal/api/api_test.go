package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"fika/internal/api"
)

// A verb has one name, an object and a conduct, and repeats in some way exactly if it
// changes something.
func TestEveryVerbIsDeclaredOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, v := range api.Verbs() {
		if seen[v.Name] {
			t.Errorf("%s is declared twice", v.Name)
		}
		seen[v.Name] = true
		if got, ok := api.Find(v.Name); !ok || got != v {
			t.Errorf("Find(%q) = %+v, %v", v.Name, got, ok)
		}
		if v.Conduct.String() == "" || v.Object() == "" {
			t.Errorf("%s has no conduct or no object", v.Name)
		}
		if (v.Conduct == api.Looks) != (v.Repeat == api.NoWrite) {
			t.Errorf("%s %s and repeats by %q", v.Name, v.Conduct, v.Repeat)
		}
		if v.Lists && v.Conduct != api.Looks {
			t.Errorf("%s lists and changes something", v.Name)
		}
	}
	if _, ok := api.Find("conversation.nothing"); ok {
		t.Error("found a verb that is not declared")
	}
}

func TestReaches(t *testing.T) {
	for _, c := range []struct {
		p    api.Principal
		want bool
	}{
		{api.Principal{Kind: api.Program}, false},
		{api.Principal{Kind: api.Program, Agents: []string{"*"}}, true},
		{api.Principal{Kind: api.Program, Agents: []string{"arya"}}, true},
		{api.Principal{Kind: api.Program, Agents: []string{"bran"}}, false},
		{api.Principal{Kind: api.Person}, true},
	} {
		if got := c.p.Reaches("arya"); got != c.want {
			t.Errorf("%+v reaches arya: %v", c.p, got)
		}
	}
}

func TestErrorsHaveACode(t *testing.T) {
	cause := errors.New("disk full")
	err := fmt.Errorf("send: %w", &api.Error{Code: api.Storage, Err: cause})
	if !errors.Is(err, cause) || api.CodeOf(err) != api.Storage {
		t.Errorf("%v: code %s", err, api.CodeOf(err))
	}
	for want, err := range map[api.ErrorCode]error{"": nil, api.Interrupted: context.Canceled, api.Internal: cause} {
		if got := api.CodeOf(err); got != want {
			t.Errorf("CodeOf(%v) = %q, want %q", err, got, want)
		}
	}
	data, _ := json.Marshal(&api.Error{Code: api.Denied, Why: api.Status{Code: "agent.not_callable"}, Err: cause})
	if got := string(data); got != `{"code":"denied","why":{"code":"agent.not_callable"}}` {
		t.Errorf("marshalled as %s", got)
	}
}
