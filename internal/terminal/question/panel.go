package question

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"fika/internal/service"
	"fika/internal/system/term"
	"fika/internal/text/diff"
)

// Panel is a question as it stands above the line of a person who answers it with one
// key: what is to be done, where and why, and the keys. What does not fit is turned page
// by page; nothing of it is cut off at the right. It is safe for concurrent use.
type Panel struct {
	q      service.OpenApproval
	style  term.Style
	now    func() time.Time
	always string // the calls that the key a allows from now on; "": it is not offered

	mu      sync.Mutex
	more    int // other questions that wait
	from    int // first row shown of the body
	shown   int // rows of the body at the last drawing
	all     int // rows of the body then
	details bool
}

// NewPanel returns the panel of a question. always says which calls a rule would allow
// from now on; "" if there can be no such rule.
func NewPanel(q service.OpenApproval, always string, style term.Style, now func() time.Time) *Panel {
	return &Panel{q: q, style: style, now: now, always: always}
}

// SetMore sets the number of questions that wait after this one.
func (p *Panel) SetMore(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.more = n
}

// The keys of a panel. KeyNo may be followed by a reason: KeyNoBecause asks for it. In
// place of yes, a choice has its number from 1, and a text is typed after KeyYes.
const (
	KeyYes       = 'y'
	KeyAlways    = 'a'
	KeyNo        = 'n'
	KeyNoBecause = 'N'
	KeyDetails   = 'v'
	KeyForward   = ' '
	KeyBack      = 'b'
)

// Question returns the question that the panel shows.
func (p *Panel) Question() service.OpenApproval { return p.q }

// Keys returns the keys that the panel takes, and of these the one that a line of words
// follows, with what it is asked for with.
func (p *Panel) Keys() (keys string, worded rune, prompt string) {
	keys = string([]rune{KeyNo, KeyDetails, KeyForward, KeyBack})
	s, _ := service.StepQuestionOf(p.q)
	switch n := len(s.Choice); {
	case s.Wants() != "" && !byNumber(s):
		return keys, KeyYes, "answer: "
	case n > 0:
		return keys + "123456789"[:n], KeyNoBecause, "no, because: "
	case p.always != "":
		keys += string(KeyAlways)
	}
	return keys + string(KeyYes), KeyNoBecause, "no, because: "
}

// byNumber reports whether a question is answered with the number of a choice.
func byNumber(s service.StepQuestion) bool { return len(s.Choice) > 0 && len(s.Choice) <= 9 }

// Answer returns what a key answers, with the words typed after it: whether it allows,
// and the reason or the answer.
func (p *Panel) Answer(key rune, words string) (allow bool, said string) {
	s, _ := service.StepQuestionOf(p.q)
	if i := int(key - '1'); byNumber(s) && i >= 0 && i < len(s.Choice) {
		return true, s.Choice[i]
	}
	return key == KeyYes || key == KeyAlways, words
}

// Turn acts on the keys that answer nothing: another page, or the details. It reports
// whether key was one of them.
func (p *Panel) Turn(key rune) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch key {
	case KeyForward:
		if p.from += p.shown; p.from >= p.all {
			p.from = 0
		}
	case KeyBack:
		p.from = max(0, p.from-p.shown)
	case KeyDetails:
		p.details, p.from = !p.details, 0
	default:
		return false
	}
	return true
}

// line is a line of the body: its text, without hidden characters, and its colour.
type line struct {
	text  string
	paint func(string) string
}

// Rows returns the panel in at most height rows of at most width columns.
func (p *Panel) Rows(width, height int) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	body := p.body()
	var rows []string
	var lineOf []int // of each row
	for i, l := range body {
		for _, part := range cut(l.text, max(4, width-4)) {
			rows = append(rows, "    "+l.paint(part))
			lineOf = append(lineOf, i+1)
		}
	}
	head := p.style.Bold(p.style.Yellow(term.Truncate("? "+p.title(), width)))
	feet := p.feet(width)
	room := max(1, height-1-len(feet))
	for len(feet) > 1 && height-1-len(feet) < min(2, len(rows)) { // on a low terminal the keys stay
		feet = feet[1:]
		room = max(1, height-1-len(feet))
	}
	told := len(rows) > room && room > 1
	if told {
		room-- // for the row that says so
	}
	p.all, p.shown = len(rows), room
	p.from = max(0, min(p.from, len(rows)-1))
	end := min(len(rows), p.from+room)
	out := append([]string{head}, rows[p.from:end]...)
	if told {
		note := fmt.Sprintf("%d lines, %d–%d shown, space for more", len(body), lineOf[p.from], lineOf[end-1])
		out = append(out, p.style.Bold(term.Truncate("  "+note, width)))
	}
	return append(out, feet...)
}

