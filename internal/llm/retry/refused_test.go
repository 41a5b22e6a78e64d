package retry

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
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
func TestWhatIsRefusedIsLeftOut(t *testing.T) {
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
		m := WithoutRefused(&tt.provider)
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

// blind is a provider that refuses documents or pictures, and keeps what it is asked.
type blind struct {
	refuses string // a MIME type begins with it
	asked   []llm.Request
}

func (m *blind) Generate(_ context.Context, r llm.Request, _ func(llm.Event) error) (llm.Response, error) {
	m.asked = append(m.asked, r)
	for _, x := range r.Messages {
		for _, i := range x.Images {
			if strings.HasPrefix(i.MIME, m.refuses) {
				return llm.Response{}, fika.Wrap(fika.Provider, "model call", &llm.ProviderError{Status: 500, Message: "image input is not supported - hint: you may need to provide the mmproj"})
			}
		}
	}
	return llm.Response{Text: "ok"}, nil
}

// A model that takes no documents still sees pictures; one that takes neither reads that there
// are some. The caller's request stays as it was.
func TestRefusedPicturesAreLeftOut(t *testing.T) {
	images := []llm.Image{{MIME: "image/png"}, {MIME: "application/pdf"}, {MIME: "image/gif"}}
	for refuses, want := range map[string]struct {
		images int
		calls  int
		text   string
	}{
		"nothing":     {3, 2, "look"},
		"application": {2, 3, "look\n[not shown, because this model takes no documents: 1 document]"},
		"":            {0, 4, "look\n[not shown, because this model takes no documents: 1 document]\n[not shown, because this model takes no pictures: 2 pictures]"},
	} {
		provider := &blind{refuses: refuses}
		m := WithoutRefused(provider)
		r := llm.Request{Messages: []llm.Message{{Role: llm.ToolRole, Text: "look", Images: images}}}
		for range 2 {
			if _, err := m.Generate(t.Context(), r, nil); err != nil {
				t.Errorf("%s: %v", refuses, err)
			}
			last := provider.asked[len(provider.asked)-1].Messages[0]
			if len(last.Images) != want.images || last.Text != want.text && refuses != "" {
				t.Errorf("%q: %d pictures, %q", refuses, len(last.Images), last.Text)
			}
		}
		if len(r.Messages[0].Images) != 3 || r.Messages[0].Text != "look" {
			t.Errorf("%q: the request was changed: %+v", refuses, r.Messages[0])
		}
		if refuses != "" && len(provider.asked) != want.calls {
			t.Errorf("%q: %d calls", refuses, len(provider.asked))
		}
	}
}

// A picture of the person's is not left out: the provider's words are shown.
func TestRefusedPicturesOfPeople(t *testing.T) {
	provider := &blind{refuses: "image"}
	r := llm.Request{Messages: []llm.Message{{Role: llm.User, Text: "look", Images: []llm.Image{{MIME: "image/png"}}}}}
	if _, err := WithoutRefused(provider).Generate(t.Context(), r, nil); err == nil || len(provider.asked) != 1 {
		t.Errorf("%v after %d calls", err, len(provider.asked))
	}
}
