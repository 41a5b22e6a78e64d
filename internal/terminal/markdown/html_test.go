package markdown_test

import (
	"strings"
	"testing"

	"golang.org/x/net/html"

	"fika/internal/terminal/markdown"
)

// hostile are texts that try to become more than text.
func hostile() []string {
	return []string{
		"<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg/onload=alert(1)>", "<a href=javascript:alert(1)>x</a>", "<iframe srcdoc='<script>'>",
		"[x](javascript:alert(1))", "[x](JaVaScRiPt:alert(1))", "[x](java\nscript:alert(1))", "[x](&#106;avascript:alert(1))", "[x](data:text/html,<script>)", "[x](vbscript:x)", "[x](//evil.example)",
		"![x](https://evil.example/a.png)", "![x](javascript:alert(1))", "![<script>](x)", "<javascript:alert(1)>", "[x]: javascript:alert(1)\n\n[x]",
		"`<script>`", "```html\n<script>\n```", "    <script>", "| <script> | b |\n|---|---|\n| [x](javascript:1) | <img src=x> |", "> <script>", "- <script>", "# <script>", "1. <b onclick=x>",
		"[\"onmouseover=alert(1)](https://a.example/\"onmouseover=alert(1))", "https://a.example/\"><script>", "<https://a.example/\"><script>>", "</p></div><script>", "<!-- --><script>", "<![CDATA[<script>]]>", "<?php <script>",
		"\x00<script>", "\u202e<script>", "&lt;script&gt;", "&#60;script&#62;", "@<script>", strings.Repeat("> ", 500) + "<script>", strings.Repeat("[", 3000) + "<script>", strings.Repeat("*", 5000) + "<script>", strings.Repeat("<div>", 2000),
		"<style>*{}</style>", "<base href=//evil>", "<form action=//evil><button>", "<meta http-equiv=refresh content=0>",
	}
}

// safe fails the test if HTML holds more than this package writes.
func safe(t *testing.T, source string) {
	t.Helper()
	z := html.NewTokenizer(strings.NewReader(markdown.HTML(source, func(string) bool { return true })))
	tags := "p pre code ul ol li blockquote hr table tr th td div span b strong em s a br"
	for {
		switch z.Next() {
		case html.ErrorToken:
			return
		case html.StartTagToken, html.SelfClosingTagToken:
			tag := z.Token()
			if !strings.Contains(" "+tags+" ", " "+tag.Data+" ") {
				t.Errorf("%.60q: the tag %s", source, tag)
			}
			for _, a := range tag.Attr {
				switch {
				case a.Key == "href" && (strings.HasPrefix(a.Val, "https:") || strings.HasPrefix(a.Val, "http:") || strings.HasPrefix(a.Val, "mailto:")):
				case a.Key == "class", a.Key == "tabindex", a.Key == "start", a.Key == "rel", a.Key == "target":
				default:
					t.Errorf("%.60q: the attribute %s=%q", source, a.Key, a.Val)
				}
			}
		case html.CommentToken, html.DoctypeToken:
			t.Errorf("%.60q: %s", source, z.Token())
		}
	}
}

func TestHTMLIsSafe(t *testing.T) {
	for _, source := range hostile() {
		safe(t, source)
	}
}

func TestHTML(t *testing.T) {
	for source, want := range map[string]string{
		"# Head\n\ntext **bold** `code`":      `<p class="heading">Head</p><p>text <strong>bold</strong> <code>code</code></p>`,
		"- a\n- b":                            `<ul><li>a</li><li>b</li></ul>`,
		"2. a":                                `<ol start="2"><li>a</li></ol>`,
		"```go\nx < y\n```":                   "<pre tabindex=\"0\"><code>x &lt; y\n</code></pre>",
		"| a | b |\n|---|---|\n| 1 | ~~2~~ |": `<div class="scroll" tabindex="0"><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td><s>2</s></td></tr></table></div>`,
		"@arya said <b>":                      `<p><b class="person">@arya</b> said &lt;b&gt;</p>`,
		"https://a.example":                   `<p><a href="https://a.example" target="_blank" rel="noopener noreferrer nofollow">https://a.example</a></p>`,
		"![pic](https://a.example/p.png)":     `<p>[image: pic] (https://a.example/p.png)</p>`,
		"":                                    "",
	} {
		if got := markdown.HTML(source, func(string) bool { return true }); got != want {
			t.Errorf("%q:\ngot  %s\nwant %s", source, got, want)
		}
	}
}

func FuzzHTML(f *testing.F) {
	for _, s := range hostile() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { safe(t, s) })
}