// title says who wants what.
func (p *Panel) title() string {
	when := "asked " + term.Ago(p.q.Asked, p.now())
	if p.q.Conversation != "" {
		when += " in " + string(p.q.Conversation)
	}
	if p.more > 0 {
		when += fmt.Sprintf(", %d more after this", p.more)
	}
	what := string(p.q.Agent) + " wants to call " + p.q.Tool
	if s, ok := service.StepQuestionOf(p.q); ok {
		what = fmt.Sprintf("step %s of run %s asks", s.Step, s.Run)
	} else if verb := map[string]string{"bash": "run", "edit": "edit", "create": "create"}[p.q.Tool]; verb != "" {
		what = string(p.q.Agent) + " wants to " + verb
		if a := p.args(); a.Path != "" {
			what += " " + a.Path
		}
	}
	return term.CleanLine(term.Visible(what)) + " · " + term.CleanLine(when)
}

// callArgs are the arguments of the tools that are shown in a form of their own.
type callArgs struct {
	Command     string  `json:"command"`
	Description string  `json:"description"`
	Path        string  `json:"path"`
	Old         *string `json:"old"`
	New         *string `json:"new"`
	Content     *string `json:"content"`
	All         bool    `json:"replace_all"`
	Overwrite   bool    `json:"overwrite"`
}

func (p *Panel) args() (a callArgs) {
	_ = json.Unmarshal([]byte(p.q.Args), &a) // what is missing is shown as it is
	return a
}

// body returns the content: a command, a difference, or each argument.
func (p *Panel) body() []line {
	a := p.args()
	plain := func(s string) string { return s }
	s, isStep := service.StepQuestionOf(p.q)
	switch {
	case p.details:
		return p.everything(plain)
	case isStep:
		return append(textLines(cmp.Or(s.Question, "may it begin?"), plain), choices(s, p.style.Bold)...)
	case p.q.Tool == "bash" && a.Command != "":
		return textLines(a.Command, p.style.Bold)
	case p.q.Tool == "edit" && a.Old != nil && a.New != nil:
		return p.difference(diff.Lines([]byte(*a.Old), []byte(*a.New)))
	case p.q.Tool == "create" && a.Content != nil:
		return p.difference(diff.Lines(nil, []byte(*a.Content)))
	}
	return p.arguments(plain)
}

// choices returns what a person may choose, each on a line of its own.
func choices(s service.StepQuestion, paint func(string) string) (out []line) {
	for i, one := range s.Choice {
		mark := "·"
		if byNumber(s) {
			mark = fmt.Sprint(i + 1)
		}
		out = append(out, line{mark + " " + term.CleanLine(term.Visible(one)), paint})
	}
	return out
}

// arguments returns the arguments of a call, each on lines of its own.
func (p *Panel) arguments(plain func(string) string) (out []line) {
	var args map[string]json.RawMessage
	if json.Unmarshal([]byte(p.q.Args), &args) != nil {
		return textLines(p.q.Args, plain)
	}
	names := make([]string, 0, len(args))
	for name := range args {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		var s string
		if json.Unmarshal(args[name], &s) != nil {
			s = string(args[name])
		}
		out = append(out, textLines(name+": "+s, plain)...)
	}
	return out
}

// everything returns what is known of a question.
func (p *Panel) everything(plain func(string) string) []line {
	out := textLines(fmt.Sprintf("approval %d of request %s, asked %s", p.q.N, p.q.Request, p.q.Asked.Local().Format(time.DateTime)), plain)
	if !p.q.Expires.IsZero() {
		out = append(out, textLines("refused by itself at "+p.q.Expires.Local().Format(time.DateTime), plain)...)
	}
	out = append(out, textLines("folder: "+p.q.Workspace+"\nabout: "+p.q.What+"\nbecause of: "+p.q.Rule+"\ntool: "+p.q.Tool, plain)...)
	return append(out, p.arguments(plain)...)
}

