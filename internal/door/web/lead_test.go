package web

import (
	"bytes"
	"errors"
	"html/template"
	"image"
	"image/png"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fika"
	"fika/internal/chat/attachment"
	"fika/internal/service"
	"fika/internal/text/words"
)

// post sends a form under a key of its own, and returns the answer.
func (w *world) post(path, key string, form url.Values) (int, string) {
	w.Helper()
	status, body, _ := w.do("POST", path, form, func(r *http.Request) { r.Header.Set("Idempotency-Key", key) })
	return status, body
}

// TestLeadAgent: the page of an agent offers to start it, says why it cannot be started, and
// stops it in the way that is chosen: it is to stay stopped.
func TestLeadAgent(t *testing.T) {
	w := newWorld(t)
	row, err := w.person.Agents.Find(t.Context(), "arya")
	if err != nil {
		t.Fatal(err)
	}
	if _, page, _ := w.do("GET", "/agents/arya", nil, nil); !strings.Contains(page, `action="/agents/arya/start"`) || strings.Contains(page, "/agents/arya/stop") {
		t.Errorf("the page of a stopped agent does not offer to start it: %s", page)
	}
	if status, body := w.post("/agents/arya/start", "a", nil); status != http.StatusNotFound || !strings.Contains(body, "no hub is running") {
		t.Errorf("start without a hub: %d %s", status, body)
	}
	for how, want := range map[string]int{"": http.StatusBadRequest, "gently": http.StatusBadRequest, "finish": http.StatusOK, "now": http.StatusOK, "step": http.StatusOK} {
		if status, body := w.post("/agents/arya/stop", "stop"+how, url.Values{"how": {how}}); status != want {
			t.Errorf("stop %q: %d %s", how, status, body)
		}
	}
	if v, err := w.person.Agents.View(t.Context(), "arya"); err != nil || v.Row.Desired != fika.DesiredStopped {
		t.Errorf("%s is to be %s: %v", row.Name, v.Row.Desired, err)
	}
	status, id := w.post("/agents/arya/ask", "ask", url.Values{"text": {"what <b>now</b>?"}})
	if again, same := w.post("/agents/arya/ask", "ask", url.Values{"text": {"what <b>now</b>?"}}); status != http.StatusOK || again != http.StatusOK || same != id {
		t.Errorf("asked: %d %s, then %d %s", status, id, again, same)
	}
	if r, err := w.person.Requests.Request(t.Context(), fika.RequestID(id)); err != nil || r.Payload.Prompt != "what <b>now</b>?" || r.AgentName != "arya" {
		t.Errorf("%+v, %v", r.Payload, err)
	}
	if status, body := w.post("/agents/arya/ask", "none", url.Values{"text": {" "}}); status != http.StatusBadRequest {
		t.Errorf("an empty question: %d %s", status, body)
	}
	for _, path := range []string{"/agents/none/ask", "/agents/none/start", "/agents/none/stop", "/agents/arya/explode"} {
		if status, body := w.post(path, path, url.Values{"how": {"now"}, "text": {"x"}}); status != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}

// TestStartRun: a workflow of the home has a form with a field for each of its inputs, which
// says what is wrong with them; sent twice, it starts one run.
func TestStartRun(t *testing.T) {
	w := newWorld(t)
	folder := filepath.Join(w.home, "workflows")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"paint.toml": "description = 'a <b>wall</b>'\n[inputs]\ncolour = {description = 'which'}\nwho = {type = 'agent', default = 'arya'}\ncoats = {type = 'number', default = 2}\n" +
			"walls = {type = 'list', default = ['north']}\nwet = {type = 'boolean', default = false}\n[[steps]]\nid = 'ask'\napprove = true\nprompt = '{{.inputs.colour}} {{.inputs.walls}}?'\n",
		"broken.toml": "[[steps]]\nid = 'x'\nagent = 'nobody'\nprompt = 'x'\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, page, _ := w.do("GET", "/runs", nil, nil); !strings.Contains(page, `href="/workflows"`) {
		t.Error("the runs do not lead to the workflows")
	}
	if _, page, _ := w.do("GET", "/workflows", nil, nil); !strings.Contains(page, `href="/workflows/paint"`) || !strings.Contains(page, "has mistakes") {
		t.Errorf("the list of workflows: %s", page)
	}
	_, page, _ := w.do("GET", "/workflows/paint", nil, nil)
	checkPage(t, "a workflow", page)
	for _, want := range []string{`name="in.colour"`, "<option>bran</option>", `name="in.coats" type="number"`, `name="in.walls"`, "<option>true</option>", "a &lt;b&gt;wall"} {
		if !strings.Contains(page, want) {
			t.Errorf("the form has no %s: %s", want, page)
		}
	}
	if _, page, _ := w.do("GET", "/workflows/broken", nil, nil); !strings.Contains(page, "nobody") || strings.Contains(page, "data-post") {
		t.Errorf("a workflow with mistakes: %s", page)
	}
	good := url.Values{"in.colour": {"red"}, "in.walls": {"north\r\nsouth"}}
	for _, c := range []struct {
		path string
		form url.Values
		want int
		says string
	}{
		{"/workflows/none/run", good, http.StatusNotFound, "no workflow"},
		{"/workflows/..%2Fconfig.toml/run", good, http.StatusNotFound, "no workflow"},
		{"/workflows/broken/run", nil, http.StatusBadRequest, "nobody"},
		{"/workflows/paint/run", url.Values{"in.colour": {" "}}, http.StatusBadRequest, "The input colour is missing."},
		{"/workflows/paint/run", url.Values{"in.colour": {"red"}, "in.coats": {"many"}}, http.StatusBadRequest, "a number"},
		{"/workflows/paint/run", url.Values{"in.colour": {"red"}, "in.who": {"nobody"}}, http.StatusBadRequest, `agent "nobody" not found`},
	} {
		if status, body := w.post(c.path, c.says, c.form); status != c.want || !strings.Contains(body, c.says) {
			t.Errorf("%s %v: %d %s", c.path, c.form, status, body)
		}
	}
	var ids [2]string
	for i := range ids {
		var status int
		if status, ids[i] = w.post("/workflows/paint/run", "once", good); status != http.StatusOK {
			t.Fatalf("%d %s", status, ids[i])
		}
	}
	runs, err := w.person.Runs().List(t.Context(), false, 0)
	if err != nil || len(runs) != 1 || ids[0] != string(runs[0].ID) || ids[1] != ids[0] {
		t.Errorf("the runs %v were started as %v: %v", runs, ids, err)
	}
	if _, page, _ := w.do("GET", "/", nil, nil); !strings.Contains(page, "south") {
		t.Errorf("the run does not ask with its inputs: %s", page)
	}
}

