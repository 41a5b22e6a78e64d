package retry

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"fika"
	"fika/internal/llm"
)

// refusing is a provider that answers with status to every call with a schema, and with
// plain to every other one; 0: it answers.
type refusing struct {
	status, plain int
	visible       bool
	asked         []bool // with a schema?
}

func (m *refusing) Generate(_ context.Context, r llm.Request, _ func(llm.Event) error) (llm.Response, error) {
	m.asked = append(m.asked, len(r.Schema) > 0)
	status := m.plain
	if len(r.Schema) > 0 {
		status = m.status
	}
	if status == 0 {
		return llm.Response{Text: "ok"}, nil
	}
	return llm.Response{Usage: fika.Usage{Input: 3}}, fika.Wrap(fika.Provider, "model call", &llm.ProviderError{Status: status, Visible: m.visible, Message: "no"})
}

// A schema that a provider refuses is left out, from then on; every other error is passed on.
func TestRefusedSchemaIsLeftOut(t *testing.T) {
	for name, tt := range map[string]struct {
		provider refusing
		works    bool
		asked    []bool // by two calls
	}{
		"takes it":         {refusing{}, true, []bool{true, true}},
		"refuses it":       {refusing{status: 400}, true, []bool{true, false, false}},
		"cannot do it":     {refusing{status: 422}, true, []bool{true, false, false}},
		"refuses all":      {refusing{status: 400, plain: 400}, false, []bool{true, false, true, false}},
		"overloaded":       {refusing{status: 529}, false, []bool{true, true}},
		"wrong key":        {refusing{status: 401}, false, []bool{true, true}},
		"broke off midway": {refusing{status: 400, visible: true}, false, []bool{true, true}},
	} {
		m := WithoutRefusedSchema(&tt.provider)
		for range 2 {
			res, err := m.Generate(t.Context(), llm.Request{Schema: json.RawMessage(`{"type":"object"}`)}, nil)
			var p *llm.ProviderError
			if (err == nil) != tt.works || err != nil && !errors.As(err, &p) || tt.works && res.Text != "ok" {
				t.Errorf("%s: %+v, %v", name, res, err)
			}
		}
		if got := tt.provider.asked; !slices.Equal(got, tt.asked) {
			t.Errorf("%s: asked %v, want %v", name, got, tt.asked)
		}
	}
}
