package cli

import (
	"bufio"
	"errors"
	"io"
	"os"
	"strings"

	"fika"
)

const maxStdin = 32 << 20

// readPrompt puts arguments and stdin together.
func (e *env) readPrompt(args []string) (string, error) {
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
		return "", usageError("there is no prompt: give it as an argument or on stdin (fika --help)")
	}
	return prompt, nil
}

// readPiped reads stdin unless it is a terminal or a device such as /dev/null.
func (e *env) readPiped() (string, error) {
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
		return "", usageError("stdin is larger than %d MiB; give the file's name instead and let a tool read it", maxStdin>>20)
	}
	return strings.TrimRight(strings.ToValidUTF8(string(data), "�"), "\n"), nil
}

// readTyped reads lines from the terminal up to a single dot or the end of input;
// newlines are kept.
func (e *env) readTyped() (string, error) {
	e.say("%s", e.ErrStyle().Dim("type your prompt; a line with a single dot, or ctrl-D, ends it"))
	var lines []string
	in := bufio.NewScanner(e.In)
	in.Buffer(nil, maxStdin)
	for in.Scan() {
		if in.Text() == "." {
			break
		}
		lines = append(lines, in.Text())
	}
	e.typed = strings.Join(lines, "\n")
	return e.typed, in.Err()
}

// keepTyped saves what a person has typed for a command that failed before it
// was stored, and says where it is.
func (e *env) keepTyped() {
	if strings.TrimSpace(e.typed) == "" {
		return
	}
	path, err := e.saveTyped()
	if err != nil {
		e.say("what you typed could not be saved (%v); it was:\n%s", err, e.typed)
		return
	}
	e.say("what you typed is kept in %s (fika run < %s)", path, path)
}

func (e *env) saveTyped() (path string, err error) {
	h, err := e.open().Home()
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
	_, err = f.WriteString(e.typed + "\n")
	return f.Name(), errors.Join(err, f.Close())
}
