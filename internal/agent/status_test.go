package agent

import (
	"encoding/json"
	"strings"
	"testing"

	"fika/internal/bus/message"
)

func TestBoundedArgs(t *testing.T) {
	text := strings.Repeat("a line with ä\n", 1000)
	quoted, _ := json.Marshal(text)
	many := `{"path":"p"`
	for c := 'a'; c <= 'z'; c++ {
		many += `,"k` + string(c) + `":` + string(quoted)
	}
	for _, c := range []struct {
		name, args, path string
		kept             int // bytes of "content" that are kept at least
		cut              map[string]message.Shortened
	}{
		{"a long text", `{"path":"p","content":` + string(quoted) + `}`, "p", 2000, map[string]message.Shortened{"content": {Bytes: len(text), Lines: 1000}}},
		{"a long list", `{"path":"p","list":[` + strings.Repeat("1,", 9000) + `1]}`, "p", 0, map[string]message.Shortened{"list": {Bytes: 18003}}},
		{"no object", `[` + strings.Repeat("1,", 9000) + `1]`, "", 0, map[string]message.Shortened{}},
		{"many", many + `}`, "p", 0, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := boundedArgs([]byte(c.args))
			var got struct {
				Path    string
				Content string
				Cut     map[string]message.Shortened `json:"$shortened"`
			}
			if err := json.Unmarshal(out, &got); err != nil || len(out) > 2*statusLimit {
				t.Fatalf("%d bytes, %v: %.200s", len(out), err, out)
			}
			if got.Path != c.path && c.name != "many" || len(got.Content) < c.kept || !strings.HasPrefix(text, got.Content) {
				t.Errorf("path %q, content of %d bytes", got.Path, len(got.Content))
			}
			for name, want := range c.cut {
				if got.Cut[name] != want {
					t.Errorf("%s: %+v, want %+v", name, got.Cut[name], want)
				}
			}
		})
	}
	if short := `{"path":"p"}`; string(boundedArgs([]byte(short))) != short {
		t.Error("short arguments were changed")
	}
}
