package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"fika"
)

const maxStdin = 32 << 20

// ReadPrompt joins arguments and stdin, or else reads from the terminal; Invalid if empty.
// again is the command, without the prompt, that a person can give what was typed to.
func (e *Env) ReadPrompt(again string, args []string) (string, error) {
	e.again = again
	prompt := strings.Join(args, " ")
	piped, err := e.readPiped()
	if err != nil {
		return "", err
	}
	switch {
	case prompt != "" && piped != "":
		prompt += "\n\n" + piped
	case prompt == "" && piped != "":
		prompt = piped
	case prompt == "" && e.InTTY:
		if prompt, err = e.readTyped(); err != nil {
			return "", err
		}
	}
	if strings.TrimSpace(prompt) == "" {
		return "", UsageError("the prompt is missing: give it as an argument or on stdin (fika --help)")
	}
	return prompt, nil
}

// readPiped reads stdin unless it is a terminal or a device such as /dev/null.
func (e *Env) readPiped() (string, error) {
	if e.InTTY {
		return "", nil
	}
	if f, ok := e.In.(*os.File); ok {
		if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice != 0 {
			return "", nil
		}
	}
	data, err := io.ReadAll(io.LimitReader(e.In, maxStdin+1))
	if err != nil {
		return "", fika.Wrap(fika.Failed, "read stdin", err)
	}
	if len(data) > maxStdin {
		return "", UsageError("stdin is larger than %d MiB; give the file's name instead and let a tool read it", maxStdin>>20)
	}
	return strings.TrimRight(strings.ToValidUTF8(string(data), "�"), "\n"), nil
}

// readTyped reads lines from the terminal up to a single dot or the end of input,
// and keeps their newlines.
func (e *Env) readTyped() (string, error) {
	e.Say("%s", e.ErrStyle().Dim("type your prompt; a line with a single dot, or ctrl-D, ends it"))
	var lines []string
	in := bufio.NewScanner(e.Keyboard)
	in.Buffer(nil, maxStdin)
	for in.Scan() {
		if in.Text() == "." {
			break
		}
		lines = append(lines, in.Text())
	}
	e.Typed = strings.Join(lines, "\n")
	if errors.Is(in.Err(), context.Canceled) {
		fmt.Fprintln(e.Err)
		return "", fika.Errorf(fika.Interrupted, "", "nothing was asked")
	}
	return e.Typed, in.Err()
}

func (e *Env) saveTyped() (path string, err error) {
	h, err := e.App().Home()
	if err != nil {
		return "", err
	}
	if err := h.EnsureDir(h.RunDir()); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(h.RunDir(), "typed-*.txt")
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(e.Typed + "\n")
	return f.Name(), errors.Join(err, f.Close())
}
