package web

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"fika/internal/api"
)

const (
	// window is how many entries a chat shows at first, and more each time.
	window = 100
	// maxShown bounds, in bytes, what is shown of one entry; a link leads to the rest.
	maxShown = 64 << 10
	// maxChange is how many lines of a change are shown at once.
	maxChange = 60
)

// chatLog is what a view shows of a conversation's entries.
type chatLog struct {
	Name    string
	Items   []logItem
	Older   int64 // the seq before which there is more; 0: there is none
	Last    int64 // the seq of the last entry
	more    bool  // there are more new entries than these
	CanSend bool
	Agents  string // names to complete, with spaces between them
}

// logItem is an entry as it is shown.
type logItem struct {
	api.EntryInfo
	In      string // the conversation
	Mine    bool   // a person wrote it
	Failed  bool   // of a tool's result
	Note    string // of a notice: its kind
	Change  []changedLine
	Args    []argument
	Summary string
	More    int // bytes that are not shown
}

// changedLine is a line of a change that a call makes in a file.
type changedLine struct{ Sign, Text string }

// entryMeta is what is read of an entry's further details.
type entryMeta struct {
	Writer  string `json:"writer"`
	IsError bool   `json:"is_error"`
	Kind    string `json:"kind"`
}

// chatState is what stands above a chat.
type chatState struct {
	api.ConversationInfo
	Working   []worker
	Paused    bool // with everything else
	Approvals []api.ApprovalInfo
}

// chat shows a conversation: its state, and its entries behind a seq; with from < 0 the
// last ones.
func chat(ctx context.Context, to api.Service, r *http.Request, from int64) (view, error) {
	name := r.PathValue("name")
	scope := api.Scope{Conversations: []string{name}, Deltas: true}
	st, _, err := to.Look(ctx, scope)
	if err != nil {
		return view{}, err
	}
	i := slices.IndexFunc(st.Conversations, func(c api.ConversationInfo) bool { return c.Name == name })
	if i < 0 {
		return view{}, &api.Error{Code: api.NotFound, Detail: "conversation \"" + name + "\" not found"}
	}
	c := st.Conversations[i]
	scope.Conversations[0] = c.Name
	log, err := entriesOf(ctx, to, c, from)
	if err != nil {
		return view{}, err
	}
	if log.CanSend = c.Kind == "chat" && from < 0; log.CanSend {
		agents, err := to.Agents(ctx, api.Page{Limit: api.MaxPage})
		if err != nil {
			return view{}, err
		}
		names := make([]string, len(agents.Items))
		for i, a := range agents.Items {
			names[i] = a.Name
		}
		log.Agents = strings.Join(names, " ")
	}
	var approvals []api.ApprovalInfo
	for _, a := range st.Approvals {
		if a.Conversation == c.Name {
			approvals = append(approvals, a)
		}
	}
	working := slices.DeleteFunc(workersOf(st, api.Spending{}), func(w worker) bool { return !slices.Contains(c.Participants, w.Name) && w.Name != c.Agent })
	for i := range working {
		working[i].Work = slices.DeleteFunc(working[i].Work, func(q api.RequestInfo) bool { return q.Conversation != c.Name })
	}
	return view{
		Title: c.Name, Nav: "chats", Live: "/live/chats/" + pathOf(c.Name), Log: log, scope: scope,
		Parts: []part{{"state", "chatstate", chatState{c, working, st.Paused, approvals}}},
	}, nil
}

// chats lists the conversations.
func chats(ctx context.Context, to api.Service, r *http.Request, _ int64) (view, error) {
	list, err := to.Conversations(ctx, api.Page{After: r.FormValue("after"), Limit: window})
	x := view{Title: "Chats", Nav: "chats", Parts: []part{{"list", "chatlist", list.Items}, {"next", "nextpage", list.Next}}}
	if r.FormValue("after") == "" {
		x.Live = "/live/chats"
	}
	return x, err
}

// entriesOf returns the entries of a conversation behind a seq; with from < 0 the last.
func entriesOf(ctx context.Context, to api.Service, c api.ConversationInfo, from int64) (*chatLog, error) {
	after := from
	if from < 0 {
		after = max(0, c.Seq-window)
	}
	list, err := to.Entries(ctx, c.Name, api.Page{After: strconv.FormatInt(after, 10), Limit: window})
	if err != nil {
		return nil, err
	}
	log := &chatLog{Name: c.Name, Last: after, more: list.Next != ""}
	if from < 0 && after > 0 {
		log.Older = after + 1
	}
	for _, e := range list.Items {
		log.Items, log.Last = append(log.Items, itemOf(e, c.Name)), e.Seq
	}
	return log, nil
}

