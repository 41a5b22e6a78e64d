package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"fika"
	"fika/internal/api"
	"fika/internal/report/inbox"
	"fika/internal/service"
	"fika/internal/workflow"
)

// hostileTexts are texts that try to become a part of the page.
func hostileTexts() []string {
	return []string{
		"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "<svg/onload=alert(1)>", "[x](javascript:alert(1))", "![x](https://evil.example/a.png)",
		"</div></main><iframe src=//evil.example>", "{{.}}", "<style>*{}</style>", `<base href="//evil.example">`, "<form action=//evil.example><button>send</button></form>",
		"\u202e\u2066 turned", "a\u200b\U000E0041b", "`</code><script>`", "| <script> | b |\n|---|---|\n| 1 | 2 |", "<!-- --><script>", `<a href="javascript:1" onclick="x">`,
	}
}

// checkPage fails the test if a page holds what none of its templates writes.
func checkPage(t *testing.T, what, page string) {
	t.Helper()
	z := html.NewTokenizer(strings.NewReader(page))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return
		case html.StartTagToken, html.SelfClosingTagToken:
			tag := z.Token()
			switch tag.Data {
			case "img", "iframe", "style", "base", "object", "embed", "template":
				t.Errorf("%s: the tag %s", what, tag)
			}
			for _, a := range tag.Attr {
				bad := strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "srcdoc"
				switch a.Key {
				case "src":
					bad = a.Val != "/page.js"
				case "action":
					bad = !strings.HasPrefix(a.Val, "/") || strings.HasPrefix(a.Val, "//")
				case "href":
					u, err := url.Parse(a.Val)
					bad = err != nil || u.Scheme != "" && u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "mailto"
				}
				if bad {
					t.Errorf("%s: the attribute %s=%q of %s", what, a.Key, a.Val, tag.Data)
				}
			}
		case html.CommentToken:
			t.Errorf("%s: the comment %s", what, z.Token())
		}
	}
}

// TestHostileTexts: nothing that is said becomes a part of a page, and approvals show what
// cannot be seen.
func TestHostileTexts(t *testing.T) {
	w := newWorld(t)
	room, err := w.person.Chats.Create(t.Context(), "room")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range hostileTexts() {
		if _, err := w.person.Chats.Send(t.Context(), room, text, service.Alias{}); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if _, err := w.person.Board().Add(t.Context(), []service.NewTask{{Title: text, Body: text, Capability: text}}); err != nil && !fika.IsKind(err, fika.Invalid) {
			t.Fatalf("%q: %v", text, err)
		}
		for name, data := range map[string]any{
			"offercard": api.OfferInfo{Number: 1, Source: text, Title: text, Into: text, Reason: text, State: "asks", Over: true, Asks: []api.PathRisk{{Path: text, Why: text}}},
			"offer":     api.Offer{OfferInfo: api.OfferInfo{Number: 1, Agent: text, Title: text, State: "back"}, Output: text, Tip: text},
			"task":      api.Task{TaskInfo: api.TaskInfo{Title: text, State: "held", HeldReason: text, By: text}, Body: text, Result: text},
			"tasklog":   api.Task{Log: []api.TaskLine{{Who: text, What: "noted", Text: text}}},
			"why":       whyPage{Item: logItem{EntryInfo: api.EntryInfo{Entry: api.Entry{From: text, Content: text}}, In: text}, Names: []string{text}, Answers: []whyAgent{{text, []api.Status{api.Stands(api.AgentReports, "reason", text)}}}},
			"workflow":  workflowForm{api.WorkflowInfo{Name: text, Description: text, Inputs: []api.WorkflowInput{{Name: text, Description: text, Type: "text", Default: []byte(jsonText(text))}, {Name: text, Type: "agent"}}}, []string{text}},
			"workflows": []api.WorkflowInfo{{Name: text, Description: text, Trouble: text}},
			"needs":     inbox.Needs{Mentions: []api.FoundInfo{{Conversation: text, From: text, Snippet: text}}, Landing: api.Landing{Commits: 1, Into: text, Folder: text}},
		} {
			out, err := w.server.site.views.render(name, data)
			if err != nil {
				t.Fatal(err)
			}
			checkPage(t, name+" "+text, string(out))
		}
		if i := itemOf(api.EntryInfo{Seq: 1, Entry: api.Entry{From: text, To: text, Type: "tool_call", Content: fmt.Sprintf(`{"command":%s,"x":1}`, jsonText(text))}}, text); i.Summary == "" {
			t.Errorf("%q: no summary", text)
		}
		for _, kind := range []string{"message", "tool_call", "tool_result", "notice", "compaction"} {
			i := itemOf(api.EntryInfo{Seq: 1, Entry: api.Entry{From: text, To: text, Type: kind, Content: text}}, "room")
			out, err := w.server.site.views.render("item", i)
			if err != nil {
				t.Fatal(err)
			}
			checkPage(t, kind+" "+text, string(out))
		}
		out, err := w.server.site.views.render("approval", api.ApprovalInfo{Number: 1, Agent: text, Conversation: text, Tool: text, What: text, Rule: text, Workspace: text, Args: []byte(fmt.Sprintf("{%s:%s}", strconv.Quote("x"), jsonText(text)))})
		if err != nil {
			t.Fatal(err)
		}
		checkPage(t, "approval "+text, string(out))
		if strings.Contains(text, "\u202e") && (strings.Contains(string(out), "\u202e") || !strings.Contains(string(out), `\u202e`)) {
			t.Errorf("an approval turns text round: %s", out)
		}
	}
	for _, path := range []string{"/", "/chats", "/chats/room", "/chats/room/why/1", "/workflows", "/workflows/review", "/workflows/" + url.PathEscape("<script>"), "/board", "/board?state=open", "/board?state=x", "/board/1", "/board/0", "/landing", "/landing/1", "/agents", "/agents/arya", "/runs", "/money", "/search?words=alert", "/search?words=" + url.QueryEscape(`"><script>`), "/trace/none", "/runs/none", "/chats/" + url.PathEscape("<script>")} {
		status, page, _ := w.do("GET", path, nil, nil)
		if status >= 500 {
			t.Errorf("%s: %d", path, status)
		}
		checkPage(t, path, page)
	}
}

