package wire

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"fika/internal/llm"
)

func read(s string) (out []string, err error) {
	err = ReadEvents(strings.NewReader(s), func(name string, data []byte) error {
		if data == nil {
			out = append(out, "#")
			return nil
		}
		out = append(out, name+"="+string(data))
		return nil
	})
	return out, err
}

func TestEvents(t *testing.T) {
	for in, want := range map[string][]string{
		"data: a\n\ndata:b\n\n":                     {"=a", "=b"},
		"event: x\ndata: a\ndata: b\n\ndata: c\n\n": {"x=a\nb", "=c"},
		"data: a\r\n\r\n: hi\r\n\r\n":               {"=a", "#"},
		"\xef\xbb\xbfdata: a\n\n":                   {"=a"},
		"data: no empty line":                       {"=no empty line"},
		"nonsense\nid: 7\nretry: 1\n\n\n\n":         nil,
		"data\n\n":                                  nil,
		"":                                          nil,
	} {
		got, err := read(in)
		if err != nil {
			t.Errorf("%q: %v", in, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q (-want +got):\n%s", in, d)
		}
	}
}

func TestEventsStops(t *testing.T) {
	mine := errors.New("mine")
	for _, c := range []struct{ give, want error }{{ErrDone, nil}, {mine, mine}} {
		if err := ReadEvents(strings.NewReader("data: a\n\n"), func(string, []byte) error { return c.give }); err != c.want {
			t.Errorf("%v gives %v", c.give, err)
		}
	}
	if _, err := read("data: " + strings.Repeat("x", MaxEvent+1)); err == nil {
		t.Error("an endless line is taken")
	}
	if _, err := read(strings.Repeat("data: "+strings.Repeat("x", 1<<20)+"\n", 18)); err == nil {
		t.Error("an endless event is taken")
	}
}

func TestJoiner(t *testing.T) {
	for _, c := range []struct {
		json []string
		want string
	}{
		{[]string{`"a"`, `"b"`}, "ab"},
		{[]string{"\"\xf0\x9f\"", "\"\x98\x80!\""}, "😀!"},
		{[]string{"\"x\xc3\"", "\"\xa4\""}, "xä"},
		{[]string{`"\ud83d"`, `"\ude00"`}, "😀"},
		{[]string{`"\ud83d\ude00"`}, "😀"},
		{[]string{`"\ud83d"`, `"x"`}, "\uFFFDx"},
		{[]string{`"\ude00"`, `"x"`}, "\uFFFDx"},
		{[]string{"\"\xff\"", `"x"`}, "\uFFFDx"},
		{[]string{`"\ud83d"`}, "\uFFFD"},
		{[]string{`null`, `["a",{"type":"text","text":"b"},7]`, `{"a":1}`}, `ab7{"a":1}`},
		{[]string{`"\"\\\/\b\f\n\r\t\u00e4"`}, "\"\\/\b\f\n\r\tä"},
	} {
		var j Joiner
		shown := ""
		for _, raw := range c.json {
			var x Text
			if err := json.Unmarshal([]byte(raw), &x); err != nil {
				t.Fatalf("%s: %v", raw, err)
			}
			shown += j.Add(x)
		}
		shown += j.Close()
		if j.String() != c.want || shown != c.want {
			t.Errorf("%q gives %q, shown %q, want %q", c.json, j.String(), shown, c.want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for v, want := range map[string]time.Duration{
		"": 0, "2": 2 * time.Second, "0.5": 500 * time.Millisecond, "-1": 0, "soon": 0, "NaN": 0,
		"1e300": 1000 * time.Hour, "Fri, 02 Jan 2026 03:05:05 GMT": time.Minute, "Fri, 02 Jan 2015 03:05:05 GMT": 0,
	} {
		if got := RetryAfter(http.Header{"Retry-After": {v}}, now); got != want {
			t.Errorf("%q gives %v, want %v", v, got, want)
		}
	}
	if got := RetryAfter(http.Header{"Retry-After": {"9"}, "Retry-After-Ms": {"20"}}, now); got != 20*time.Millisecond {
		t.Errorf("milliseconds give %v", got)
	}
}

func TestWords(t *testing.T) {
	for in, want := range map[string]string{
		`{"error":{"message":"no","type":"x"}}`: "no",
		`{"error":"no"}`:                        "no",
		`{"message":"no"}`:                      "no",
		`{"detail":"no"}`:                       "no",
		`{"error":{"message":"Provider error","metadata":{"raw":"too long"}}}`: "Provider error: too long",
		`<html>`:    "(a page of HTML)",
		`plain no`:  "plain no",
		`{"error":`: `{"error":`,
	} {
		if got := ErrorMessage([]byte(in)); got != want {
			t.Errorf("%s gives %q, want %q", in, got, want)
		}
	}
}

func FuzzEvents(f *testing.F) {
	f.Add("data: a\n\n: c\n\nevent: x\ndata: b\n\n")
	f.Fuzz(func(t *testing.T, s string) {
		if _, err := read(s); err != nil {
			t.Error(err)
		}
	})
}

func FuzzText(f *testing.F) {
	f.Add(`"a\u00e4\ud83d\ude00"`, 3)
	f.Add("\"\xf0\x9f\x98\x80\"", 2)
	f.Fuzz(func(t *testing.T, raw string, cut int) {
		var x Text
		if json.Unmarshal([]byte(raw), &x) != nil {
			return
		}
		cut = min(max(cut, 0), len(x))
		var j Joiner
		shown := j.Add(x[:cut]) + j.Add(x[cut:]) + j.Close()
		if shown != j.String() || !utf8.ValidString(shown) {
			t.Errorf("shown %q, gathered %q", shown, j.String())
		}
		var plain string
		if json.Unmarshal([]byte(raw), &plain) == nil && utf8.ValidString(raw) && plain != shown && !strings.Contains(plain, "\uFFFD") {
			t.Errorf("%s gives %q, want %q", raw, shown, plain)
		}
	})
}

// TestA9NamesTheServer: whoever has two servers on one machine is told which of
// them does not answer, and for which model.
func TestA9NamesTheServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	e := NewEndpoint(Options{Model: "llama"}, "http://"+addr+"/v1", nil)
	_, err = e.Generate(t.Context(), llm.Request{}, map[string]string{}, func(llm.Event) error { return nil }, nil)
	if err == nil || !strings.Contains(err.Error(), "cannot reach "+addr+" (model llama): connection refused") {
		t.Error(err)
	}
}

// Without a network, one line says so. Trial row U22.
func TestOfflineIsOneLine(t *testing.T) {
	for want, cause := range map[string]error{
		"cannot reach h (model m): its name is not found (offline?)": &net.DNSError{Err: "no such host", Name: "h", IsNotFound: true},
		"cannot reach h (model m): no network (offline?)":            &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ENETUNREACH)},
	} {
		err := Failure{Host: "h (model m)"}.Transport(t.Context(), &url.Error{Op: "Post", URL: "https://h/secret", Err: cause})
		var p *llm.ProviderError
		if !errors.As(err, &p) || p.Message != want || !p.Retryable() {
			t.Errorf("%v", err)
		}
	}
}
