package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"

	"github.com/creack/pty"
)

const columns = 96

func main() {
	fika := flag.String("fika", "bin/fika", "the program")
	out := flag.String("o", "docs/table.svg", "the picture")
	flag.Parse()
	if err := picture(*fika, *out); err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

func picture(fika, out string) error {
	demo, err := exec.Command(fika, "demo", "--keep").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, demo)
	}
	kept := regexp.MustCompile(`--home (\S+)`).FindSubmatch(demo)
	if kept == nil {
		return fmt.Errorf("the demo does not say where its home is: %s", demo)
	}
	home := string(kept[1])
	defer os.RemoveAll(home)
	took := regexp.MustCompile(`(?m)^\d+ answers by .*$`).Find(demo)
	screen := []string{"$ fika demo --keep", "…", string(took), ""}
	for _, words := range [][]string{
		{"chat", "view", "design", "--tree"}, {"chat", "why", "design", "4", "gendry"},
	} {
		text, err := onTerminal(fika, append([]string{"--home", home}, words...))
		if err != nil {
			return err
		}
		screen = append(screen, "$ fika "+strings.Join(words, " "))
		screen = append(screen, text...)
		screen = append(screen, "")
	}
	return os.WriteFile(out, draw(screen), 0o644)
}

// onTerminal runs a command on a terminal and gives its lines, as long as they
// were printed.
func onTerminal(fika string, args []string) ([]string, error) {
	cmd := exec.Command(fika, args...)
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "NO_COLOR=")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: columns, Rows: 60})
	if err != nil {
		return nil, err
	}
	defer tty.Close()
	var text bytes.Buffer
	_, _ = io.Copy(&text, tty) // ends with an error when the program does
	if err := cmd.Wait(); err != nil {
		return nil, fmt.Errorf("%v: %w: %s", args, err, text.Bytes())
	}
	return strings.Split(strings.TrimRight(strings.ReplaceAll(text.String(), "\r\n", "\n"), "\n"), "\n"), nil
}