// TestWhy: the page of a message says for each agent, or one, what fika chat why says.
func TestWhy(t *testing.T) {
	w := newWorld(t)
	room, err := w.person.Chats.Create(t.Context(), "room")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.person.Chats.Send(t.Context(), room, "@arya and `@bran`", service.Alias{}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.person.Agents.Find(t.Context(), "bran"); err != nil {
		t.Fatal(err)
	}
	if _, page, _ := w.do("GET", "/chats/room", nil, nil); !strings.Contains(page, `href="/chats/room/why/1"`) {
		t.Errorf("a message does not lead to why: %s", page)
	}
	_, all, _ := w.do("GET", "/chats/room/why/1", nil, nil)
	_, one, _ := w.do("GET", "/chats/room/why/1?agent=bran", nil, nil)
	for _, name := range []string{"arya", "bran"} {
		row, err := w.person.Agents.Find(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		why, err := w.person.Chats.Why(t.Context(), room, "1", row)
		if err != nil || len(why.Lines) == 0 {
			t.Fatal(why, err)
		}
		for _, l := range why.Lines {
			words := template.HTMLEscapeString(words.Say(l, w.now))
			if !strings.Contains(all, words) || strings.Contains(one, words) != (name == "bran") && !strings.HasPrefix(words, "#1") {
				t.Errorf("of %s it is not said: %s\n%s", name, words, all)
			}
		}
	}
	for path, want := range map[string]int{
		"/chats/room/why/9": http.StatusNotFound, "/chats/room/why/x": http.StatusNotFound, "/chats/none/why/1": http.StatusNotFound, "/chats/room/why/1?agent=nobody": http.StatusNotFound,
	} {
		if status, page, _ := w.do("GET", path, nil, nil); status != want {
			t.Errorf("%s: %d %s", path, status, page)
		}
	}
}

// upload is the body of a form with files, and its type.
func upload(t *testing.T, text string, files map[string]string) (body, kind string) {
	t.Helper()
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	err := m.WriteField("text", text)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, e := m.CreateFormFile("file", name)
		err = errors.Join(err, e)
		_, e = io.WriteString(f, files[name])
		err = errors.Join(err, e)
	}
	if err = errors.Join(err, m.Close()); err != nil {
		t.Fatal(err)
	}
	return b.String(), m.FormDataContentType()
}

// TestSendFiles: a text becomes part of the message, a picture is stored with it, once for
// what is sent twice; what is neither, too large or from a stranger is refused, and nothing
// is said.
func TestSendFiles(t *testing.T) {
	w := newWorld(t)
	room, err := w.person.Chats.Create(t.Context(), "room")
	if err != nil {
		t.Fatal(err)
	}
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 3, 2))); err != nil {
		t.Fatal(err)
	}
	send := func(key string, files map[string]string) (int, string) {
		t.Helper()
		body, kind := upload(t, "look", files)
		status, said, _ := w.do("POST", "/chats/room/messages", nil, func(r *http.Request) {
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
			r.Header.Set("Content-Type", kind)
			r.Header.Set("Idempotency-Key", key)
		})
		return status, said
	}
	for _, c := range []struct {
		files map[string]string
		want  int
		says  string
	}{
		{map[string]string{"program": "\x7fELF\x00\x01"}, http.StatusBadRequest, "neither text"},
		{map[string]string{"long.txt": strings.Repeat("x", attachment.MaxText+1)}, http.StatusBadRequest, "too large"},
		{map[string]string{"cut.png": "\x89PNG\r\n\x1a\ncut"}, http.StatusBadRequest, "cannot be read"},
		{map[string]string{"huge.png": picture.String() + strings.Repeat("x", maxFiles)}, http.StatusRequestEntityTooLarge, "8 MB"},
	} {
		if status, body := send(c.says, c.files); status != c.want || !strings.Contains(body, c.says) {
			t.Errorf("%s: %d %s", c.says, status, body)
		}
	}
	for range 2 {
		if status, body := send("good", map[string]string{"notes.md": "no `mention` of @arya\n", "../dot.png": picture.String()}); status != http.StatusOK {
			t.Fatalf("%d %s", status, body)
		}
	}
	list, err := w.person.Conversations.Entries(t.Context(), service.EntryQuery{Conversation: room.ID})
	if err != nil || len(list) != 1 {
		t.Fatalf("%d entries: %v", len(list), err)
	}
	e := list[0]
	if len(e.Meta.Attachments) != 1 || e.Meta.Attachments[0].Name != "dot.png" || e.Meta.Attachments[0].Width != 3 || !strings.Contains(e.Content, "file `notes.md`:\n```\nno `mention`") {
		t.Errorf("the entry is %+v", e)
	}
	w.cookie = nil
	if status, _ := send("stranger", map[string]string{"huge.txt": strings.Repeat("x", 2*maxBody)}); status != http.StatusUnauthorized {
		t.Errorf("a stranger's file: %d", status)
	}
}

