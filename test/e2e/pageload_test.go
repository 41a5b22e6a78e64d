package e2e

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"fika"
	"fika/internal/llm/llmtest"
)

// TestPageLarge opens a chat of 20,000 entries, one of them of 8 MiB: what the page holds is
// bounded, also when older entries are asked for again and again.
func TestPageLarge(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	srv := llmtest.NewOpenAI(t, pageModel(nil))
	h := newHome(t, config(srv, llmtest.OpenAI, "", agent{name: "arya", tools: `"bash"`}))
	h.must("up")
	room := h.chat("room")
	const many = 20_000
	list := make([]fika.Entry, many)
	for i := range list {
		list[i] = fika.Entry{
			ID: fika.EntryID(fmt.Sprint("e", i)), At: time.Now(), From: "arya", To: "room", Type: fika.Message, Meta: fika.EntryMeta{Writer: fika.ByAgent},
			Content: fmt.Sprintf("entry %d with **some** `Markdown`\n\n- one\n- two\n", i),
		}
	}
	list[many-2].Content = strings.Repeat("long words ", 8<<20/11)
	n, err := h.store().Import(t.Context(), room.ID, list)
	h.ok(err)
	if n != many {
		t.Fatalf("%d entries", n)
	}
	p := b.open(strings.TrimSpace(h.must("web", "--print")), 1200, "light")
	p.until(`document.querySelector("#chat-room")`)
	p.eval(`location.href = "/chats/room"`, nil)
	p.until(`document.querySelectorAll(".entry").length === 100 && performance.getEntriesByName("first-contentful-paint").length`)
	var got struct{ Paint, Bytes, Nodes float64 }
	measure := `({Paint: performance.getEntriesByName("first-contentful-paint")[0].startTime, Bytes: performance.getEntriesByType("navigation")[0].decodedBodySize, Nodes: document.querySelectorAll("*").length})`
	p.eval(measure, &got)
	t.Logf("of %d entries: first paint after %.0f ms, %.0f bytes, %.0f elements", many, got.Paint, got.Bytes, got.Nodes)
	if got.Nodes > 3000 || got.Bytes > 200_000 {
		t.Errorf("the page holds too much: %+v", got)
	}
	for i := range 6 {
		p.eval(`window.first = document.querySelector(".entry").id, document.querySelector("[data-older]").click()`, nil)
		p.until(`document.querySelector(".entry").id !== window.first`)
		if i == 0 {
			p.until(`document.querySelectorAll(".entry").length === 200`)
		}
	}
	p.eval(measure, &got)
	if got.Nodes > 10_000 {
		t.Errorf("after older ones the page holds %v elements", got.Nodes)
	}
	p.until(`document.querySelectorAll(".entry").length === 400 && document.querySelector("#newer")`)
	p.eval(`document.querySelector("#newer a").click()`, nil)
	p.until(`document.querySelectorAll(".entry").length === 100 && document.querySelector("#e-20000")`)
}

