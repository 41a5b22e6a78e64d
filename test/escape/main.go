package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
)

const (
	begins = "<!-- escape: made by make escape -->"
	ends   = "<!-- /escape -->"
	nobody = 65534
)

// routes are the ways in which an agent starts an attempt.
func routes() []string { return []string{"bash", "python", "plugin", "server"} }

func main() {
	if os.Getenv(serveVariable) != "" {
		_ = serveAttempts(context.Background()) // ends with its stdin
		return
	}
	bin := flag.String("bin", "", "the fika program")
	page := flag.String("page", "", "the page whose table is written; empty: stdout alone")
	only := flag.String("only", "", "attempts whose name holds this")
	turns := flag.Bool("turns", false, "each attempt by one route alone, in turns, and root in the full tier alone; no page is written")
	flag.Parse()
	if err := run(context.Background(), *bin, *page, *only, *turns); err != nil {
		fmt.Fprintln(os.Stderr, "escape:", err)
		os.Exit(1)
	}
}

// column is one person in one tier.
type column struct{ user, tier string }

func run(ctx context.Context, bin, page, only string, turns bool) error {
	base, err := os.MkdirTemp("/home", "fika-escape-")
	if err != nil {
		if base, err = os.MkdirTemp("/var/tmp", "fika-escape-"); err != nil {
			return err
		}
	}
	defer os.RemoveAll(base)
	program := filepath.Join(base, "fika")
	if err := errors.Join(os.Chmod(base, 0o755), copyProgram(bin, program), serverProgram(filepath.Join(base, "server")), programs(filepath.Join(base, "programs"))); err != nil {
		return err
	}
	users := map[string]int{"ordinary": os.Getuid()}
	if os.Getuid() == 0 {
		users = map[string]int{"root": 0, "ordinary": nobody}
	}
	list := attempts()
	list = slices.DeleteFunc(list, func(a attempt) bool { return !strings.Contains(a.name, only) })
	for i, a := range list {
		if a.kernel != "" {
			if out, _ := exec.CommandContext(ctx, "bash", "-c", a.script).Output(); !strings.Contains(string(out), "REACHED") {
				list[i].missing = a.kernel
			}
		}
		list[i].routes = routes()
		if turns {
			list[i].routes = routes()[i%len(routes()):][:1]
		}
	}
	results := map[column][]string{}
	var wrong []string
	var columns []column
	var mu sync.Mutex // of results and wrong
	var all errgroup.Group
	for _, user := range []string{"root", "ordinary"} {
		uid, ok := users[user]
		if !ok {
			continue
		}
		for _, tier := range []string{"full", "landlock", "off"} {
			if turns && user == "root" && tier != "full" {
				continue
			}
			c := column{user, tier}
			columns = append(columns, c)
			all.Go(func() error {
				cells, bad, err := attemptAll(ctx, base, program, c, uid, list)
				mu.Lock()
				defer mu.Unlock()
				results[c], wrong = cells, append(wrong, bad...)
				return err
			})
		}
	}
	if err := all.Wait(); err != nil {
		return err
	}
	text := table(list, columns, results)
	fmt.Print(text)
	if page != "" && only == "" && !turns {
		if err := insert(page, text); err != nil {
			return err
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%d results are not as they should be:\n%s", len(wrong), strings.Join(wrong, "\n"))
	}
	return nil
}

// attemptAll makes all attempts of a column and says what is wrong with them.
func attemptAll(ctx context.Context, base, bin string, c column, uid int, list []attempt) (cells, wrong []string, _ error) {
	w, err := newWorld(base, bin, c.user, c.tier, uid)
	defer func() {
		w.close()
	}()
	if err != nil {
		return nil, nil, err
	}
	for _, a := range list {
		cell, bad, err := w.cell(ctx, a)
		if err != nil {
			return nil, nil, err
		}
		fmt.Fprintf(os.Stderr, "%s, %s: %s: %s\n", c.user, c.tier, a.name, cell)
		cells = append(cells, cell)
		wrong = append(wrong, bad...)
	}
	return cells, wrong, nil
}

// cell is what came of one attempt by its routes.
func (w *world) cell(ctx context.Context, a attempt) (cell string, wrong []string, _ error) {
	var by []string
	undone := false
	for _, route := range a.routes {
		v, err := w.try(ctx, a, route)
		if err != nil {
			return "", nil, err
		}
		if v.reached {
			by = append(by, route)
		}
		undone = undone || v.undone
		if v.reached && w.tier != "off" && !(w.tier == "landlock" && a.lacking) {
			wrong = append(wrong, fmt.Sprintf("%s as %s in tier %s by %s: %.300q", a.name, w.user, w.tier, route, v.out))
		}
	}
	reason := a.missing
	if reason == "" && w.uid != 0 {
		reason = a.ordinary
	}
	switch {
	case w.tier == "off" && len(by) == len(a.routes):
		return "succeeds", wrong, nil
	case w.tier == "off" && reason != "":
		return "not here: " + reason, wrong, nil
	case w.tier == "off":
		return "fails", append(wrong, fmt.Sprintf("%s as %s fails without a sandbox, too (%s): it proves nothing", a.name, w.user, strings.Join(by, ", "))), nil
	case len(by) > 0 && a.lacking:
		return "lacking", wrong, nil
	case len(by) > 0:
		return "**REACHED**", wrong, nil
	case undone:
		return "undone, reported", wrong, nil
	}
	return "denied", wrong, nil
}

// table writes the results as Markdown.
func table(list []attempt, columns []column, results map[column][]string) string {
	var b strings.Builder
	b.WriteString("| attempt |")
	for _, c := range columns {
		fmt.Fprintf(&b, " %s, %s |", c.user, c.tier)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(columns)) + "\n")
	for i, a := range list {
		fmt.Fprintf(&b, "| %s |", a.name)
		for _, c := range columns {
			fmt.Fprintf(&b, " %s |", results[c][i])
		}
		b.WriteString("\n")
	}
	return b.String()
}

// insert puts the table between the marks of a page.
func insert(page, text string) error {
	data, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, ok := bytes.Cut(data, []byte(begins+"\n"))
	_, after, there := bytes.Cut(rest, []byte(ends))
	if !ok || !there {
		return fmt.Errorf("%s has no place for the table: %s … %s", page, begins, ends)
	}
	out := slices.Concat(before, []byte(begins+"\n"), []byte(text), []byte(ends), after)
	return os.WriteFile(page, out, 0o644)
}

func copyProgram(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o755)
}

// programs is a folder with all programs of the system but bubblewrap.
func programs(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	for _, from := range []string{"/usr/bin", "/bin", "/usr/sbin"} {
		entries, err := os.ReadDir(from)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if e.Name() != "bwrap" {
				_ = os.Symlink(filepath.Join(from, e.Name()), filepath.Join(dir, e.Name()))
			}
		}
	}
	_, err := exec.LookPath("setpriv")
	return err
}
