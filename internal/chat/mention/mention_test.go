package mention

import (
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fika"
)

var known = Known{
	Agents: []fika.AgentName{"coder", "coder-2", "my_agent", "my_agent_x", "reviewer", "a", "a_b_c", "7up"},
	Human:  "Alice",
}

func names(s ...fika.AgentName) Result { return Result{Agents: s} }

func unknown(name string, nearest ...fika.AgentName) Result {
	return Result{Unknown: []Unknown{{name, nearest}}}
}

func TestParse(t *testing.T) {
	both := names("coder", "reviewer")
	tests := []struct {
		name, text string
		want       Result
	}{
		{"empty", "", Result{}},
		{"bare at", "@ coder @", Result{}},
		{"plain", "@coder fix it", names("coder")},
		{"order and once", "@reviewer @coder @reviewer", names("reviewer", "coder")},
		{"case", "hey @CoDeR", names("coder")},
		{"possessive", "see @coder's patch", names("coder")},
		{"typographic possessive", "see @coder’s patch", names("coder")},
		{"sentence end", "Ask @coder. Then @reviewer!", both},
		{"brackets", "(@coder) [@reviewer]", both},
		{"dash after", "@coder- and @reviewer--", both},
		{"underscore after", "@coder_ and @reviewer_x", both},
		{"longest name", "@coder-2 @coder-2-x @coder-3", names("coder-2", "coder")},
		{"longest with underscores", "@my_agent_x and @my_agent_y", names("my_agent_x", "my_agent")},
		{"underscores split the text nodes", "@a_b_c_d", names("a_b_c")},
		{"digit first", "@7up", names("7up")},
		{"no cut inside a word", "@coders", unknown("coders", "coder", "coder-2")},
		{"other script ends the name", "@coderさん、お願い", names("coder")},
		{"script without spaces before", "你好@coder", names("coder")},
		{"accented letter before", "é@coder", Result{}},
		{"emoji before", "👋@coder", names("coder")},
		{"colon", "@coder: do", names("coder")},
		{"comma list", "@coder,@reviewer", both},
		{"parallel slash", "@coder/@reviewer", names("coder")},

		{"email", "mail bob@coder and bob@coder.example.org", Result{}},
		{"email with dots", "a.b.@coder x/@coder @@coder _@coder", Result{}},
		{"angle email", "<bob@coder.org>", Result{}},
		{"mailto", "mailto:bob@coder", Result{}},
		{"url path", "https://example.org/@coder", Result{}},
		{"url query", "https://example.org/?u=@coder&v=@reviewer", Result{}},
		{"after a url", "https://example.org @coder (https://x.y) @reviewer", both},
		{"autolink", "<https://example.org/?@coder>", Result{}},
		{"link text", "[@coder](https://example.org)", Result{}},
		{"link title", `[x](y "@coder")`, Result{}},
		{"reference link", "[@coder]\n\n[@coder]: https://example.org", Result{}},
		{"brackets that are no link", "[@coder] [x", names("coder")},
		{"image", "![@coder](x.png)", Result{}},
		{"after a link", "[x](y)@coder", names("coder")},
		{"escaped", `\@coder`, Result{}},
		{"escaped backslash", `\\@coder`, names("coder")},
		{"escaped underscore in name", `@my\_agent\_x`, names("my_agent_x")},
		{"entity", "&#64;coder &commat;coder", Result{}},

		{"emphasis", "*@coder* and _@reviewer_", both},
		{"strong", "**@coder** __@reviewer__", both},
		{"emphasis on part", "@cod*er*", unknown("cod", "coder", "coder-2")},
		{"heading", "# @coder\n\n@reviewer\n---", both},
		{"list", "- @coder\n- [ ] @reviewer", both},
		{"nested list", "1. x\n   - @coder\n\n     @reviewer", both},
		{"table", "| a | b |\n|---|---|\n| @coder | @reviewer |", both},
		{"soft break", "please\n@coder\nand @\nreviewer", names("coder")},
		{"crlf", "x\r\n@coder\r\n\r\n@reviewer\r\n", both},
		{"hard break", "@coder  \n@reviewer\\\n", both},

		{"code span", "`@coder`", Result{}},
		{"double backticks", "`` `@coder` ``", Result{}},
		{"multi-line span", "`x\n@coder`", Result{}},
		{"unclosed span", "`@coder", names("coder")},
		{"escaped backtick", "\\`@coder\\`", names("coder")},
		{"beside code", "`x`@coder", names("coder")},
		{"fence", "```go\n@coder\n```\n@reviewer", names("reviewer")},
		{"tilde fence", "~~~\n@coder\n```\n@coder\n~~~\n@reviewer", names("reviewer")},
		{"info string", "```@coder\nx\n```", Result{}},
		{"longer fence", "````\n```\n@coder\n```\n````", Result{}},
		{"unclosed fence", "x\n```\n@coder\n\n@reviewer", Result{}},
		{"fence in a list", "- x\n  ```\n  @coder\n  ```\n- @reviewer", names("reviewer")},
		{"indented code", "x\n\n    @coder\n\ty @coder", Result{}},
		{"tab code", "\t@coder", Result{}},
		{"indented but a paragraph", "x\n    @coder", names("coder")},

		{"quote", "> @coder said\n> more @coder\n\n@reviewer", names("reviewer")},
		{"nested quote", "> > @coder\n> @coder", Result{}},
		{"quote in a list", "- > @coder\n- @reviewer", names("reviewer")},
		{"list in a quote", "> - @coder\n>   @coder", Result{}},
		{"answer right under a quote", "> it broke\n@coder please", names("coder")},
		{"quote in quotation marks is text", `he said "@coder"`, names("coder")},
		{"greater-than in text", "2 > 1 @coder", names("coder")},

		{"comment", "<!-- @coder -->\n\nx <!-- @coder --> y", Result{}},
		{"open comment", "<!-- @coder\n\n@coder", Result{}},
		{"attribute", `<b title="@coder">x</b>`, Result{}},
		{"pre block", "<pre>\n@coder\n\n@coder\n</pre>\n\n@reviewer", names("reviewer")},
		{"script block", "<script>\n@coder\n</script>", Result{}},
		{"inline code tag", "<code>@coder</code> @reviewer", names("reviewer")},
		{"unclosed code tag", "x <code> @coder", names("coder")},
		{"anchor tag", `see <a href="x">@coder</a>`, Result{}},
		{"blockquote tag", "<blockquote>\n\n@coder\n\n</blockquote>\n\n@reviewer", names("reviewer")},
		{"nested tags", "<q>@coder <q>@coder</q> @coder</q> @reviewer", names("reviewer")},
		{"answer wrapped in tags", "<answer>\n@coder go\n</answer>", names("coder")},
		{"code in an html block", "<details>\n`@coder` @reviewer\n</details>", names("reviewer")},

		{"all", "@all hands", Result{All: true}},
		{"all and more", "@ALL @coder", Result{Agents: []fika.AgentName{"coder"}, All: true}},
		{"human", "@alice?", Result{Human: true}},
		{"human any case, and user", "@ALICE @user", Result{Human: true}},
		{"unknown", "@codr", unknown("codr", "coder")},
		{"unknown swap", "@cdoer", unknown("cdoer", "coder")},
		{"unknown once", "@nobody-here @Nobody-here- @nobody-here's", unknown("nobody-here")},
		{"unknown prefix", "@review", unknown("review", "reviewer")},
		{"too long", "@" + strings.Repeat("x", 100), unknown(strings.Repeat("x", 64))},
		{"invalid utf-8", "\xff@coder \xc3", names("coder")},
		{"nul", "\x00@coder\x00", names("coder")},
		{"nested beyond sense", strings.Repeat("> ", 500) + "@coder\n\n@reviewer", names("reviewer")},
		{"links beyond sense", strings.Repeat("[@coder](x) ", 256) + "@reviewer", names("reviewer")},
	}
	p := New()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, p.Parse(tt.text, known)); diff != "" {
				t.Errorf("%q (-want +got):\n%s", tt.text, diff)
			}
		})
	}
}