// TestPageTabs keeps ten tabs of one browser, with six connections, alive; all say that they
// are stale when the hub hangs or is killed, and go on with each entry once.
func TestPageTabs(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	srv := llmtest.NewOpenAI(t, pageModel(nil))
	h := newHome(t, config(srv, llmtest.OpenAI, "", agent{name: "arya", tools: `"bash"`}))
	h.must("up")
	h.chat("room")
	first := b.open(strings.TrimSpace(h.must("web", "--print")), 1200, "light")
	first.until(`document.querySelector(".agents li")`)
	var origin string
	first.eval(`location.origin`, &origin)
	tabs := []*tab{first}
	first.visit(origin + "/chats/room")
	for range 9 {
		tabs = append(tabs, b.open(origin+"/chats/room", 1200, "light"))
	}
	all := func(js string) {
		t.Helper()
		for _, p := range tabs {
			p.until(js)
		}
	}
	all(`document.querySelector("#log") && !document.hidden`)
	for _, p := range tabs {
		p.eval(`window.marker = 1`, nil)
	}
	h.must("chat", "send", "room", "@arya hello")
	all(`document.querySelector("#log").innerText.includes("hello from arya")`)

	hub := h.pid(hubWords)
	began := time.Now()
	h.ok(syscall.Kill(hub, syscall.SIGSTOP))
	first.until(`document.getElementById("stale").textContent !== ""`)
	t.Logf("a hub that hangs is noticed after %s", time.Since(began).Round(10*time.Millisecond))
	h.ok(syscall.Kill(hub, syscall.SIGCONT))
	all(`document.getElementById("stale").textContent === ""`)

	began = time.Now()
	h.kill(hubWords)
	all(`document.getElementById("stale").textContent !== ""`)
	t.Logf("a hub that is killed is noticed by all after %s", time.Since(began).Round(10*time.Millisecond))
	h.must("up")
	h.must("chat", "send", "room", "@arya hello once more")
	all(`document.getElementById("stale").textContent === "" && document.querySelectorAll("#log .msg").length >= 4`)
	for i, p := range tabs {
		var seqs []int
		p.eval(`[...document.querySelectorAll("#log .entry")].map((e) => +e.id.slice(2))`, &seqs)
		for k, n := range seqs {
			if n != k+1 {
				t.Errorf("tab %d shows the entries %v", i, seqs)
				break
			}
		}
		p.until(`window.marker === 1`)
	}
}

// TestPageStream follows a chat in which eight agents write thirty pieces a second each: what
// is sent for a piece is bounded, and all of it arrives.
func TestPageStream(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	const writers, pieces = 8, 150
	gate := make(chan struct{})
	srv := llmtest.NewOpenAI(t, func(r llmtest.Request) llmtest.Script {
		s := llmtest.Script{llmtest.Wait(gate)}
		for i := range pieces {
			s = append(s, llmtest.Text(fmt.Sprintf("word%d ", i)), llmtest.Delay(33*time.Millisecond))
		}
		return append(s, llmtest.Text("The end."))
	})
	var agents []agent
	names := ""
	for i := range writers {
		agents = append(agents, agent{name: fmt.Sprint("w", i), tools: `"bash"`})
		names += fmt.Sprintf("@w%d ", i)
	}
	h := newHome(t, config(srv, llmtest.OpenAI, "", agents...))
	h.must("up")
	h.chat("room")
	p := b.open(strings.TrimSpace(h.must("web", "--print")), 1200, "light")
	p.until(`document.querySelector(".agents li")`)
	p.eval(`location.href = "/chats/room"`, nil)
	p.until(`document.querySelector("#log")`)
	p.eval(`window.tasks = [], new PerformanceObserver((l) => l.getEntries().forEach((e) => tasks.push(e.duration))).observe({entryTypes: ["longtask"]});
		window.bytes = {}; for (const path of ["/live/chats/room", "/live/"]) fetch(path).then(async (a) => { for (const r = a.body.getReader(); ;) { const x = await r.read(); if (x.done) return; bytes[path] = (bytes[path] || 0) + x.value.length } }); 1`, nil)
	h.must("chat", "send", "room", names+"a story")
	h.until("all ask the model", func() bool { return len(srv.Requests()) >= writers })
	var before, after map[string]float64
	p.until(`bytes["/live/"]`)
	p.eval(`window.began = performance.now(), bytes`, &before)
	close(gate)
	p.until(fmt.Sprintf(`document.querySelector("#log").innerText.split("The end.").length === %d && !document.querySelector("#live .stream")`, writers+1))
	p.eval(`Object.assign({time: performance.now() - began, longest: Math.max(0, ...tasks)}, bytes)`, &after)
	for _, path := range []string{"/live/chats/room", "/live/"} {
		sent := after[path] - before[path]
		t.Logf("%s: %.1f kB/s, %.0f bytes a piece (%.1f s, longest task %.0f ms)", path, sent/after["time"], sent/(writers*pieces), after["time"]/1000, after["longest"])
		if sent == 0 || sent/(writers*pieces) > 400 { // 240 pieces a second are then less than 100 kB
			t.Errorf("%s: %.0f bytes for %d pieces", path, sent, writers*pieces)
		}
	}
}