func jsonText(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		fmt.Fprintf(&b, `\u%04x`, r&0xffff)
	}
	return b.String() + `"`
}

// TestChatIsWindowed: a long chat shows its last entries, older ones on request, and an
// entry of a megabyte in part.
func TestChatIsWindowed(t *testing.T) {
	w := newWorld(t)
	room, err := w.person.Chats.Create(t.Context(), "room")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 150 {
		text := fmt.Sprint("message ", i)
		if i == 149 {
			text = strings.Repeat("long words ", 100_000)
		}
		if _, err := w.person.Chats.Send(t.Context(), room, text, service.Alias{}); err != nil {
			t.Fatal(err)
		}
	}
	_, page, _ := w.do("GET", "/chats/room", nil, nil)
	if n := strings.Count(page, `class="entry`); n != window || strings.Contains(page, "message 49<") || !strings.Contains(page, "message 50<") {
		t.Errorf("%d entries are shown", n)
	}
	if len(page) > 4*maxShown || !strings.Contains(page, "/chats/room/entries/150") {
		t.Errorf("the page has %d bytes", len(page))
	}
	if _, whole, header := w.do("GET", "/chats/room/entries/150", nil, nil); len(whole) < 1_000_000 || header.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("the whole entry has %d bytes", len(whole))
	}
	_, older, _ := w.do("GET", "/chats/room/older?before=51", nil, nil)
	if n := strings.Count(older, `class="entry`); n != 50 || strings.Contains(older, "data-older") {
		t.Errorf("%d older entries are shown: %s", n, older)
	}
}

// TestSendOnce: what is sent twice under one key is said once; the sums of the money page
// are those of the ledger.
func TestSendOnce(t *testing.T) {
	w := newWorld(t)
	room, err := w.person.Chats.Create(t.Context(), "room")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if status, body, _ := w.do("POST", "/chats/room/messages", url.Values{"text": {"hello @arya"}}, nil); status != http.StatusOK {
			t.Errorf("%d %s", status, body)
		}
	}
	if status, _, _ := w.do("POST", "/chats/room/messages", url.Values{"text": {"something else"}}, nil); status != http.StatusUnprocessableEntity {
		t.Errorf("another text under the same key: %d", status)
	}
	list, err := w.person.Conversations.Entries(t.Context(), service.EntryQuery{Conversation: room.ID})
	if err != nil || len(list) != 1 {
		t.Errorf("%d entries: %v", len(list), err)
	}
	for path, want := range map[string]int{
		"/approvals/99": http.StatusNotFound, "/approvals/x": http.StatusBadRequest, "/requests/none/retry": http.StatusNotFound, "/chats/none/pause": http.StatusNotFound,
		"/chats/room/explode": http.StatusNotFound, "/everything/stop": http.StatusNotFound, "/chats/room/pause": http.StatusOK, "/chats/room/resume": http.StatusOK, "/chats/room/continue": http.StatusNotFound,
	} {
		if status, body, _ := w.do("POST", path, url.Values{"answer": {"approve"}}, nil); status != want {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}

// TestAnswerAStep: a step that asks for a choice offers it on the page; what is none of the
// choices is refused, and the one that is given is the step's output.
func TestAnswerAStep(t *testing.T) {
	w := newWorld(t)
	d, err := workflow.Load("pick", "pick.toml", []byte("[[steps]]\nid='colour'\nchoice=['blue', 'red']\nprompt='which?'\n"), workflow.Known{})
	if err != nil {
		t.Fatal(err)
	}
	run, err := w.person.Runs().Start(t.Context(), d, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, page, _ := w.do("GET", "/", nil, nil); !strings.Contains(page, "<option>red</option>") {
		t.Errorf("the page offers no choice:\n%s", page)
	}
	for _, c := range []struct {
		why    string
		status int
	}{{"green", http.StatusBadRequest}, {"", http.StatusBadRequest}, {"red", http.StatusOK}} {
		if status, body, _ := w.do("POST", "/approvals/1", url.Values{"answer": {"approve"}, "why": {c.why}}, nil); status != c.status {
			t.Errorf("%q: %d %s", c.why, status, body)
		}
	}
	if r, err := w.person.Runs().Find(t.Context(), string(run.ID)); err != nil || r.Outcome.Answer != "red" {
		t.Errorf("the run gave %q: %v", r.Outcome.Answer, err)
	}
}
