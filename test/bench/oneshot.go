package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"time"

	"fika/internal/llm/llmtest"
)

func serve(h llmtest.Handler) (*llmtest.Server, error) {
	return llmtest.Listen("127.0.0.1:0", llmtest.OpenAI, h)
}

func hello(llmtest.Request) llmtest.Script {
	return llmtest.Script{llmtest.Text("hello"), llmtest.Usage(10, 2)}
}

// oneshot compares a prompt with curl sending the same body.
func oneshot(ctx context.Context, l *lab) ([]result, error) {
	srv, err := serve(hello)
	if err != nil {
		return nil, err
	}
	defer srv.Close()
	h, err := l.home("oneshot", srv.URL(), "")
	if err != nil {
		return nil, err
	}
	for i := range l.rounds() { // so that each prompt finds a context with one exchange in it
		if _, _, err := h.run(ctx, "run", "-c", contextOf(i), "hi"); err != nil {
			return nil, err
		}
	}
	body := string(srv.Requests()[0].Body)
	curl, err := exec.LookPath("curl")
	if err != nil {
		curl = ""
	}
	var whole, floor series
	for i := range l.rounds() {
		if curl != "" {
			cmd := exec.CommandContext(ctx, curl, "-sN", "-H", "Content-Type: application/json", "-H", "Authorization: Bearer sk-bench", "-d", body, srv.URL()+"/chat/completions")
			_, took, err := timed(cmd)
			if err != nil {
				return nil, err
			}
			floor.took(took)
		}
		before := len(srv.Requests())
		out, took, err := h.run(ctx, "run", "-c", contextOf(i), "hi")
		if err != nil {
			return nil, err
		}
		if n := len(srv.Requests()) - before; n != 1 || out != "hello\n" {
			return nil, fmt.Errorf("%d model requests, answer %q", n, out)
		}
		whole.took(took)
	}
	whole.skip(l.warm)
	floor.skip(l.warm)
	r := bound("one-shot", &whole, 0)
	if curl != "" {
		r = compare("one-shot", &whole, "curl sends the same request", &floor, 3)
	} else {
		r.note("curl is not installed: there is no floor to compare with")
	}
	return []result{r, ownWords(body)}, nil
}

func contextOf(i int) string { return fmt.Sprintf("bench%d", i) }

// ownWords counts fika's own part of a request: system prompt and tools.
func ownWords(body string) result {
	var b struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools json.RawMessage `json:"tools"`
	}
	r := result{Name: "bytes of a request that are fika's own; one request per prompt"}
	if err := json.Unmarshal([]byte(body), &b); err != nil {
		r.goal("<= 2200 bytes", false)
		r.note("%v", err)
		return r
	}
	system := 0
	for _, m := range b.Messages {
		if m.Role == "system" || m.Role == "developer" {
			system += len(m.Content)
		}
	}
	r.goal("<= 2200 bytes", system+len(b.Tools) <= 2200)
	r.note("system prompt %d + tools %d = %d bytes of JSON", system, len(b.Tools), system+len(b.Tools))
	return r
}

// memory samples the memory of a one-shot prompt while the server holds its last
// chunk.
func memory(ctx context.Context, l *lab) ([]result, error) {
	hold := make(chan struct{})
	srv, err := serve(func(llmtest.Request) llmtest.Script {
		return llmtest.Script{llmtest.Text("hel"), llmtest.Wait(hold), llmtest.Text("lo")}
	})
	if err != nil {
		return nil, err
	}
	defer srv.Close()
	h, err := l.home("memory", srv.URL(), "")
	if err != nil {
		return nil, err
	}
	private, peak := series{unit: "MiB"}, series{unit: "MiB"}
	for range l.rounds() {
		if err := sampleHeld(ctx, h, srv, hold, &private, &peak); err != nil {
			return nil, err
		}
	}
	private.skip(l.warm)
	peak.skip(l.warm)
	return []result{bound("RssAnon, the answer nearly there", &private, 12), bound("peak RSS (with the binary's own pages)", &peak, 0)}, nil
}

func sampleHeld(ctx context.Context, h *home, srv *llmtest.Server, hold chan struct{}, private, peak *series) error {
	before := len(srv.Requests())
	cmd := h.command(ctx, "run", "hi")
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() { _ = cmd.Wait() }()
	_, err := srv.Await(ctx, func(r []llmtest.Record) bool { return len(r) > before && !r[before].First.IsZero() })
	if err != nil {
		return err
	}
	var most float64
	for range 5 { // the largest, while fika takes in the first chunk
		time.Sleep(4 * time.Millisecond)
		v, err := memoryOf(cmd.Process.Pid, "RssAnon")
		if err != nil {
			return err
		}
		most = max(most, v)
	}
	high, err := memoryOf(cmd.Process.Pid, "VmHWM")
	if err != nil {
		return err
	}
	private.add(most)
	peak.add(high)
	hold <- struct{}{}
	return nil
}
