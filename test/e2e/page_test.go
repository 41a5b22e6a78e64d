package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fika/internal/llm"
	"fika/internal/llm/llmtest"
)

// hostileText is in texts that agents write: it turns the text round, hides, and is a
// script, in places where browsers look for one.
const hostileText = "\u202etxt.exe\u202c a\u200bb <img src=x onerror=\"window.hacked=1\"><script>window.hacked=1</script> [x](javascript:window.hacked=1) ![y](https://evil.example/y.png) <svg onload=window.hacked=1>"

// lastResult returns the result of the last call, if the model has not answered since: in a
// turn that was resumed, what others have said stands behind it.
func lastResult(r llmtest.Request) (string, bool) {
	for _, m := range slices.Backward(r.Messages) {
		if m.Role == llm.ToolRole {
			return m.Text, true
		}
		if m.Role == llm.Assistant {
			break
		}
	}
	return "", false
}

// pageModel answers as it is told by what was said last.
func pageModel(gate chan struct{}) llmtest.Handler {
	return func(r llmtest.Request) llmtest.Script {
		prompt := saidSince(r)
		if text, ok := lastResult(r); ok {
			return llmtest.Script{llmtest.Text(r.Model + " has " + text), llmtest.Usage(1000, 10)}
		}
		bash := func(id, command string) llmtest.Action {
			args, _ := json.Marshal(map[string]string{"command": command}) // of strings it cannot fail
			return llmtest.Call(id, "bash", string(args))
		}
		switch {
		case strings.Contains(prompt, "both"):
			return llmtest.Script{bash("a", "echo one-"+r.Model), bash("b", "echo two-"+r.Model)}
		case strings.Contains(prompt, "careful"):
			return llmtest.Script{bash("c", "touch asked # "+hostileText)}
		case strings.Contains(prompt, "story"):
			var s llmtest.Script
			for i := range 100 {
				s = append(s, llmtest.Text(fmt.Sprintf("line %d of a long story. ", i)))
			}
			return append(s, llmtest.Wait(gate), llmtest.Text("The end."))
		case strings.Contains(prompt, "hostile"):
			return llmtest.Script{llmtest.Text("# Look\n\n" + hostileText + "\n\n| a | b |\n|---|---|\n| 1 | `2` |\n")}
		case strings.Contains(prompt, "break"):
			return llmtest.Script{llmtest.Status(400, "it breaks", 0)}
		}
		return llmtest.Script{llmtest.Text("hello from " + r.Model)}
	}
}

// TestPage goes through the page in a browser, with a hub and two agents: what needs a
// person is there and is answered, a chat is followed and led, nothing that agents write
// runs, what a person has selected or typed survives, and a new hub is found again.
func TestPage(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	gate := make(chan struct{})
	srv := llmtest.NewOpenAI(t, pageModel(gate))
	h := newHome(t, config(srv, llmtest.OpenAI, "[[rules]]\ntool = \"bash\"\nmatch = \"touch *\"\ndo = \"ask\"\nwhy = \"look first\"",
		agent{name: "arya", tools: `"bash"`}, agent{name: "bran", tools: `"bash"`}))
	h.must("up")
	h.chat("room")
	h.chat("side")
	url := strings.TrimSpace(h.must("web", "--print"))
	p := b.open(url, 1200, "light")
	p.shows("Nothing.")
	p.until(`location.hash === "" && document.querySelectorAll(".agents li").length >= 2`)
	w := pageWalk{h, p}
	w.approves()
	w.leads()
	w.keepsSelection(gate)
	w.survives()
	w.looks()
}

// pageWalk is a page under test, with its home.
type pageWalk struct {
	*home
	p *tab
}

// approves sees a question with all of its arguments, answers it with one click, and is
// told when the command line was quicker.
func (w pageWalk) approves() {
	p := w.p
	w.must("chat", "send", "room", "@arya careful now")
	p.shows("asks to call")
	p.shows(`touch asked # \u202etxt.exe\u202c a\u200bb <img src=x onerror="window.hacked=1"><script>`)
	p.picture("needs you")
	p.eval(`document.querySelector(".ask input").focus()`, nil)
	p.types("half typed")
	w.must("chat", "send", "side", "@bran both please") // many updates
	p.until(`document.querySelector("#chat-side") && /[1-9][0-9.]*k? in/.test(document.querySelector("#agent-bran").innerText)`)
	p.until(`document.querySelector(".ask input").value === "half typed" && document.activeElement === document.querySelector(".ask input")`)
	p.eval(`document.querySelector(".ask button.go").click()`, nil)
	p.shows("Approved.")
	p.until(`!document.querySelector(".ask")`)
	w.until("the agent has gone on", func() bool { return strings.Contains(w.must("chat", "view", "room"), "arya has") })
	w.must("chat", "send", "room", "@arya careful again")
	p.until(`document.querySelector(".ask")`)
	p.eval(`window.form = document.querySelector(".ask form"), window.gone = document.querySelector(".ask").id`, nil)
	w.must("approve", "2")
	p.eval(`fetch("/" + gone.replace("approval-", "approvals/"), {method: "POST", headers: {"Idempotency-Key": "late"}, body: new URLSearchParams({answer: "deny"})}).then((a) => { window.late = a.status })`, nil)
	p.until(`window.late === 409 && !document.querySelector(".ask")`)
}

