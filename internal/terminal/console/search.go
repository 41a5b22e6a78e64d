package console

import "strings"

// searching is the search back through the history that ctrl-r begins. The console's mutex
// guards it.
type searching struct {
	on     bool
	query  string
	at     int    // index of the entry found in the history
	before editor // the line before the search
	failed bool   // no further entry has the query
}

// show puts the search into what is drawn.
func (s *searching) show(v *view) {
	if !s.on {
		return
	}
	v.prompt = "search " + oneRow(s.query) + ": "
	if s.failed {
		v.prompt = "not found " + oneRow(s.query) + ": "
	}
	v.status = "ctrl-r further back · enter sends · tab edits · esc ends"
}

// search takes a key while the history is searched, and begins the search. It returns
// false if the key is still to be acted on: the search has ended, and what it found is the
// line.
func (a *actor) search(k key) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := &a.find
	switch {
	case a.closed || !s.on && k.action != actSearch:
		return false
	case !s.on:
		*s = searching{on: true, at: len(a.hist.entries), before: a.edit}
		a.menu.clear()
		a.hint = ""
	case k.action == actSearch:
		a.findOlder(s.at - 1)
	case k.action == actInsert && !k.pasted:
		s.query += typed(k.text)
		a.findOlder(min(s.at, len(a.hist.entries)-1))
	case k.action == actBackspace && s.query != "":
		r := []rune(s.query)
		s.query = string(r[:len(r)-1])
		a.findOlder(len(a.hist.entries) - 1)
	case k.action == actEscape, k.action == actInterrupt:
		a.edit, s.on = s.before, false
	case k.action == actTab:
		s.on = false
	default:
		s.on = false
		return false
	}
	a.redraw("")
	return true
}

// findOlder puts the newest entry at or before from that has the query into the line. The
// caller holds mu.
func (a *actor) findOlder(from int) {
	s := &a.find
	s.failed = true
	for i := from; i >= 0 && i < len(a.hist.entries); i-- {
		entry := a.hist.entries[i]
		if at := strings.Index(strings.ToLower(entry), strings.ToLower(s.query)); at >= 0 {
			s.at, s.failed = i, false
			a.edit.set(entry)
			return
		}
	}
}
