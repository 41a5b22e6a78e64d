package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"fika/test/bench/prefix"
)

// peersVariable names the folder with the programs that fika is compared with, as npm
// installs them (node_modules/.bin); without it they are left out.
const peersVariable = "BENCH_PEERS"

// peer is another program that works the same task.
type peer struct {
	name string
	wire prefix.Wire
	call func(work string, n int) prefix.Call // that reads part n of the story
	run  func(bin, url, home, prompt string) *exec.Cmd
}

func peers() []peer {
	file := func(work string, n int) string { return filepath.Join(work, fmt.Sprintf("part%02d.txt", n)) }
	return []peer{
		{
			"claude", prefix.Anthropic,
			func(work string, n int) prefix.Call {
				return prefix.Call{Name: "Read", Args: fmt.Sprintf(`{"file_path":%q}`, file(work, n))}
			},
			func(bin, url, home, prompt string) *exec.Cmd {
				cmd := exec.Command(bin, "-p", prompt, "--model", "peer", "--allowedTools", "Read")
				cmd.Env = append(os.Environ(), "HOME="+home, "ANTHROPIC_BASE_URL="+url, "ANTHROPIC_API_KEY=sk-bench", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1")
				return cmd
			},
		},
		{
			"opencode", prefix.OpenAI,
			func(work string, n int) prefix.Call {
				return prefix.Call{Name: "read", Args: fmt.Sprintf(`{"filePath":%q}`, file(work, n))}
			},
			func(bin, url, home, prompt string) *exec.Cmd {
				cmd := exec.Command(bin, "run", "--model", "bench/peer", prompt)
				settings := fmt.Sprintf(`{"provider":{"bench":{"npm":"@ai-sdk/openai-compatible","options":{"baseURL":%q,"apiKey":"sk-bench"},"models":{"peer":{"name":"peer","limit":{"context":400000,"output":8192}}}}},"autoupdate":false,"share":"disabled"}`, url)
				cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home+"/config", "XDG_DATA_HOME="+home+"/data", "XDG_STATE_HOME="+home+"/state", "XDG_CACHE_HOME="+home+"/cache", "OPENCODE_CONFIG_CONTENT="+settings, "OPENCODE_DISABLE_MODELS_FETCH=1")
				return cmd
			},
		},
	}
}

// besidePeers counts what fika and two other programs send for the same task: a story of
// 40 parts is read part by part.
func besidePeers(ctx context.Context, l *lab) ([]result, error) {
	bin := os.Getenv(peersVariable)
	if bin == "" {
		return nil, nil
	}
	scene := prefix.Scenes()[0]
	out := result{Name: scene.Name + ", beside other programs"}
	for _, wire := range []prefix.Wire{prefix.OpenAI, prefix.Anthropic} {
		rows, err := scene.Play(ctx, l.fika, filepath.Join(l.dir, "peers-fika-"+string(wire)), wire)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			r.Model = "fika"
			out.note("%s, %s", r, wire)
		}
	}
	for _, p := range peers() {
		rows, err := p.play(ctx, bin, filepath.Join(l.dir, "peers-"+p.name))
		if err != nil {
			out.note("%s: %v", p.name, err)
		}
		for _, r := range rows {
			r.Model = p.name
			out.note("%s, %s", r, p.wire)
		}
	}
	return []result{out}, nil
}

// play lets the program work the task in a folder of its own.
func (p peer) play(ctx context.Context, bin, dir string) ([]prefix.Row, error) {
	home, work := filepath.Join(dir, "home"), filepath.Join(dir, "work")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, err
	}
	if err := prefix.WriteStory(work); err != nil {
		return nil, err
	}
	var mu sync.Mutex
	n := 0
	counter := prefix.NewCounter(func(a prefix.Asked) prefix.Answer {
		mu.Lock()
		defer mu.Unlock()
		if !a.Says(prefix.StoryPrompt) || !a.Says(`"tools":[{`) { // a title, or a check of the key
			return prefix.Answer{Text: "A story"}
		}
		if n++; n > prefix.StoryParts {
			return prefix.Answer{Text: "That is all of it."}
		}
		return prefix.Answer{Calls: []prefix.Call{p.call(work, n)}}
	})
	defer counter.Close()
	cmd := p.run(filepath.Join(bin, p.name), counter.URL(), home, prefix.StoryPrompt)
	cmd.Dir, cmd.Env = work, append(cmd.Env, "PWD="+work) // which opencode takes for its folder
	said, err := cmd.CombinedOutput()
	if err == nil && n <= prefix.StoryParts {
		err = fmt.Errorf("it made %d calls", n)
	}
	if err != nil {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(said[max(0, len(said)-500):])))
	}
	return counter.Rows(), err
}
