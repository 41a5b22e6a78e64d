package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"fika/internal/api"
	"fika/internal/system/term"
	"fika/internal/terminal/markdown"
	"fika/internal/text/words"
)

// formats are the functions of templates that need the time.
type formats struct{ now func() time.Time }

// moment returns a time as an element whose text the script turns into how long ago that
// is.
func (formats) moment(t time.Time) template.HTML {
	if t.IsZero() {
		return ""
	}
	return template.HTML(fmt.Sprintf(`<time data-ago datetime="%s">%s</time>`, t.UTC().Format(time.RFC3339Nano), t.Local().Format("15:04:05")))
}

// clock returns the time of day, with the date if that is not today's.
func (f formats) clock(t time.Time) string {
	t = t.Local()
	if now := f.now().Local(); t.YearDay() != now.YearDay() || t.Year() != now.Year() {
		return t.Format("2006-01-02 15:04")
	}
	return t.Format("15:04:05")
}

// markdown returns a text as safe HTML.
func (formats) markdown(text string) template.HTML {
	return template.HTML(markdown.HTML(text, func(string) bool { return true }))
}

// say returns the sentence of a status.
func (f formats) say(s api.Status) string { return words.Say(s, f.now()) }

// brief returns the sentence of a status of the agent that is named beside it.
func (f formats) brief(s api.Status) string { return words.Brief(s, f.now()) }

// exact returns a text in which everything that a browser would not show, or would show
// elsewhere, stands as its escape: a person decides about exactly this.
func exact(text string) template.HTML {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\n':
			b.WriteString("\n")
		case r == '\t':
			b.WriteString(`<b class="esc" title="tab">\t</b>` + "\t")
		case r == unicode.ReplacementChar || isUnseen(r):
			fmt.Fprintf(&b, `<b class="esc">\u%04x</b>`, r)
		default:
			b.WriteString(html.EscapeString(string(r)))
		}
	}
	return template.HTML(b.String())
}

// line returns a text on one line, with escapes as [exact] has them.
func line(text string) template.HTML {
	return template.HTML(strings.ReplaceAll(string(exact(text)), "\n", `<b class="esc">\n</b>`))
}

// flat returns a text with a space for each line break and run of spaces.
func flat(text string) string { return strings.Join(strings.Fields(text), " ") }

// isUnseen reports whether a rune is invisible, moves other text, or is a space that does
// not look like one.
func isUnseen(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) ||
		r != ' ' && unicode.Is(unicode.Zs, r) || r == 'ㅤ' || r == '⠀'
}

// argument is one argument of a tool call.
type argument struct {
	Name, Text string
	Long       bool // it has several lines, or a long one
}

// arguments returns the arguments of a call in their order: texts as they are, all else as
// JSON. What is not an object is one argument without a name.
func arguments(args json.RawMessage) []argument {
	whole := []argument{{Text: string(args), Long: true}}
	d := json.NewDecoder(bytes.NewReader(args))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return whole
	}
	var out []argument
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return whole
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return whole
		}
		text := string(raw)
		var s string
		if json.Unmarshal(raw, &s) == nil && raw[0] == '"' {
			text = s
		}
		out = append(out, argument{fmt.Sprint(name), text, len(text) > 60 || strings.Contains(text, "\n")})
	}
	return out
}

func count(n int64) string { return term.ShortCount(n) }

// read, written and cost format what was spent, with "~" where some of it was estimated.
func read(s api.Spent) string    { return term.Tokens(s.Input, s.Estimated) }
func written(s api.Spent) string { return term.Tokens(s.Output, s.Estimated) }
func cost(s api.Spent) string {
	return term.Spent(s.Cost, s.Unpriced, s.Estimated, s.Subscription)
}

func money(micro int64, unpriced bool) string { return term.Cost(micro, unpriced) }

func took(d time.Duration) string { return term.Duration(d) }

// short returns the beginning of an id.
func short(id string) string { return id[:min(len(id), 13)] }

func pathOf(name string) string { return url.PathEscape(name) }

func plural(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if stem, ok := strings.CutSuffix(what, "y"); ok {
		what = stem + "ie"
	}
	return fmt.Sprint(n, " ", what, "s")
}

// statusOf maps the code of an error to a number of HTTP.
func statusOf(err error) int {
	switch api.CodeOf(err) {
	case api.Invalid:
		return http.StatusBadRequest
	case api.Unauthenticated:
		return http.StatusUnauthorized
	case api.Denied:
		return http.StatusForbidden
	case api.NotFound:
		return http.StatusNotFound
	case api.Conflict:
		return http.StatusConflict
	case api.KeyReused:
		return http.StatusUnprocessableEntity
	case api.TooLarge:
		return http.StatusRequestEntityTooLarge
	case api.Limit:
		return http.StatusTooManyRequests
	case api.Busy, api.Locked, api.Unavailable, api.Interrupted, api.Reset:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// sentence returns what a person reads of an error.
func sentence(err error) string {
	var e *api.Error
	if !errors.As(err, &e) {
		return "The answer was interrupted. Try again."
	}
	if text := words.Say(e.Why, time.Now()); text != "" {
		return text
	}
	if e.Detail != "" {
		return e.Detail
	}
	switch e.Code {
	case api.Conflict:
		return "That has been answered or has changed meanwhile."
	case api.NotFound:
		return "That was not found."
	case api.KeyReused:
		return "That was sent before with another content."
	}
	return "That failed: " + string(e.Code)
}
