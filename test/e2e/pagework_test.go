package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"fika/internal/llm/llmtest"
)

// workModel answers who works on tasks and runs, and says things to the person.
func workModel(sound *atomic.Bool) llmtest.Handler {
	talk := pageModel(nil)
	return func(r llmtest.Request) llmtest.Script {
		said := saidSince(r)
		switch {
		case strings.Contains(said, "mended"): // what failed before stands in front of it
			return llmtest.Script{llmtest.Text("good"), llmtest.Usage(100, 10)}
		case strings.Contains(said, "tell me"):
			return llmtest.Script{llmtest.Text("@user it is done. Shall I go on? `@user` is no name."), llmtest.Usage(100, 10)}
		case strings.Contains(said, "quote me"):
			return llmtest.Script{llmtest.Text("They wrote `@user` there."), llmtest.Usage(100, 10)}
		case strings.Contains(said, "weak step") && !sound.Load(), strings.Contains(said, "a bad task"):
			return llmtest.Script{llmtest.Status(400, "it breaks", 0)}
		}
		return append(talk(r), llmtest.Usage(1234, 56))
	}
}

// workHome is a home of a project whose agents have prices, take tasks and land work.
func workHome(t *testing.T, sound *atomic.Bool) *home {
	srv := llmtest.NewOpenAI(t, workModel(sound))
	var b strings.Builder
	b.WriteString("model = \"own\"\nusername = \"ann\"\n[landing]\ncheck = \"true\"\n[[rules]]\ntool = \"bash\"\nmatch = \"touch *\"\ndo = \"ask\"\nwhy = \"look first\"\n")
	for _, name := range []string{"own", "arya", "bran"} {
		fmt.Fprintf(&b, "[[models]]\nid = %q\nprovider = %q\nbase_url = %q\nprices = {input = 3.7, output = 11.3}\n", name, llmtest.OpenAI, srv.URL())
	}
	b.WriteString("[[agents]]\nid = \"arya\"\nmodel = \"arya\"\ntool_permissions = [\"bash\"]\n")
	b.WriteString("[[agents]]\nid = \"bran\"\nmodel = \"bran\"\nboard = true\ntool_permissions = [\"bash\"]\n")
	h := newHome(t, b.String())
	repo := filepath.Join(t.TempDir(), "shop")
	git := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("git", append([]string{"-C", repo, "-c", "init.defaultBranch=main"}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	put := func(name string) {
		h.ok(os.MkdirAll(filepath.Dir(filepath.Join(repo, name)), 0o700))
		h.ok(os.WriteFile(filepath.Join(repo, name), []byte("x\n"), 0o600))
		git("add", "-A")
		git("commit", "-qm", "add "+name)
	}
	h.ok(os.MkdirAll(repo, 0o700))
	git("init", "-q")
	git("config", "user.name", "Ann")
	git("config", "user.email", "ann@example.org")
	put("first")
	git("checkout", "-qb", "tax")
	put("tax")
	git("checkout", "-qb", "hooks", "main")
	put(".claude/settings.json")
	git("checkout", "-q", "main")
	h.write("project.json", fmt.Sprintf(`{"id":"shop","root":%q}`, repo))
	h.must("up")
	return h
}

// TestPageNeeds answers, on the first page and with the keyboard alone where that is told
// apart, everything that needs a person; uses the board; leads agents, runs, files and
// budgets; and has a failed run retried, whose
// money and times are those of the commands. At the end no view has a fault that axe knows
// of, at two widths, in light and dark.
func TestPageNeeds(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	var sound atomic.Bool
	h := workHome(t, &sound)
	w := pageWalk{h, b.open(strings.TrimSpace(h.must("web", "--print")), 1200, "light")}
	w.p.shows("Nothing.")
	h.chat("room")
	w.approvesByKeyboard()
	w.isSpokenTo()
	w.retries()
	w.seesHeld()
	w.lands()
	w.usesBoard()
	w.stopsAndStarts()
	w.startsRun()
	w.asksWhy()
	w.sendsFiles()
	w.setsBudget()
	run := w.retriesRun(&sound)
	w.countsAlike(run)
	w.isAccessible(run)
}

// tabTo presses Tab until an element has the focus.
func (p *tab) tabTo(selector string) {
	p.Helper()
	for range 200 {
		p.press("Tab", 9)
		var at bool
		p.eval(fmt.Sprintf(`!!document.activeElement && document.activeElement.matches(%q)`, selector), &at)
		if at {
			return
		}
	}
	p.Fatalf("the keyboard does not reach %s", selector)
}

// approvesByKeyboard approves a call with the keyboard, and another with two clicks at once:
// each is carried out once.
func (w pageWalk) approvesByKeyboard() {
	p := w.p
	w.must("chat", "send", "room", "@arya careful now")
	p.until(`document.querySelector(".ask") && document.title.startsWith("(1) ")`)
	p.tabTo(".ask button.go")
	p.press("Enter", 13)
	p.until(`!document.querySelector(".ask") && !document.title.startsWith("(")`)
	w.must("chat", "send", "room", "@arya careful again")
	p.until(`document.querySelector(".ask button.go")`)
	p.eval(`window.sent = 0; window.real = fetch; window.fetch = (...a) => { sent++; return real(...a) }; document.querySelector(".ask button.go").click(); document.querySelector(".ask button.go").click()`, nil)
	p.until(`!document.querySelector(".ask")`)
	var sent int
	p.eval(`window.fetch = real, sent`, &sent)
	if sent != 1 {
		w.Errorf("two clicks have sent %d answers", sent)
	}
	w.until("both calls were made", func() bool { return strings.Count(w.must("chat", "view", "room"), "arya has") == 2 })
}

// isSpokenTo answers what an agent has said to the person by name; a name in code is none.
func (w pageWalk) isSpokenTo() {
	p := w.p
	w.must("chat", "send", "room", "@arya quote me")
	w.until("an answer", func() bool { return strings.Contains(w.must("chat", "view", "room"), "They wrote") })
	w.must("chat", "send", "room", "@arya tell me")
	p.until(`document.querySelector(".card.said") && document.querySelector(".card.said").innerText.includes("Shall I go on?")`)
	p.tabTo(".card.said input[name=text]")
	p.types("yes, please")
	p.press("Enter", 13)
	p.until(`!document.querySelector(".card.said")`)
	w.until("the agent was asked", func() bool { return strings.Contains(w.must("chat", "view", "room"), "hello from arya") })
}

// retries retries failed work.
func (w pageWalk) retries() {
	p := w.p
	w.must("chat", "send", "room", "@arya break please")
	p.until(`document.querySelector("[id^=failed-]")`)
	p.eval(`window.was = document.querySelector("[id^=failed-]").id, document.querySelector("[id^=failed-] button").click()`, nil)
	p.until(`document.querySelector("[id^=failed-]") && document.querySelector("[id^=failed-]").id !== was`)
	w.must("chat", "send", "room", "@arya it is mended")
	p.until(`!document.querySelector("[id^=failed-]")`)
}

// seesHeld releases a task that has failed too often, and drops it when it has failed again.
func (w pageWalk) seesHeld() {
	p := w.p
	w.must("board", "add", "a bad task")
	p.until(`document.querySelector("#held-1")`)
	p.eval(`document.querySelector("#held-1 button.go").click()`, nil)
	w.until("it was released", func() bool { return strings.Contains(w.must("board", "show", "1"), "ann released") })
	p.until(`document.querySelector("#held-1")`)
	p.eval(`document.querySelector("#held-1 form[action$=close] button").click()`, nil)
	p.until(`!document.querySelector("#held-1")`)
	if !strings.Contains(w.must("board", "show", "1"), "dropped") {
		w.Error("the task was not dropped")
	}
}

// lands says yes to a path, and brings what has landed into the files.
func (w pageWalk) lands() {
	p := w.p
	w.must("land", "tax", "--wait")
	p.until(`document.querySelector("#unapplied")`)
	p.eval(`document.querySelector("#unapplied button").click()`, nil)
	p.until(`!document.querySelector("#unapplied")`)
	w.run("land", "hooks", "--wait")
	p.until(`document.querySelector("#offer-2 input[type=checkbox]")`)
	p.eval(`document.querySelector("#offer-2 input[type=checkbox]").click(), document.querySelector("#offer-2 form.asks button").click()`, nil)
	p.until(`document.querySelector("#unapplied") && !document.querySelector("#offer-2")`)
	p.eval(`location.href = "/landing"`, nil)
	p.until(`document.querySelectorAll(".offers .landed").length === 2`)
	p.tabTo("#unapplied button")
	p.press("Enter", 13)
	p.until(`!document.querySelector("#unapplied")`)
	if !strings.Contains(w.must("land", "list"), "landed") {
		w.Error("nothing has landed")
	}
}

// usesBoard adds a task with the keyboard, whose text is as hostile as it can be, and sees it
// done; another one waits with the words of the command.
func (w pageWalk) usesBoard() {
	p := w.p
	p.eval(`location.href = "/board"`, nil)
	p.until(`document.querySelector("#adding summary")`)
	p.tabTo("#adding summary")
	p.press("Enter", 13)
	p.tabTo("#adding input[name=title]")
	p.types("look at " + hostileText)
	p.press("Enter", 13)
	p.until(`document.querySelector("#state-done #t-2") && document.querySelector("#adding").open && document.querySelector("#adding input[name=title]").value === ""`)
	w.must("board", "add", "law", "--capability", "law")
	p.until(`document.querySelector("#state-open #t-3")`)
	var shown string
	p.eval(`document.querySelector("#t-3").innerText`, &shown)
	if why := strings.TrimSpace(w.must("board", "why", "3")); !strings.Contains(shown, why) {
		w.Errorf("the board says %q, the command %q", shown, why)
	}
	p.picture("board")
	p.eval(`location.href = "/board/3"`, nil)
	p.until(`document.querySelector("#editing summary")`)
	p.eval(`document.querySelector("#editing").open = true, document.querySelector("#editing input[name=capability]").value = "", document.querySelector("#editing button").click()`, nil)
	p.until(`document.querySelector(".state.done")`)
	p.until(`document.querySelector(".history").innerText.includes("finished")`)
	var n int
	p.eval(`(window.hacked ? 1000 : 0) + document.querySelectorAll("main img, main script, a[href^=javascript]").length`, &n)
	if n != 0 {
		w.Errorf("something of a text has become part of the page: %d", n)
	}
}

// retriesRun sees a step of a workflow fail, and retries it from the page.
func (w pageWalk) retriesRun(sound *atomic.Bool) (id string) {
	p := w.p
	w.write("flow.toml", "[[steps]]\nid = \"plan\"\nagent = \"arya\"\nprompt = \"a plan\"\n[[steps]]\nid = \"check\"\nagent = \"bran\"\nneeds = [\"plan\"]\nprompt = \"the weak step\"\n")
	w.run("workflow", "run", filepath.Join(w.dir, "flow.toml"))
	p.eval(`location.href = "/runs"`, nil)
	p.until(`document.querySelector(".chats li a")`)
	p.eval(`document.querySelector(".chats li a").click()`, nil)
	p.until(`document.querySelectorAll(".graph .step").length === 2 && document.querySelector(".graph .failed")`)
	p.eval(`decodeURIComponent(location.pathname.slice("/runs/".length))`, &id)
	sound.Store(true)
	p.tabTo("#step-check button")
	p.press("Enter", 13)
	p.until(`document.querySelectorAll(".graph .done").length === 2`)
	return id
}

// countsAlike compares the trace of a run and the money with the commands, to the millionth
// of a dollar.
func (w pageWalk) countsAlike(run string) {
	p := w.p
	micro := func(text string) (sum int64) {
		for _, line := range jsonLines[struct {
			Cost float64 `json:"cost_usd"`
		}](w.home, text) {
			sum += int64(math.Round(line.Cost * 1e6))
		}
		return sum
	}
	var shown int64
	p.eval(fmt.Sprintf(`location.href = "/trace/%s"`, run), nil)
	p.until(`document.querySelector("#trace [data-micro]")`)
	p.eval(`+document.querySelector("#trace [data-micro]").dataset.micro`, &shown)
	if want := micro(w.must("trace", run, "--json")); shown != want || want == 0 {
		w.Errorf("the trace shows %d, the command %d", shown, want)
	}
	for _, by := range []string{"agent", "model", "chat", "workflow", "day"} {
		p.eval(fmt.Sprintf(`location.href = "/money?since=all&by=%s"`, by), nil)
		p.until(fmt.Sprintf(`location.search.endsWith("by=%s") && document.querySelector("tfoot [data-micro]")`, by))
		var lines []int64
		p.eval(`[...document.querySelectorAll("tbody [data-micro]")].map((x) => +x.dataset.micro)`, &lines)
		p.eval(`+document.querySelector("tfoot [data-micro]").dataset.micro`, &shown)
		var sum int64
		for _, n := range lines {
			sum += n
		}
		if want := micro(w.must("usage", "--by", by, "--json")); shown != want || sum != want || want == 0 {
			w.Errorf("by %s the page shows %d (lines: %d), the command %d", by, shown, sum, want)
		}
	}
}

// axeSum is that of axe.min.js of axe-core 4.14.1.
const axeSum = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"

// axe returns the source of axe-core, from FIKA_AXE or the registry of npm; "" if it cannot
// be had here.
func axe(t *testing.T) string {
	path := os.Getenv("FIKA_AXE")
	if path == "" {
		dir := t.TempDir()
		cmd := exec.Command("npm", "install", "--prefix", dir, "--ignore-scripts", "--no-audit", "--no-fund", "axe-core@4.14.1")
		if out, err := cmd.CombinedOutput(); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatalf("npm: %v\n%s", err, out)
			}
			t.Logf("no axe-core: %v", err)
			return ""
		}
		path = filepath.Join(dir, "node_modules", "axe-core", "axe.min.js")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != axeSum {
		t.Fatalf("axe-core has the sum %x", sum)
	}
	return string(data)
}

// isAccessible runs axe on each view, at two widths, in light and dark; nothing is wider than
// its window, and nothing was loaded that is not the page's own.
func (w pageWalk) isAccessible(run string) {
	w.must("chat", "send", "room", "@arya hostile please")
	w.must("chat", "send", "room", "@arya careful at the end")
	w.must("board", "add", "more law", "--capability", "law")
	source := axe(w.T)
	base := ""
	w.p.eval(`location.origin`, &base)
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int{400, 1200} {
			p := w.p.open(base+"/", width, scheme)
			for _, path := range []string{"/", "/chats", "/chats/room", "/chats/room/why/1", "/workflows", "/workflows/paint", "/board", "/board?state=open", "/board/2", "/board/4", "/landing", "/landing/2", "/agents", "/agents/arya", "/runs", "/runs/" + run, "/trace/" + run, "/money?since=all&by=agent", "/search?words=hostile"} {
				p.visit(base + path)
				p.until(fmt.Sprintf(`location.href === %q && document.readyState === "complete" && document.querySelector("main .part, main #log")`, base+path))
				p.eval(`document.querySelectorAll("details.fold").forEach((d) => { d.open = true })`, nil)
				p.until(`document.documentElement.scrollWidth <= innerWidth`)
				p.picture(fmt.Sprint("view", strings.NewReplacer("/", "-", "?", "-", "=", "-", "&", "-").Replace(path), "-", width, "-", scheme))
				var foreign []string
				p.eval(`performance.getEntriesByType("resource").map((x) => x.name).filter((x) => !x.startsWith(location.origin))`, &foreign)
				if len(foreign) > 0 {
					w.Errorf("%s has loaded %v", path, foreign)
				}
				if source == "" {
					continue
				}
				var faults []json.RawMessage
				p.eval(source+`; axe.run().then((r) => r.violations.map((v) => ({id: v.id, at: v.nodes[0].html, why: v.nodes[0].failureSummary})))`, &faults)
				for _, f := range faults {
					w.Errorf("%s, %d wide, %s: %s", path, width, scheme, f)
				}
			}
			p.call(p.session, "Page.close", nil)
		}
	}
}
