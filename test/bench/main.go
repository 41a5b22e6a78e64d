package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// measure is one row of the table, or a few that share their runs.
type measure struct {
	name string
	what string
	run  func(context.Context, *lab) ([]result, error)
}

func measures() []measure {
	return []measure{
		{"oneshot", "a one-shot prompt, whole process", oneshot},
		{"memory", "private memory of a one-shot prompt", memory},
		{"hop", "one mention hop between running agents", hop},
		{"runs", "a step of a run against a mention hop", runs},
		{"longrun", "a run of 10,000 steps over four agents", longRun},
		{"work", "processor time of a hop", work},
		{"engines", "the same hop with the database on a PostgreSQL server", engines},
		{"looking", "what idle agents ask a PostgreSQL server", looking},
		{"stream", "a chunk from the model to the terminal of fika ask", stream},
		{"session", "the prompt of the session, no hub running, and the help", session},
		{"lines", "10,000 lines streamed to a terminal, against a pipe", manyLinesShown},
		{"tool", "a call of bash within a turn", toolTurn},
		{"sandbox", "what it costs to confine a call", sandboxed},
		{"plugin", "a call of a plugin within a turn", pluginTurn},
		{"plugins", "a one-shot prompt with 20 plugins installed", twentyPlugins},
		{"servers", "a one-shot prompt with ten MCP servers that are not called", tenServers},
		{"tokens", "what models are sent, and how much of it was sent before", tokens},
		{"peers", "the same beside other programs, from the folder that BENCH_PEERS names", besidePeers},
		{"idle", "idle agent processes", idle},
		{"history", "a turn in a long conversation", history},
		{"large", "looking into a context of 200,000 entries", large},
		{"up", "fika up with three agents", up},
		{"scale", "a store of 1,000,000 entries, 100,000 of them in one chat, against one of 1,000", scale},
		{"keep", "a store of 1,000,000 entries archived, shrunk and imported again", keep},
		{"fair", "100 chats at once over 20 agents, a chain of 10 hops in each", fair},
	}
}

func main() {
	serveIfAsked()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() error {
	fika := flag.String("fika", "bin/fika", "the binary to measure")
	only := flag.String("only", "", "measures to run, separated by commas; empty: all")
	n := flag.Int("n", 30, "samples per measure")
	warm := flag.Int("warm", 5, "samples thrown away first")
	dir := flag.String("dir", "", "where the homes are made; empty: the system's temporary folder")
	out := flag.String("json", "", "also write the results to this file")
	strict := flag.Bool("strict", false, "fail when a goal is missed")
	limit := flag.Duration("limit", 10*time.Minute, "end after this long")
	engine := flag.String("engine", "sqlite", "where homes keep their database: sqlite, or postgres: a server of this run's own")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, *limit)
	defer cancel()
	l, err := newLab(ctx, *fika, *dir, *n, *warm)
	if err != nil {
		return err
	}
	defer l.close()
	if *engine == "postgres" {
		if err := l.startServer(*dir); err != nil {
			return err
		}
	}
	m := describe(l.dir)
	fmt.Println(m)
	results, err := runAll(ctx, l, *only)
	if *out != "" {
		if e := writeJSON(*out, m, results); e != nil {
			return e
		}
	}
	if err != nil {
		return err
	}
	missed := 0
	for _, r := range results {
		if r.Met != nil && !*r.Met {
			missed++
		}
	}
	if missed > 0 {
		fmt.Printf("\n%d goals missed\n", missed)
		if *strict {
			return fmt.Errorf("%d goals missed", missed)
		}
	}
	return nil
}

func runAll(ctx context.Context, l *lab, only string) ([]result, error) {
	wanted := map[string]bool{}
	for _, name := range strings.FieldsFunc(only, func(r rune) bool { return r == ',' }) {
		wanted[name] = true
	}
	known := map[string]bool{}
	for _, m := range measures() {
		known[m.name] = true
	}
	for name := range wanted {
		if !known[name] {
			return nil, fmt.Errorf("no measure %q", name)
		}
	}
	var all []result
	var failed []string
	for _, m := range measures() {
		if len(wanted) > 0 && !wanted[m.name] {
			continue
		}
		if m.name == "scale" && l.server != nil {
			continue // its stores are made as files
		}
		if m.name == "longrun" && !wanted[m.name] {
			continue // it takes minutes
		}
		started := time.Now()
		rs, err := m.run(ctx, l)
		fmt.Printf("\n%s: %s (%.1f s)\n", m.name, m.what, time.Since(started).Seconds())
		for _, r := range rs {
			fmt.Print(r)
		}
		all = append(all, rs...)
		if err != nil {
			fmt.Printf("  FAILED: %v\n", err)
			failed = append(failed, m.name)
		}
		if ctx.Err() != nil {
			return all, fmt.Errorf("ended before all was measured: %w", context.Cause(ctx))
		}
	}
	if len(failed) > 0 {
		return all, fmt.Errorf("not measured: %s", strings.Join(failed, ", "))
	}
	return all, nil
}

func writeJSON(path string, m machine, results []result) error {
	data, err := json.MarshalIndent(struct {
		At      time.Time `json:"at"`
		Machine machine   `json:"machine"`
		Results []result  `json:"results"`
	}{time.Now().UTC(), m, results}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}
