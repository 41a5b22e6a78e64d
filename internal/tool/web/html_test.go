package web

import (
	"context"
	"html"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"
)

type dial func(ctx context.Context, network, address string) (net.Conn, error)

// dialFirst makes the first connection with one dialler and the rest with
// another.
func dialFirst(first, rest dial) dial {
	var n atomic.Int32
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if n.Add(1) == 1 {
			return first(ctx, network, address)
		}
		return rest(ctx, network, address)
	}
}

func TestReadable(t *testing.T) {
	for in, want := range map[string]string{
		"":                                   "",
		"plain text":                         "plain text",
		"a < b &amp;&amp; c &gt; d &eacute;": "a < b && c > d é",
		"<p>one\n  two</p><p>three</p>":      "one two\n\nthree",
		"<ul><li>a<li> b</ul>c":              "- a\n- b\n\nc",
		"<h2> Title </h2>text":               "## Title\n\ntext",
		"x<br>y<br/>z":                       "x\ny\nz",
		"<a href='https://e.org/?a=1&amp;b=2'>link</a>.":         "link (https://e.org/?a=1&b=2).",
		"<a href=\"#top\">up</a> <a href=javascript:x>js</a>":    "up js",
		"<pre>a\n  b</pre>c  d":                                  "a\n  b\n\nc d",
		"<script>if (a < b) document.write('</p>')</script>seen": "seen",
		"<SCRIPT>x</SCRIPT >seen<style>p{}</style>":              "seen",
		"<script>never closed":                                   "",
		"<!-- <p>no</p> -->yes<!-- open":                         "yes",
		"<!doctype html><?xml?>t":                                "t",
		"<img alt='a > b' src=x>after":                           "[a > b]after",
		"<td>1</td><td>2</td>":                                   "1 2",
		"<b>bo</b>ld wo<i>rd</i>":                                "bold word",
		"<p title=\"a>b\">t</p>":                                 "t",
		"<":                                                      "<",
		"</":                                                     "</",
		"1<2":                                                    "1<2",
		"<scripty>x</scripty>":                                   "x",
		"<noscript><img></noscript>a<svg><path/></svg>b":         "ab",
		"<script>a</scriptx></script>b":                          "b",
		"&lt;script&gt;":                                         "<script>",
		"<!-->yes":                                               "yes",
		"</ no>yes":                                              "yes",
		"<script>'<!--<script></script>'</script>yes":            "yes",
		"<title>a &amp; <b>b":                                    "a & b",
		"<svg><title/><path></svg>yes<script src=x />yes":        "yesyes",
		"<a title=1 HREF=https://e.org/ href=/x>a</a>":           "a (https://e.org/)",
		"<a href=\"/x\">" + strings.Repeat("w ", 3) + "</a>":     "w w w (/x)",
	} {
		if got := readableText(in); got != want {
			t.Errorf("%q:\nwant %q\ngot  %q", in, want, got)
		}
	}
}

func TestReadableTakesOnePass(t *testing.T) {
	began := time.Now()
	for _, piece := range []string{"<", "<a", "<a ", "<!--", "<script>", "</script", "<a href=\"", "<p ", "&", "<a href=x>", "<pre>", "<li>", " "} {
		readableText(strings.Repeat(piece, (1<<20)/len(piece)))
	}
	if d := time.Since(began); d > 5*time.Minute {
		t.Errorf("took %s", d)
	}
}

func FuzzReadable(f *testing.F) {
	f.Add("<p>one <a href='x'>two</a><script>x</script><!-- -->&amp;<pre> a")
	f.Fuzz(func(t *testing.T, s string) {
		got := readableText(s)
		if len(got) > 16*len(s)+64 {
			t.Fatalf("%d bytes became %d", len(s), len(got))
		}
		if utf8.ValidString(s) && !utf8.ValidString(got) {
			t.Fatalf("%q is not a text any more: %q", s, got)
		}
		if got, want := readableText(html.EscapeString(s)), strings.Join(strings.Fields(s), " "); got != want {
			t.Fatalf("the text %q became %q", want, got)
		}
	})
}
