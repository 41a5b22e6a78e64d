package editor

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fika/internal/system/socket"
)

// TestRead: what can be started is read; everything else is refused with its name and the
// reason, however it is malformed.
func TestRead(t *testing.T) {
	find := func(name string) (string, error) {
		if name == "npx" {
			return "/usr/bin/npx", nil
		}
		return "", errors.New("not found")
	}
	long, _ := json.Marshal(strings.Repeat("x", 7<<20))
	for _, c := range []struct{ raw, server, refused string }{
		{`{"name":"Files & more","command":"/bin/f","args":["-a","b c\n"],"env":[{"name":"A","value":"b=c"}]}`, `files-more /bin/f -a "b c\n" A`, ""},
		{`{"name":"a","command":"npx","args":["-y","x"],"env":[]}`, "a /usr/bin/npx -y x ", ""},
		{`{"name":"a","command":"/f","args":null,"env":null,"type":"stdio"}`, "a /f ", ""},
		{`{"name":"` + strings.Repeat("long ", 20) + `","command":"/f"}`, "long-long-long-long /f ", ""},
		{`{"name":"far","type":"sse","url":"x"}`, "", "far (sse: only programs"},
		{`{"name":"far","type":"http\u001b[2J","url":"x"}`, "", "far (http: only programs"},
		{`7`, "", "one without a name (what it is cannot be read)"},
		{`{"name":7}`, "", "one without a name (what it is cannot be read)"},
		{`{"name":"a","command":"/f","args":"x"}`, "", "a (what it is cannot be read)"},
		{`{"command":"/f"}`, "", "one without a name (its name needs"},
		{`{"name":"\u202e\u0000","command":"/f"}`, "", "(its name needs"},
		{`{"name":"a"}`, "", "a (it has no command)"},
		{`{"name":"a","command":""}`, "", "a (it has no command)"},
		{`{"name":"a","command":"./f"}`, "", "a (its command has to be an absolute path)"},
		{`{"name":"a","command":"../../f"}`, "", "a (its command has to be an absolute path)"},
		{`{"name":"a","command":"nothing"}`, "", "a (its command is not found)"},
		{`{"name":"a","command":"/f\u0000"}`, "", "a (a zero byte"},
		{`{"name":"a","command":"/f","args":["\u0000"]}`, "", "a (a zero byte"},
		{`{"name":"a","command":"/f","env":[{"name":"A","value":"\u0000"}]}`, "", "a (a zero byte"},
		{`{"name":"a","command":"/f","env":[{"name":"","value":"x"}]}`, "", "a (a variable"},
		{`{"name":"a","command":"/f","env":[{"name":"A=B","value":"x"}]}`, "", "a (a variable"},
		{`{"name":"a","command":"/f","env":[{"name":"A"}]}`, "", "a (a variable"},
		{`{"name":"a","command":"/f","env":[{"name":"FIKA_STEP","value":"x"}]}`, "", "a (FIKA_STEP is for fika to set)"},
		{`{"name":"a","command":"/f","args":[` + string(long) + `]}`, "", "a (its command, arguments and variables have more than 32 KiB)"},
	} {
		servers, refused := Read([]json.RawMessage{json.RawMessage(c.raw)}, find)
		if c.refused != "" {
			if len(servers) != 0 || len(refused) != 1 || !strings.Contains(refused[0], c.refused) || strings.ContainsAny(refused[0], "\x00\x1b\u202e") {
				t.Errorf("%.200s: %v, refused %q, not %q", c.raw, servers, refused, c.refused)
			}
			continue
		}
		if len(servers) != 1 || len(refused) != 0 {
			t.Errorf("%.200s: %v, refused %q", c.raw, servers, refused)
			continue
		}
		if s := servers[0]; s.Name+" "+s.Line()+" "+strings.Join(s.Variables(), " ") != c.server {
			t.Errorf("%.200s is %s %s %v, not %s", c.raw, s.Name, s.Line(), s.Variables(), c.server)
		}
	}
	var many []json.RawMessage
	for range 20 {
		many = append(many, json.RawMessage(`{"name":"A b","command":"/f"}`))
	}
	if servers, refused := Read(many, find); len(servers) != 1 || len(refused) != 16 || !strings.Contains(refused[0], "another one has the same name") || !strings.HasPrefix(refused[15], "and 4 more") {
		t.Errorf("of 20 of one name: %v, %q", servers, refused)
	}
}

// TestLend: what is lent is there for as long as its lender is, and the newest lender counts.
func TestLend(t *testing.T) {
	path := filepath.Join(t.TempDir(), strings.Repeat("deep", 30), "editors", "s-1") // longer than the address of a socket
	if b, err := Borrow(path); b != nil || err != nil {
		t.Fatalf("nobody lends: %v, %v", b, err)
	}
	told := make(chan string, 4)
	lend := func(name string) *Lender {
		t.Helper()
		l, err := Lend(path, []Server{{Name: name, Command: "/f", Env: []string{"A=secret"}}}, func(text string) { told <- text })
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		return l
	}
	borrow := func(name string) *Borrowed {
		t.Helper()
		b, err := Borrow(path)
		if err != nil || b == nil || len(b.Servers) != 1 || b.Servers[0].Name != name || b.Servers[0].Env[0] != "A=secret" || b.Lender != os.Getpid() {
			t.Fatalf("borrowed %+v, %v", b, err)
		}
		t.Cleanup(b.Close)
		return b
	}
	first := lend("first")
	one, two := borrow("first"), borrow("first")
	one.Tell("it\nis \x1b[2Jgone " + strings.Repeat("x", 5000))
	if text := <-told; !strings.HasPrefix(text, "it is gone x") || len(text) > 2100 {
		t.Errorf("told %q", text)
	}
	one.Close()
	<-one.Over()
	if !two.IsNow() {
		t.Error("one ends with another")
	}
	second := lend("second") // an editor that took the session over
	if two.IsNow() {
		t.Error("the old ones count")
	}
	_ = first.Close()
	<-two.Over()
	three := borrow("second")
	_ = second.Close()
	_ = second.Close()
	<-three.Over()
	if list, err := os.ReadDir(filepath.Dir(path)); err != nil || len(list) != 0 {
		t.Errorf("left: %v, %v", list, err)
	}
}

// TestKilledLender: the socket of a killed editor lends nothing, and is removed by the next.
// One that says something else is refused.
func TestKilledLender(t *testing.T) {
	dir := t.TempDir()
	dead := filepath.Join(dir, "s-dead")
	l, err := socket.Listen(dead)
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close() // leaves the file
	if b, err := Borrow(dead); b != nil || err != nil {
		t.Errorf("of a killed editor: %v, %v", b, err)
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(dead, old, old); err != nil {
		t.Fatal(err)
	}
	next, err := Lend(filepath.Join(dir, "s-2"), nil, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	if _, err := os.Lstat(dead); err == nil {
		t.Error("its socket is left")
	}
	odd := filepath.Join(dir, "s-odd")
	if l, err = socket.Listen(odd); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func(l net.Listener) {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("hello\n"))
			_ = c.Close()
		}
	}(l)
	if b, err := Borrow(odd); b != nil || err == nil {
		t.Errorf("of something else: %v, %v", b, err)
	}
}
