package words

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"fika/internal/api"
	"fika/internal/system/term"
)

// Say returns a sentence for a status, without a full stop: what is the matter and the
// command that helps, and until when if that is known. It returns "" for a status that
// is clear. A code without words is shown as it is.
func Say(s api.Status, now time.Time) string { return sayAs(s, now, false) }

// Brief returns what [Say] does, for a place where the agent's name precedes it.
func Brief(s api.Status, now time.Time) string { return sayAs(s, now, true) }

func sayAs(s api.Status, now time.Time, brief bool) string {
	if s.IsClear() {
		return ""
	}
	text := string(s.Code)
	if p, found := phraseOf(s.Code); found {
		if text = p.Text; brief && p.Brief != "" {
			text = p.Brief
		}
	}
	f := filler{status: s, now: now, brief: brief}
	text = f.fill(text)
	if !s.Until.IsZero() && !f.saidUntil {
		text += ", until " + clock(s.Until) + " (" + from(now, s.Until) + ")"
	}
	return text
}

// All returns the sentences of several statuses.
func All(list []api.Status, now time.Time) []string {
	out := make([]string, 0, len(list))
	for _, s := range list {
		out = append(out, Say(s, now))
	}
	return out
}

func phraseOf(code api.Code) (Phrase, bool) {
	list := Phrases()
	i := slices.IndexFunc(list, func(p Phrase) bool { return p.Code == code })
	if i < 0 {
		return Phrase{}, false
	}
	return list[i], true
}

// filler fills the phrase of a status with its arguments.
type filler struct {
	status    api.Status
	now       time.Time
	brief     bool
	saidUntil bool
}

// fill returns the first alternative that has its arguments, else the last with gaps.
func (f *filler) fill(phrase string) string {
	text := ""
	for one := range strings.SplitSeq(phrase, "|") {
		var complete bool
		if text, complete = f.fillOne(one); complete {
			break
		}
	}
	return text
}

func (f *filler) fillOne(text string) (string, bool) {
	var b strings.Builder
	complete := true
	for text != "" {
		at := strings.IndexAny(text, "{[")
		if at < 0 {
			b.WriteString(text)
			break
		}
		b.WriteString(text[:at])
		closing := "}"
		if text[at] == '[' {
			closing = "]"
		}
		inner, rest, _ := strings.Cut(text[at+1:], closing)
		if closing == "]" {
			if part, all := f.fillOne(inner); all {
				b.WriteString(part)
			}
		} else {
			value := f.value(inner)
			complete = complete && value != ""
			b.WriteString(value)
		}
		text = rest
	}
	return b.String(), complete
}

// value returns the words for an argument; "" if it is missing.
func (f *filler) value(name string) string {
	s := f.status
	switch name {
	case "help":
		if len(s.Help) > 0 {
			return Command(s)
		}
		return ""
	case "parts":
		return strings.Join(f.parts(f.brief), "; ")
	case "each":
		return strings.Join(f.parts(f.brief), ", ")
	case "briefly":
		return strings.Join(f.parts(true), ", ")
	case "until", "in":
		if s.Until.IsZero() {
			return ""
		}
		f.saidUntil = true
		if name == "in" {
			return from(f.now, s.Until)
		}
		return clock(s.Until)
	}
	value := s.Args[name]
	if value == "" {
		return ""
	}
	switch name {
	case "seconds":
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			return term.Duration(time.Duration(n) * time.Second)
		}
	case "at":
		if t, err := time.Parse(time.RFC3339, value); err == nil {
			return term.Ago(t, f.now)
		}
	case "time":
		if t, err := time.Parse(time.RFC3339, value); err == nil {
			return t.Local().Format(time.DateTime)
		}
	case "kind":
		return work(value)
	case "where":
		return hiding(value)
	}
	return value
}

func (f *filler) parts(brief bool) []string {
	var out []string
	for _, p := range f.status.Parts {
		out = append(out, sayAs(p, f.now, brief))
	}
	return out
}

// clock returns a time of day, with seconds only if it has any.
func clock(t time.Time) string {
	if t = t.Local(); t.Second() == 0 {
		return t.Format("15:04")
	}
	return t.Format("15:04:05")
}

func from(now, until time.Time) string {
	return term.Duration(max(until.Sub(now).Round(time.Second), 0))
}

// work names a request of a kind.
func work(kind string) string {
	switch kind {
	case "ask":
		return "an ask"
	case "task":
		return "a task"
	case "notify":
		return "a chat"
	}
	return "a prompt"
}

// hiding says where a name stands that is no mention.
func hiding(where string) string {
	switch where {
	case "code":
		return "inside code"
	case "link", "quote":
		return "inside a " + where
	case "html":
		return "inside HTML"
	}
	return "as part of an address, a path or a longer word"
}
