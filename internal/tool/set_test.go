package tool_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fika"
	"fika/internal/tool"
)

type fake struct {
	spec tool.Spec
	call func(context.Context, tool.Call) (tool.Result, error)
}

func (f fake) Spec() tool.Spec { return f.spec }
func (f fake) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	if f.call == nil {
		return tool.Result{Text: "ran " + c.Name}, nil
	}
	return f.call(ctx, c)
}

func named(names ...string) []tool.Tool {
	var list []tool.Tool
	for _, n := range names {
		n, always := strings.CutPrefix(n, "+")
		n, byName := strings.CutPrefix(n, "?")
		list = append(list, fake{spec: tool.Spec{Name: n, Always: always, ByName: byName, Parameters: json.RawMessage(`{"type":"object"}`)}})
	}
	return list
}

func TestSetOffersAndRunsWhatIsPermitted(t *testing.T) {
	all := []string{"read", "list", "?edit", "?create", "?bash", "?fetch", "weather", "+send_message"}
	for _, c := range []struct {
		name  string
		perms tool.Permissions
		want  []string
	}{
		{"default", tool.Permissions{}, []string{"read", "list", "weather", "send_message"}},
		{"nothing", tool.Permissions{Allow: []string{}}, []string{"send_message"}},
		{"some", tool.Permissions{Allow: []string{"bash", "read"}}, []string{"read", "bash", "send_message"}},
		{"off", tool.Permissions{Allow: []string{"bash", "read"}, Off: []string{"bash", "send_message"}}, []string{"read"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := tool.NewSet(named(all...), c.perms)
			if err != nil {
				t.Fatal(err)
			}
			offered := map[string]bool{}
			var got []string
			for _, spec := range s.OfferedSpecs() {
				got = append(got, spec.Name)
				offered[spec.Name] = true
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
			for _, name := range all {
				name = strings.TrimLeft(name, "+?")
				r, err := s.Call(t.Context(), tool.Call{Name: name})
				if err != nil || r.Denied == offered[name] || r.IsError == offered[name] {
					t.Errorf("%s: offered %v, but %+v, %v", name, offered[name], r, err)
				}
			}
		})
	}
}

func TestSetRefusesWhatItCannotKnow(t *testing.T) {
	s, err := tool.NewSet(named("read", "bash"), tool.Permissions{Allow: []string{"read", "rread"}, Off: []string{"nope"}})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"rread", "nope"}, s.UnknownNames()); d != "" {
		t.Error(d)
	}
	r, _ := s.Call(t.Context(), tool.Call{Name: "read_file"})
	if !r.IsError || r.Denied || !strings.Contains(r.Text, "did you mean read?") {
		t.Errorf("got %+v", r)
	}
	if err := s.Check("bash"); !fika.IsKind(err, fika.Denied) {
		t.Errorf("got %v", err)
	}
	for _, bad := range [][]tool.Tool{
		named("a", "a"), named("a b"), named(""),
		{fake{spec: tool.Spec{Name: "a", Parameters: json.RawMessage(`[1]`)}}},
	} {
		if _, err := tool.NewSet(bad, tool.Permissions{}); !fika.IsKind(err, fika.Invalid) {
			t.Errorf("%v: got %v", bad, err)
		}
	}
}

type verifying struct{ fake }

func (verifying) Hash(context.Context, tool.Call) (string, error) { return "h", nil }

func TestVerifierIsFoundThroughDecorators(t *testing.T) {
	v := tool.WithLimit(verifying{}, tool.Limits{})
	if _, ok := tool.VerifierOf(v); !ok {
		t.Error("not found")
	}
	if _, ok := tool.VerifierOf(tool.WithLimit(fake{}, tool.Limits{})); ok {
		t.Error("found where there is none")
	}
}
