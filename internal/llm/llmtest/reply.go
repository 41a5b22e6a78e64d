package llmtest

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fika"
	"fika/internal/llm"
)

// reply is what a server sends, with what a model has to make of it: one block of a file like
// testdata/replies.txt, which says how they are written.
type reply struct {
	name   string
	block  string // of the file
	status int
	header http.Header
	chunk  int // bytes in a piece of the body; 0: all at once
	gzip   bool
	times  int  // how often the body is sent
	cut    bool // the connection ends before the body does
	body   string
	want   string
}

// TestReplies sends a model each reply of the files, over HTTP, and compares what it makes of
// it. With UPDATE_REPLIES set it writes that into the files instead.
func TestReplies(t *testing.T, open func(baseURL string) llm.Model, files ...string) {
	update := os.Getenv("UPDATE_REPLIES") != ""
	for _, file := range files {
		text, replies := readReplies(t, file)
		for _, r := range replies {
			t.Run(r.name, func(t *testing.T) {
				got := r.outcome(t, open)
				if update {
					text = strings.Replace(text, r.block, strings.Replace(r.block, becomes+r.want, becomes+got, 1), 1)
				} else if d := cmp.Diff(r.want, got); d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}
			})
		}
		if update {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

const becomes = "\n--- becomes\n"

// readReplies reads a file of replies.
func readReplies(t testing.TB, file string) (text string, out []reply) {
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i, block := range strings.Split(string(raw), "\n=== ") {
		if i == 0 {
			continue // what the file is
		}
		head, want, ok := strings.Cut(block, becomes)
		if !ok {
			t.Fatalf("no outcome: %.60s", block)
		}
		name, rest, _ := strings.Cut(head+"\n", "\n")
		r := reply{name: name, block: "\n=== " + block, status: 200, times: 1, header: http.Header{"Content-Type": {"text/event-stream"}}, want: want}
		literal := false
		for line := range strings.Lines(rest) {
			if strings.HasPrefix(line, "# ") {
				continue
			}
			option, ok := strings.CutPrefix(line, "! ")
			if !ok {
				r.body += eventOf(line, literal)
				continue
			}
			switch word, value, _ := strings.Cut(strings.TrimSpace(option), " "); word {
			case "status":
				r.status, _ = strconv.Atoi(value)
			case "times":
				r.times, _ = strconv.Atoi(value)
			case "chunk":
				r.chunk, _ = strconv.Atoi(value)
			case "header":
				name, value, _ := strings.Cut(value, ": ")
				r.header.Set(name, value)
			case "raw":
				literal = true
			case "gzip":
				r.gzip = true
			case "cut":
				r.cut = true
			default:
				t.Fatalf("%s: unknown option %q", name, option)
			}
		}
		out = append(out, r)
	}
	return string(raw), out
}

// eventOf returns the bytes that a line of a body stands for.
func eventOf(line string, raw bool) string {
	line = regexp.MustCompile(`⟦(\d+)×([^⟧]*)⟧`).ReplaceAllStringFunc(line, func(s string) string {
		n, what, _ := strings.Cut(strings.Trim(s, "⟦⟧"), "×")
		times, _ := strconv.Atoi(n)
		return strings.Repeat(what, times)
	})
	line = regexp.MustCompile(`⟦([0-9A-F]+)⟧`).ReplaceAllStringFunc(line, func(s string) string {
		b, _ := hex.DecodeString(strings.Trim(s, "⟦⟧"))
		return string(b)
	})
	switch {
	case raw:
		return line
	case strings.HasPrefix(line, ":"):
		return line + "\n"
	}
	return "data: " + line + "\n"
}

// ServeHTTP implements [http.Handler].
func (r reply) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	body := []byte(r.body)
	if r.gzip {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		for range r.times {
			_, _ = z.Write(body) // into memory
		}
		_ = z.Close()
		body = packed.Bytes()
		w.Header().Set("Content-Encoding", "gzip")
	}
	for name, values := range r.header {
		w.Header()[name] = values
	}
	if r.cut {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)+1000))
	}
	w.WriteHeader(r.status)
	for len(body) > 0 {
		n := len(body)
		if r.chunk > 0 {
			n = min(n, r.chunk)
		}
		if _, err := w.Write(body[:n]); err != nil {
			return
		}
		if r.chunk > 0 {
			_ = http.NewResponseController(w).Flush() // the client may have gone
		}
		body = body[n:]
	}
}

// outcome returns what a model makes of the reply, in the words of the files.
func (r reply) outcome(t *testing.T, open func(baseURL string) llm.Model) string {
	s := httptest.NewServer(r)
	defer s.Close()
	res, events, err := collect(t.Context(), open(s.URL), hello())
	var out strings.Builder
	host := strings.NewReplacer(strings.TrimPrefix(s.URL, "http://"), "HOST")
	if err != nil {
		if strings.Contains(err.Error(), Secret) {
			t.Errorf("the API key is in the error: %v", err)
		}
		fmt.Fprintf(&out, "error %s", fika.KindOf(err))
		if p := (*llm.ProviderError)(nil); errors.As(err, &p) {
			fmt.Fprintf(&out, " %d", p.Status)
			if p.Retryable() {
				out.WriteString(", retryable")
			}
			if llm.IsTooLong(err) {
				out.WriteString(", too long")
			}
			if p.Visible {
				out.WriteString(", text was shown")
			}
			if p.Code != "" {
				fmt.Fprintf(&out, ", code %s", p.Code)
			}
			if p.RetryAfter > 0 {
				fmt.Fprintf(&out, ", after %s", p.RetryAfter)
			}
		}
		fmt.Fprintf(&out, ": %.200s\n", host.Replace(err.Error()))
		if res.Usage != (fika.Usage{}) {
			fmt.Fprintf(&out, "usage %s\n", usageWords(res.Usage))
		}
		return out.String()
	}
	checkResponse(t, res, events)
	for _, x := range []struct{ name, text string }{{"reasoning", res.Reasoning}, {"text", res.Text}} {
		if len(x.text) > 200 {
			x.text = fmt.Sprintf("%.20s… (%d bytes)", x.text, len(x.text))
		}
		if x.text != "" {
			fmt.Fprintf(&out, "%s %q\n", x.name, x.text)
		}
	}
	for _, c := range res.Calls {
		id := regexp.MustCompile(`^call_[a-z2-7]{12}$`).ReplaceAllString(c.ID, "(random)")
		fmt.Fprintf(&out, "call %s %q %.200s\n", id, c.Name, c.Args)
	}
	if res.Stop != llm.StopEnd {
		fmt.Fprintf(&out, "stop %s %q\n", res.Stop, res.StopText)
	}
	fmt.Fprintf(&out, "usage %s\n", usageWords(res.Usage))
	if len(res.Blob) == 0 {
		out.WriteString("nothing to send back\n")
	}
	return out.String()
}

func usageWords(u fika.Usage) string {
	s := fmt.Sprintf("%d in, %d out", u.Input, u.Output)
	for _, x := range []struct {
		name string
		n    int64
	}{{"cached", u.Cached}, {"written", u.Written}, {"reasoning", u.Reasoning}, {"microdollars", u.Cost}} {
		if x.n != 0 {
			s += fmt.Sprintf(", %d %s", x.n, x.name)
		}
	}
	if u.Estimated {
		s += ", estimated"
	}
	return s
}
