package mcp

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"fika/internal/extension/jsonrpc"
)

// passed returns what the library gets of a text, and what the client is told.
func passed(t *testing.T, text []byte) (to, back []string) {
	t.Helper()
	var told bytes.Buffer
	ended := 0
	got, err := io.ReadAll(&input{
		lines: jsonrpc.NewLines(bytes.NewReader(text)), to: &output{w: &told, settled: make(chan struct{}, 1), open: -1 << 30}, ended: func() { ended++ },
	})
	if err != nil || ended == 0 {
		t.Fatalf("%q: %v, ended %d times", text, err, ended)
	}
	lines := func(b []byte) []string { return strings.FieldsFunc(string(b), func(r rune) bool { return r == '\n' }) }
	return lines(got), lines(told.Bytes())
}

func TestInput(t *testing.T) {
	for line, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`:               "",
		`{"jsonrpc":"2.0","id":"a","method":"ping","params":{}}`: "",
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`: "",
		`{"jsonrpc":"2.0","id":7,"result":{}}`:                   "",
		`hello`:                                                  `{"error":{"code":-32700,`,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"p\x00\"}":    `-32700`,
		`{"jsonrpc":"2.0","id":1,"method":"ping"`:                `-32700`,
		`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`:             `-32600`,
		`null`:                     `-32600`,
		`{"id":1,"method":"ping"}`: `-32600`,
		`{"jsonrpc":"1.0","id":1,"method":"ping"}`:                                                            `-32600`,
		`{"jsonrpc":"2.0","id":{},"method":"ping"}`:                                                           `-32600`,
		`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`:                                                          `-32600`,
		`{"jsonrpc":"2.0","id":9,"method":7}`:                                                                 `"id":9`,
		`{"jsonrpc":"2.0","id":9,"method":"tools/call","params":[1]}`:                                         `-32602`,
		`{"jsonrpc":"2.0","result":{}}`:                                                                       `-32600`,
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":"` + strings.Repeat("x", jsonrpc.MaxLine) + `"}}`: `a message has at most`,
	} {
		to, back := passed(t, []byte(line+"\n"))
		switch {
		case want == "" && (len(to) != 1 || to[0] != line || len(back) != 0):
			t.Errorf("%.80s: passed on %q, told %q", line, to, back)
		case want != "" && (len(to) != 0 || len(back) != 1 || !strings.Contains(back[0], want)):
			t.Errorf("%.80s: passed on %.80q, told %q; want %s", line, to, back, want)
		}
	}
}

// FuzzInput: whatever comes, the library gets messages alone, and the client is told
// nothing but messages.
func FuzzInput(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n{}\n\x00"))
	f.Fuzz(func(t *testing.T, text []byte) {
		to, back := passed(t, text)
		for _, line := range to {
			if bad := check([]byte(line)); bad != nil {
				t.Errorf("passed on: %q", line)
			}
		}
		for _, line := range back {
			var m struct {
				JSONRPC string
				Error   struct{ Code int }
			}
			if json.Unmarshal([]byte(line), &m) != nil || m.JSONRPC != "2.0" || m.Error.Code > -32600 {
				t.Errorf("told: %q", line)
			}
		}
	})
}