func TestUnknownIsBounded(t *testing.T) {
	text := strings.Repeat("@nobody", 1) + " @n1 @n2 @n3 @n4 @n5 @n6 @n7 @n8 @n9 @coder"
	r := Parse(text, known)
	if len(r.Unknown) != maxUnknown || len(r.Agents) != 1 {
		t.Errorf("got %d unknown, agents %v", len(r.Unknown), r.Agents)
	}
}

// A mention inside code or a quote never counts, wherever that stands, while the
// plain text around it still does.
func TestHiddenPlacesProperty(t *testing.T) {
	p := New()
	wrap := []func(string) string{
		func(s string) string { return "```\n" + s + "\n```\n" },
		func(s string) string { return "~~~text\n" + s + "\n~~~\n" },
		func(s string) string { return "    " + s + "\n" },
		func(s string) string { return "> " + s + "\n" },
		func(s string) string { return "``` `" + s + "` ```" },
		func(s string) string { return "<!-- " + s + " -->" },
		func(s string) string { return "<" + "https://example.org/" + strings.ReplaceAll(s, " ", "") + ">" },
	}
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		for range rapid.IntRange(1, 8).Draw(t, "blocks") {
			words := rapid.StringMatching(`[a-z ,.]{0,20} @coder [a-z ,.]{0,20}`).Draw(t, "hidden")
			b.WriteString(rapid.SampledFrom(wrap).Draw(t, "wrap")(strings.TrimSpace(words)))
			b.WriteString("\n\n")
			b.WriteString(rapid.StringMatching(`[a-z][a-z ,.]{0,20}`).Draw(t, "between"))
			b.WriteString("\n\n")
		}
		if r := p.Parse(b.String(), known); !r.NoneAddressed() {
			t.Fatalf("%q: %+v", b.String(), r)
		}
		b.WriteString("@reviewer")
		if r := p.Parse(b.String(), known); !cmp.Equal(r, names("reviewer")) {
			t.Fatalf("%q: %+v", b.String(), r)
		}
	})
}