// older returns the entries before a seq, as a fragment.
func (s *site) older(w http.ResponseWriter, r *http.Request) {
	to, ok := s.person(r)
	if !ok {
		http.Error(w, "log in", http.StatusUnauthorized)
		return
	}
	before, err := strconv.ParseInt(r.FormValue("before"), 10, 64)
	if err != nil || before < 1 {
		http.Error(w, "before is the seq of an entry", http.StatusBadRequest)
		return
	}
	after := max(0, before-1-window)
	list, err := to.Entries(r.Context(), r.PathValue("name"), api.Page{After: strconv.FormatInt(after, 10), Limit: window})
	if err != nil {
		http.Error(w, sentence(err), statusOf(err))
		return
	}
	log := chatLog{Name: r.PathValue("name")}
	if after > 0 {
		log.Older = after + 1
	}
	for _, e := range list.Items {
		if e.Seq < before {
			log.Items = append(log.Items, itemOf(e, log.Name))
		}
	}
	s.write(w, http.StatusOK, func() ([]byte, error) { return s.views.render("items", log) })
}

// whole returns the text of one entry, as it is.
func (s *site) whole(w http.ResponseWriter, r *http.Request) {
	to, ok := s.person(r)
	if !ok {
		http.Error(w, "log in", http.StatusUnauthorized)
		return
	}
	seq, err := strconv.ParseInt(r.PathValue("seq"), 10, 64)
	if err != nil || seq < 1 {
		http.Error(w, "that is no seq of an entry", http.StatusBadRequest)
		return
	}
	list, err := to.Entries(r.Context(), r.PathValue("name"), api.Page{After: strconv.FormatInt(seq-1, 10), Limit: 1})
	switch {
	case err != nil:
		http.Error(w, sentence(err), statusOf(err))
	case len(list.Items) == 0 || list.Items[0].Seq != seq:
		http.Error(w, "there is no such entry", http.StatusNotFound)
	default:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte(list.Items[0].Content)) // a client that has left misses it
	}
}

// itemOf returns an entry as it is shown.
func itemOf(e api.EntryInfo, in string) logItem {
	var m entryMeta
	_ = json.Unmarshal(e.Meta, &m) // what is malformed says nothing
	i := logItem{EntryInfo: e, In: in, Mine: m.Writer == "human", Failed: m.IsError, Note: m.Kind}
	if e.Type == "tool_call" {
		i.Change = changeOf(e.To, e.Content)
	}
	if len(i.Content) > maxShown {
		cut := strings.ToValidUTF8(i.Content[:maxShown], "")
		i.More, i.Content = len(i.Content)-len(cut), cut
	}
	switch e.Type {
	case "tool_call":
		i.Args = arguments(json.RawMessage(i.Content))
		for _, a := range i.Args {
			if slices.Contains([]string{"command", "path", "url", "query", "pattern", "prompt", "agent", "text"}, a.Name) {
				i.Summary, _, _ = strings.Cut(a.Text, "\n")
				break
			}
		}
	case "tool_result":
		i.Summary, _, _ = strings.Cut(strings.TrimSpace(i.Content), "\n")
		if i.Failed {
			i.Summary = lastLine(i.Content)
		}
	}
	if len(i.Summary) > 200 {
		i.Summary = strings.ToValidUTF8(i.Summary[:200], "") + "…"
	}
	return i
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// changeOf returns the lines that an edit removes and adds; nil for other calls.
func changeOf(tool, args string) []changedLine {
	var a struct {
		Old     *string `json:"old"`
		New     *string `json:"new"`
		Content *string `json:"content"`
	}
	if tool != "edit" && tool != "create" || json.Unmarshal([]byte(args), &a) != nil {
		return nil
	}
	var out []changedLine
	add := func(sign string, text *string) {
		if text == nil || *text == "" {
			return
		}
		for l := range strings.Lines(*text) {
			out = append(out, changedLine{sign, strings.TrimSuffix(l, "\n")})
		}
	}
	add("−", a.Old)
	add("+", cmp.Or(a.New, a.Content))
	if len(out) > maxChange {
		out = append(out[:maxChange], changedLine{"…", strconv.Itoa(len(out)-maxChange) + " lines more"})
	}
	return out
}