func (p *Panel) difference(rows []string) (out []line) {
	for _, r := range rows {
		paint := p.style.Dim
		switch {
		case strings.HasPrefix(r, "+"):
			paint = p.style.Green
		case strings.HasPrefix(r, "-"):
			paint = p.style.Red
		}
		if len(r) > 0 && r[0] != '@' {
			r = r[:1] + " " + r[1:]
		}
		out = append(out, textLines(r, paint)...)
	}
	return out
}

// manyEmpty is the number of empty lines in a row from which they are counted instead.
const manyEmpty = 3

// textLines returns the lines of a text with hidden characters written out. Many empty
// lines are one that says so: they push what follows out of sight.
func textLines(text string, paint func(string) string) (out []line) {
	lines := strings.Split(strings.TrimSuffix(strings.ReplaceAll(term.Visible(text), "\t", "    "), "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		n := 0
		for i+n < len(lines) && strings.TrimSpace(lines[i+n]) == "" {
			n++
		}
		if n > manyEmpty {
			out = append(out, line{fmt.Sprintf("(%d empty lines)", n), paint})
			i += n - 1
			continue
		}
		out = append(out, line{lines[i], paint})
	}
	return out
}

// cut breaks a line wherever it reaches the width, so that every character stays.
func cut(text string, width int) []string {
	var out []string
	for term.Width(text) > width {
		at, used := 0, 0
		for i, r := range text {
			if used += term.Width(string(r)); used > width && i > 0 {
				break
			}
			at = i + len(string(r))
		}
		out = append(out, text[:at])
		text = text[at:]
	}
	return append(out, text)
}

// feet returns the rows below the content: where and why, what to look out for, the keys.
func (p *Panel) feet(width int) []string {
	a := p.args()
	about := "in " + term.Visible(p.q.Workspace)
	if p.q.FlowStep != "" {
		about = ""
	}
	if a.All {
		about += " · wherever it occurs"
	}
	if a.Overwrite && p.q.Tool == "create" {
		about += " · replaces the file"
	}
	if p.q.Rule != "" {
		about += " · " + term.Visible(p.q.Rule)
	}
	if a.Description != "" && p.q.Tool == "bash" {
		about += " · it says: " + term.Visible(a.Description)
	}
	var out []string
	if about != "" {
		out = append(out, p.style.Dim(term.Truncate("  "+term.CleanLine(about), width)))
	}
	if call := ShowCall(p.q.Tool, p.q.Args); strings.Contains(call, `\u{`) {
		out = append(out, p.style.Red(term.Truncate(`  some characters cannot be seen or look like others; they are written as \u{…}`, width)))
	}
	if about := term.CleanLine(term.Visible(p.q.What)); strings.Contains(about, "(changed since ") {
		out = append(out, p.style.Red(term.Truncate("  "+about[strings.LastIndex(about, "(changed since "):], width)))
	}
	keys := []string{"y yes, once", "n no", "N no, because…", "v details"}
	short := []string{"y yes", "n no", "N why", "v"}
	switch s, _ := service.StepQuestionOf(p.q); {
	case byNumber(s):
		keys[0] = fmt.Sprintf("1–%d choose", len(s.Choice))
		short[0] = keys[0]
	case s.Wants() != "":
		keys = []string{"y answer…", "n no", "v details"}
		short = keys
	}
	if p.always != "" {
		always := "a always " + term.CleanLine(term.Visible(p.always))
		if term.Width(always) > width-2 {
			out = append(out, "  "+always[:0]+term.Truncate(always, width-2))
			always = "a always"
		}
		keys, short = slices.Insert(keys, 1, always), slices.Insert(short, 1, "a always")
	}
	row := "  " + strings.Join(keys, "   ")
	if term.Width(row) > width {
		if p.always != "" && len(keys) > 4 && keys[1] != "a always" { // the pattern on a row of its own
			out = append(out, "  "+keys[1])
			keys[1] = "a always"
		}
		if row = "  " + strings.Join(keys, "   "); term.Width(row) > width {
			row = term.Truncate(strings.Join(short, " "), width)
		}
	}
	return append(out, row)
}