// Every name is found when it stands alone, whatever its underscores.
func TestEveryNameProperty(t *testing.T) {
	p := New()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z0-9][a-z0-9_-]{0,31}`).Filter(func(s string) bool { return !fika.IsReserved(s) }).Draw(t, "name")
		text := rapid.SampledFrom([]string{"@%", "hey @%, go", "_x_ @% *y*", "@%'s", "- @%\n", "**@%**"}).Draw(t, "text")
		text = strings.ReplaceAll(text, "%", name)
		got := p.Parse(text, Known{Agents: []fika.AgentName{fika.AgentName(name)}})
		if !cmp.Equal(got, names(fika.AgentName(name))) {
			t.Fatalf("%q: %+v", text, got)
		}
	})
}

// Hostile Markdown costs time in proportion to its size. The test counts processor
// time, so that other work on the machine does not matter. Linear costs are tenths of
// a second, even under the race detector; quadratic ones are many seconds.
func TestHostileMarkdownIsBounded(t *testing.T) {
	size, bound := 128<<10, 5*time.Second
	if testing.Short() {
		size, bound = size/4, bound/4
	}
	p := New()
	for _, unit := range []string{
		">", "> ", "- ", "* ", "1. ", "1) ", "- >", "> - ", "-\t", "\n> ", "x\n> - ", "- a\n", "#", "\t", "a\n", "\r", "\x00",
		"[", "![", "](", "[a](", "![a](", "[a](<b ", "[a](b \"c ", "[a]: b\n", "[a]\n(", "[[a]",
		"*", "**a ", "*a _b ", "_", "*_**_", "`", "`a``b", "\\", "&", "~~~\n",
		"<", "<!--", "<!-- a ", "<a ", "</b>", "<a b=\"", "<code>", "<div>\n",
		"@", "@a", "@a ", "://@a",
	} {
		text := strings.Repeat(unit, size/len(unit)) + "@coder"
		start := processorTime(t)
		p.Parse(text, known)
		if d := processorTime(t) - start; d > bound {
			t.Errorf("%q repeated: %v", unit, d)
		}
	}
}

func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		t.Fatal(err)
	}
	return time.Duration(use.Utime.Nano())
}

func TestTame(t *testing.T) {
	deep := strings.Repeat("> - 1. ", maxNesting) + "x"
	many := strings.Repeat("[a](b) ", 2*maxLinks)
	brackets := strings.Repeat("] ", 2*maxBrackets)
	for _, tt := range []struct {
		name, text, bad string
		want            int // occurrences of bad
	}{
		{"ordinary", "> - [a](b)\n", "](", 1},
		{"a rule is not nesting", strings.Repeat("-", 500), "-", 500},
		{"deep nesting", "a\n" + deep + "\nb", ">", 0},
		{"links", many, "](", maxLinks},
		{"links of two paragraphs", many + "\n\n" + many, "](", 2 * maxLinks},
		{"definitions", strings.Repeat("[a]: b\n", 2*maxLinks), "]:", maxLinks},
		{"brackets", brackets, "]", maxBrackets},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := strings.Clone(tt.text)
			src := []byte(tt.text)
			got := string(limitNesting(src))
			if n := strings.Count(got, tt.bad); n != tt.want || len(got) != len(tt.text) {
				t.Errorf("%d %q left of %d bytes, want %d", n, tt.bad, len(got), tt.want)
			}
			if string(src) != before {
				t.Error("the text given was changed")
			}
		})
	}
}

func TestParserIsShared(t *testing.T) {
	p := New()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if r := p.Parse("`x` @coder <answer>\n\n<p>\n@my_agent</p>", known); len(r.Agents) != 2 {
					t.Errorf("got %+v", r)
				}
			}
		})
	}
	wg.Wait()
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"@coder", "> @a\n@b", "```\n@a", "<p>@a</p>", `\@a`, "@a_b_c_d", "<q><q>@a</q>", "1. > - @a", "[@a](b) ://@a"} {
		f.Add(s)
	}
	p := New()
	f.Fuzz(func(t *testing.T, text string) {
		r := p.Parse(text, known)
		low := strings.ToLower(strings.ReplaceAll(text, `\`, ""))
		for _, a := range r.Agents {
			if utf8.ValidString(text) && !strings.Contains(low, "@"+string(a)) {
				t.Errorf("%q: %s is not in it", text, a)
			}
		}
		for _, u := range r.Unknown {
			if u.Name == "" || u.Name[0] == '-' || u.Name[0] == '_' {
				t.Errorf("%q: unknown %q", text, u.Name)
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	text := strings.Repeat("Some *text* about the_thing, with `code` and a [link](x).\n\n", 20) + "@coder please look, @reviewer too."
	p := New()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		p.Parse(text, known)
	}
}

func BenchmarkParseNoMention(b *testing.B) {
	text := strings.Repeat("Nothing here. ", 200)
	p := New()
	for b.Loop() {
		p.Parse(text, known)
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		New().Parse("@coder", known)
	}
}

// People have names in their own script, while agents do not, and text that follows
// an agent's name without a space does not hide it.
func TestB13NamesOfPeople(t *testing.T) {
	known := Known{Agents: []fika.AgentName{"arya", "j"}, Human: "Jöhn", People: []string{"Ötzi", "さくら"}}
	for text, want := range map[string]Result{
		"@Jöhn and @JÖHN": {Human: true},
		"@ötzi, please":   {Human: true},
		"@さくら-san":        {Human: true},
		"@aryaさん、どう":      {Agents: []fika.AgentName{"arya"}},
		"@Jöhnny":         {Agents: []fika.AgentName{"j"}},
		"@Žofie":          {},
		"@\u0301x nobody": {},
	} {
		if d := cmp.Diff(want, Parse(text, known)); d != "" {
			t.Errorf("%q: %s", text, d)
		}
	}
}
