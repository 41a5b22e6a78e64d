package e2e

import (
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
)

// stopsAndStarts stops an agent on its page, and starts it again.
func (w pageWalk) stopsAndStarts() {
	p := w.p
	p.eval(`location.href = "/agents/bran"`, nil)
	p.until(`document.querySelector("#do-stop button")`)
	p.tabTo("#do-stop button")
	p.press("Enter", 13)
	p.shows("@bran has stopped, and stays stopped.")
	p.until(`document.querySelector("#do-start button") && !document.querySelector("#do-stop")`)
	if out := w.must("agent", "show", "bran"); !strings.Contains(out, "stopped") {
		w.Errorf("the agent has not stopped: %s", out)
	}
	p.tabTo("#do-start button")
	p.press("Enter", 13)
	p.shows("@bran runs.")
	p.until(`document.querySelector("#do-stop button") && !document.querySelector("#do-start")`)
	p.picture("agent")
}

// startsRun starts a run of a workflow with the form of its inputs, and sees it done.
func (w pageWalk) startsRun() {
	p := w.p
	w.ok(os.MkdirAll(filepath.Join(w.dir, "workflows"), 0o700))
	w.write("workflows/paint.toml", "description = \"a wall\"\n[inputs]\ncolour = {description = \"which one\"}\nwho = {type = \"agent\", default = \"arya\"}\ncoats = {type = \"number\", default = 2}\nwalls = {type = \"list\", default = [\"north\"]}\n"+
		"[[steps]]\nid = \"paint\"\nagent = \"{{.inputs.who}}\"\nprompt = \"paint it {{.inputs.colour}}\"\n")
	p.eval(`location.href = "/runs"`, nil)
	for _, link := range []string{"/workflows", "/workflows/paint"} {
		p.until(fmt.Sprintf(`document.querySelector("main a[href='%s']")`, link))
		p.tabTo("main a[href='" + link + "']")
		p.press("Enter", 13)
	}
	p.until(`document.querySelector("#starting")`)
	p.tabTo("#starting textarea[name='in.colour']")
	p.types("blue " + hostileText)
	p.picture("start a run")
	p.tabTo("#starting button.go")
	p.press("Enter", 13)
	p.until(`location.pathname.startsWith("/runs/") && document.querySelectorAll(".graph .done").length === 1`)
	if out := w.must("workflow", "list", "--runs"); strings.Count(out, "colour=blue") != 1 {
		w.Errorf("the run is not there once: %s", out)
	}
}

// asksWhy reads beside a message what it has led to, in the words of the command.
func (w pageWalk) asksWhy() {
	p := w.p
	p.eval(`location.href = "/chats/room"`, nil)
	p.until(`document.querySelector("#e-1 .why")`)
	p.tabTo("#e-1 .why")
	p.press("Enter", 13)
	p.until(`document.querySelector("#why-bran")`)
	var shown string
	p.eval(`document.querySelector("main").innerText`, &shown)
	for _, agent := range []string{"arya", "bran"} {
		for line := range strings.Lines(w.must("chat", "why", "room", "1", agent)) {
			if line = strings.TrimSpace(line); !strings.Contains(shown, line) {
				w.Errorf("the page does not say %q but %s", line, shown)
			}
		}
	}
	p.picture("why")
}

// sendsFiles sends a text to an agent and a picture to nobody, each with a message.
func (w pageWalk) sendsFiles() {
	p := w.p
	w.write("notes.txt", "alpha and beta\n")
	f, err := os.Create(filepath.Join(w.dir, "dot.png"))
	w.ok(err)
	w.ok(png.Encode(f, image.NewGray(image.Rect(0, 0, 5, 4))))
	w.ok(f.Close())
	p.eval(`location.href = "/chats/room"`, nil)
	for _, c := range []struct{ file, text, shown string }{{"notes.txt", "@bran read them", "alpha and beta"}, {"dot.png", "how is this", "dot.png"}} {
		p.until(`location.pathname === "/chats/room" && document.querySelector("#files")`)
		p.eval(`document.querySelector("#text").focus()`, nil)
		p.types(c.text)
		p.tabTo("#files")
		var at struct{ Result struct{ ObjectID string } }
		w.ok(json.Unmarshal(p.call(p.session, "Runtime.evaluate", map[string]any{"expression": `document.querySelector("#files")`}), &at))
		p.call(p.session, "DOM.setFileInputFiles", map[string]any{"files": []string{filepath.Join(w.dir, c.file)}, "objectId": at.Result.ObjectID})
		p.tabTo("#say button.go")
		p.press("Enter", 13)
		p.until(fmt.Sprintf(`[...document.querySelectorAll(".entry.mine")].at(-1).innerText.includes(%q)`, c.shown))
		p.until(`document.querySelector("#files").files.length === 0 && document.querySelector("#text").value === ""`)
	}
	p.picture("files")
	if out := w.must("chat", "view", "room"); !strings.Contains(out, "notes.txt") || !strings.Contains(out, "dot.png") {
		w.Errorf("the files are not in the chat: %s", out)
	}
}

// setsBudget sets a budget, and removes it.
func (w pageWalk) setsBudget() {
	p := w.p
	p.eval(`location.href = "/money"`, nil)
	p.until(`document.querySelector("#setting summary")`)
	p.tabTo("#setting summary")
	p.press("Enter", 13)
	p.tabTo("#budget input[name=scope]")
	p.types("agent:arya")
	p.tabTo("#budget input[name=tokens]")
	p.types("123456789")
	p.tabTo("#budget button.go")
	p.press("Enter", 13)
	p.until(`document.querySelector("#money").innerText.includes("budget of agent:arya per day")`)
	if out := w.must("budget", "list"); !strings.Contains(out, "agent:arya") {
		w.Errorf("the budget is not set: %s", out)
	}
	p.picture("budget")
	p.tabTo("#budget button[value=remove]")
	p.press("Enter", 13)
	p.until(`!document.querySelector("#money").innerText.includes("budget of agent:arya")`)
}