// TestSetBudget: a budget that is set on the money page is in the settings and on the page,
// and is gone again when it is removed; what could have no effect is refused in words.
func TestSetBudget(t *testing.T) {
	w := newWorld(t)
	if _, page, _ := w.do("GET", "/money", nil, nil); !strings.Contains(page, `action="/budgets"`) {
		t.Errorf("the money page sets no budget: %s", page)
	}
	day := func(money, tokens string) url.Values {
		return url.Values{"scope": {"agent:arya"}, "per": {"day"}, "money": {money}, "tokens": {tokens}}
	}
	for says, form := range map[string]url.Values{
		"more than 0": day("", ""), "between 0.000001": day("NaN", ""), "1e9 dollars": day("1e12", ""), "a whole number": day("", "1.5"),
		"is none of": {"scope": {"home"}, "per": {"week"}, "tokens": {"5"}}, "scope": {"scope": {"moon"}, "per": {"day"}, "tokens": {"5"}},
	} {
		if status, body := w.post("/budgets", says, form); status != http.StatusBadRequest || !strings.Contains(body, says) {
			t.Errorf("%v: %d %s", form, status, body)
		}
	}
	for range 2 {
		if status, body := w.post("/budgets", "set", day("", "12345")); status != http.StatusOK {
			t.Errorf("%d %s", status, body)
		}
	}
	text, err := os.ReadFile(filepath.Join(w.home, "config.toml"))
	if err != nil || strings.Count(string(text), "[[budgets]]") != 1 || !strings.Contains(string(text), "12345") {
		t.Errorf("the settings are now: %s %v", text, err)
	}
	if _, page, _ := w.do("GET", "/money", nil, nil); !strings.Contains(page, "budget of agent:arya per day") {
		t.Errorf("the page does not show the budget: %s", page)
	}
	gone := day("", "")
	gone.Set("do", "remove")
	if status, body := w.post("/budgets", "remove", gone); status != http.StatusOK {
		t.Errorf("%d %s", status, body)
	}
	if status, body := w.post("/budgets", "again", gone); status != http.StatusNotFound {
		t.Errorf("a budget that is gone: %d %s", status, body)
	}
}
