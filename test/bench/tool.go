package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"fika/internal/llm/llmtest"
)

const callsPerTurn = 10

// callServer returns a server that asks for ten calls of a tool, then answers.
func callServer(tool, args string) (*llmtest.Server, error) {
	return serve(func(r llmtest.Request) llmtest.Script {
		if r.N%2 == 0 {
			return llmtest.Script{llmtest.Text("done")}
		}
		var script llmtest.Script
		for i := range callsPerTurn {
			script = append(script, llmtest.Call(fmt.Sprintf("call_%d", i), tool, args))
		}
		return script
	})
}

// callTurn runs one prompt with ten calls and returns the time of one: from
// the last chunk of the model's answer to its next request.
func callTurn(ctx context.Context, h *home, srv *llmtest.Server) (time.Duration, error) {
	before := len(srv.Requests())
	if _, _, err := h.run(ctx, "run", "go"); err != nil {
		return 0, err
	}
	r := srv.Requests()
	if len(r) != before+2 {
		return 0, fmt.Errorf("%d model requests instead of 2", len(r)-before)
	}
	results := 0
	for _, m := range r[before+1].Messages {
		if m.CallID != "" && !m.IsError {
			results++
		}
	}
	if results < callsPerTurn {
		return 0, fmt.Errorf("%d results for %d calls", results, callsPerTurn)
	}
	return r[before+1].Received.Sub(r[before].Last) / callsPerTurn, nil
}

// notConfined leaves out the cost of confining a call, which has its own measure.
const notConfined = "\n[guard]\nsandbox = \"off\"\n"

// toolTurn measures bash.
func toolTurn(ctx context.Context, l *lab) ([]result, error) {
	srv, err := callServer("bash", `{"command":"true"}`)
	if err != nil {
		return nil, err
	}
	defer srv.Close()
	h, err := l.home("tool", srv.URL(), "tool_permissions = [\"bash\"]"+notConfined)
	if err != nil {
		return nil, err
	}
	c, err := l.commits()
	if err != nil {
		return nil, err
	}
	defer c.close()
	var calls, floor series
	for range l.rounds() {
		took, err := callTurn(ctx, h, srv)
		if err != nil {
			return nil, err
		}
		calls.took(took)
		started := time.Now()
		for range callsPerTurn {
			if err := c.make(1); err != nil {
				return nil, err
			}
			if err := bare(ctx, h.work, "sh", "-c", "true"); err != nil {
				return nil, err
			}
			if err := c.make(1); err != nil {
				return nil, err
			}
		}
		floor.took(time.Since(started) / callsPerTurn)
	}
	calls.skip(l.warm)
	floor.skip(l.warm)
	return []result{compare("bash call", &calls, "fork+exec of sh -c true + 2 FULL commits", &floor, 3)}, nil
}

// echoPlugin prints its schema, or a word.
const echoPlugin = `#!/bin/sh
[ "$1" = --schema ] && echo '{"name":"%s","description":"say hello","parameters":{"type":"object","properties":{}}}' || echo hello
`

func (h *home) plugin(name string) (string, error) {
	dir := filepath.Join(h.root, "plugins")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	return path, os.WriteFile(path, fmt.Appendf(nil, echoPlugin, name), 0o700)
}

// pluginTurn measures a plugin from exec to result. The cost of the two commits of a
// step is known from calls of a tool that starts no process, made in turns with the
// others, and is subtracted.
func pluginTurn(ctx context.Context, l *lab) ([]result, error) {
	srv, err := callServer("hello", `{}`)
	if err != nil {
		return nil, err
	}
	defer srv.Close()
	steps, err := callServer("list", `{"path":"."}`)
	if err != nil {
		return nil, err
	}
	defer steps.Close()
	h, err := l.home("plugin", srv.URL(), notConfined)
	if err != nil {
		return nil, err
	}
	script, err := h.plugin("hello")
	if err != nil {
		return nil, err
	}
	plain, err := l.home("plugin-steps", steps.URL(), "")
	if err != nil {
		return nil, err
	}
	var calls, step, floor series
	for range l.rounds() {
		call, err := callTurn(ctx, h, srv)
		if err != nil {
			return nil, err
		}
		calls.took(call)
		if call, err = callTurn(ctx, plain, steps); err != nil {
			return nil, err
		}
		step.took(call)
		started := time.Now()
		for range callsPerTurn {
			if err := bare(ctx, h.work, script); err != nil {
				return nil, err
			}
		}
		floor.took(time.Since(started) / callsPerTurn)
	}
	for _, s := range []*series{&calls, &step, &floor} {
		s.skip(l.warm)
	}
	own := series{unit: "ms"}
	for _, v := range calls.all {
		own.add(v - step.median())
	}
	r := compare("plugin call, exec to result", &own, "fork+exec of the same script", &floor, 2)
	r.note("the whole call: %.3f ms; subtracted, a step without a process (two commits): %.3f ms", calls.median(), step.median())
	return []result{r}, nil
}

// twentyPlugins compares one-shots with and without plugins, both in warm
// homes.
func twentyPlugins(ctx context.Context, l *lab) ([]result, error) {
	srv, err := serve(hello)
	if err != nil {
		return nil, err
	}
	defer srv.Close()
	with, err := l.home("with-plugins", srv.URL(), "")
	if err != nil {
		return nil, err
	}
	without, err := l.home("without-plugins", srv.URL(), "")
	if err != nil {
		return nil, err
	}
	for i := range 20 {
		if _, err := with.plugin(fmt.Sprintf("hello%d", i)); err != nil {
			return nil, err
		}
	}
	var plugins, plain series
	for range l.rounds() {
		for _, x := range []struct {
			h *home
			s *series
		}{{without, &plain}, {with, &plugins}} {
			_, took, err := x.h.run(ctx, "run", "hi")
			if err != nil {
				return nil, err
			}
			x.s.took(took)
		}
	}
	if n := len(srv.Requests()[1].Tools) - len(srv.Requests()[0].Tools); n != 20 {
		return nil, fmt.Errorf("%d plugins were offered instead of 20", n)
	}
	plugins.skip(l.warm)
	plain.skip(l.warm)
	return []result{compare("one-shot with 20 plugins", &plugins, "one-shot without plugins", &plain, 0)}, nil
}