// leads sends a message with the keyboard alone, sees two agents call two tools each, and
// pauses and resumes.
func (w pageWalk) leads() {
	p := w.p
	p.eval(`location.href = "/chats/room"`, nil)
	p.until(`document.getElementById("text") && document.querySelectorAll(".entry").length > 3`)
	p.eval(`document.getElementById("text").focus()`, nil)
	p.types("@ar")
	p.until(`!document.getElementById("names").hidden && document.querySelector("#names [aria-selected=true]").textContent === "@arya"`)
	p.press("Tab", 9)
	p.types("and @br")
	p.press("Enter", 13)
	p.until(`document.getElementById("text").value === "@arya and @bran "`)
	p.types("both please, the second time")
	p.press("Enter", 13)
	p.until(`document.getElementById("text").value === ""`)
	for _, name := range []string{"arya", "bran"} {
		p.until(fmt.Sprintf(`[...document.querySelectorAll(".msg")].filter((m) => m.innerText.includes("%s has")).length >= 1`, name))
	}
	p.picture("chat")
	for _, step := range []struct{ verb, said string }{{"pause", "Paused"}, {"resume", "Resumed"}, {"stop", "Stopped"}} {
		p.tabTo(fmt.Sprintf("form[action$='/%s'] button", step.verb))
		p.press("Enter", 13)
		p.until(fmt.Sprintf(`document.getElementById("said").textContent.startsWith(%q)`, step.said))
	}
	p.until(`document.querySelector("form[action$='/pause']")`)
	w.must("chat", "send", "room", "@arya hostile please")
	p.shows("Look")
	p.until(`document.querySelector(".msg td code")`)
	var n int
	p.eval(`(window.hacked ? 1000 : 0) + document.querySelectorAll("main img, main script, main svg, a[href^=javascript]").length`, &n)
	if n != 0 {
		w.Errorf("something of a text has become part of the page: %d", n)
	}
}

// keepsSelection selects text and half types a message while an answer arrives in a
// hundred pieces.
func (w pageWalk) keepsSelection(gate chan struct{}) {
	p := w.p
	p.eval(`document.getElementById("text").value = "half a", document.activeElement.blur(), getSelection().selectAllChildren(document.querySelector(".msg .text p")), window.chosen = getSelection().toString(), window.marker = 1`, nil)
	w.must("chat", "send", "room", "@bran a story")
	p.until(`document.querySelector("#live .stream") && document.getElementById("live").innerText.includes("line 99 of a long story")`)
	p.until(`window.chosen !== "" && getSelection().toString() === window.chosen && document.getElementById("text").value === "half a"`)
	close(gate)
	p.until(`document.querySelector("#log").innerText.includes("The end.") && !document.querySelector("#live .stream")`)
	p.until(`getSelection().toString() === window.chosen && document.getElementById("text").value === "half a"`)
}

// survives kills the hub: the page says so, and goes on without being loaded again, with
// each entry once.
func (w pageWalk) survives() {
	p := w.p
	w.kill(hubWords)
	p.until(`document.getElementById("stale").textContent !== ""`)
	p.picture("stale")
	w.must("up")
	w.must("chat", "send", "room", "@arya after the fall")
	p.until(`document.getElementById("stale").textContent === "" && document.getElementById("log").innerText.includes("after the fall")`)
	var seqs []int
	p.eval(`[...document.querySelectorAll("#log .entry")].map((e) => +e.id.slice(2))`, &seqs)
	for i, n := range seqs {
		if n != i+1 {
			w.Errorf("entry %d has the seq %d: %v", i, n, seqs)
			break
		}
	}
	p.until(`window.marker === 1`) // it was not loaded again
}

// looks takes pictures at two widths, in light and dark, and finds nothing wider than its
// window.
func (w pageWalk) looks() {
	base := ""
	w.p.eval(`location.origin`, &base)
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int{400, 1200} {
			for _, path := range []string{"/", "/chats", "/chats/room"} {
				p := w.p.open(base+path, width, scheme)
				p.until(`document.querySelector("main .part, main #log")`)
				p.until(`document.documentElement.scrollWidth <= innerWidth`)
				p.picture(fmt.Sprint("look", strings.ReplaceAll(path, "/", "-"), "-", width, "-", scheme))
				p.call(p.session, "Page.close", nil)
			}
		}
	}
}
