package guest_test

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fika/internal/extension/guest"
	"fika/internal/tool"
)

// seated returns a program that finds tools of fika's.
func (w world) seated(how string) guest.Program {
	w.Helper()
	p := w.program(how)
	var err error
	if p.Table, err = guest.NewTable(w.home); err != nil {
		w.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		w.Fatal(err)
	}
	p.Self = self
	p.Tools = []tool.Spec{{Name: "send_message", Parameters: json.RawMessage(`{"type":"object"}`)}, {Name: "recall", Parameters: json.RawMessage(`{"type":"object"}`)}}
	return p
}

// TestTable: a program finds fika's tools in its session, calls them in its turn alone, and
// its own word of such a call is not taken for another one. The folder may be deep.
func TestTable(t *testing.T) {
	w := world{t, filepath.Join(t.TempDir(), strings.Repeat("deep/", 30))}
	if err := os.MkdirAll(w.home, 0o700); err != nil {
		t.Fatal(err)
	}
	p := w.seated("")
	s, err := guest.Open(t.Context(), p, "", false)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	h := &host{}
	w.prompt(s, h, "guest: tool list", `guest: tool send_message {"to":"x"}`, `guest: tool recall {"bad":1}`)
	// Calls and texts come by ways of their own: each keeps its order.
	slices.SortStableFunc(h.events, func(a, b string) int { return strings.Compare(a[:4], b[:4]) })
	got := strings.Join(h.events, "|")
	w.same("events", got, `text send_message recall|text called send_message|text called recall|tool send_message {"to":"x"}|tool recall {"bad":1}`)
	h = &host{fail: errors.New("enough")}
	if _, err := s.Prompt(t.Context(), "guest: tool recall {}\nguest: wait", h); !errors.Is(err, h.fail) {
		t.Errorf("an error of the host: %v", err)
	}
	s.Close()
	left, err := filepath.Glob(filepath.Join(w.home, "table-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// TestTableIsClosed: who has no token gets nothing, and neither does a program between two
// prompts.
func TestTableIsClosed(t *testing.T) {
	w := world{t, t.TempDir()}
	p := w.seated("")
	s, err := guest.Open(t.Context(), p, "", false)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	talk := func(lines ...string) string {
		c, err := net.Dial("unix", p.Table.Path)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Write([]byte(strings.Join(lines, "\n") + "\n")); err != nil {
			t.Fatal(err)
		}
		line := make([]byte, 4096)
		n, _ := c.Read(line)
		return string(line[:n])
	}
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"recall","arguments":{}}}`
	if got := talk(strings.Repeat("A", 26), call); got != "" {
		t.Errorf("without the token: %s", got)
	}
	if got := talk(guest.TokenOf(p.Table), call); !strings.Contains(got, "no request of this session is at work") {
		t.Errorf("between two prompts: %s", got)
	}
	for _, bad := range []string{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"recall","arguments":[]}}`, `{"jsonrpc":"2.0","id":1,"method":"server/discover"}`, "no message"} {
		if got := talk(guest.TokenOf(p.Table), bad); !strings.Contains(got, `"error"`) {
			t.Errorf("%s: %s", bad, got)
		}
	}
}
