package setup

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"fika"
	"fika/internal/settings/front"
	"fika/internal/text/hint"
)

// Foreign is the agent's file of another program, converted to a file for fika.
type Foreign struct {
	Name  fika.AgentName
	Text  string
	Notes []string // what could not be converted, and how the rest was understood
}

// maxForeign is the most bytes of such a file.
const maxForeign = 256 << 10

// ReadForeign reads the Markdown file in which another program keeps an agent, and
// converts it to an agent's file: with settings between dashes at its top, or with
// sections called Description, Allowed Tools, Model and System Prompt. Settings without
// meaning here are left out and noted. known reports whether a model can be named here;
// allows, whether the rules of the new file may allow something, which those of a
// project may not. Error kinds: NotFound, Storage, Invalid with file and line.
func ReadForeign(path string, known func(model string) bool, allows bool) (Foreign, error) {
	const op = "import agent"
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		return Foreign{}, fika.Errorf(fika.NotFound, op, "file %s not found", path)
	}
	if err != nil {
		return Foreign{}, fika.Wrap(fika.Storage, op, err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return Foreign{}, fika.Errorf(fika.Invalid, op, "%s is not a file with text in it", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxForeign+1))
	if err != nil {
		return Foreign{}, fika.Wrap(fika.Storage, op, err)
	}
	if len(data) > maxForeign {
		return Foreign{}, fika.Errorf(fika.Invalid, op, "%s is larger than %d KiB, which no agent's prompt is", path, maxForeign>>10)
	}
	matter, _, err := front.ReadLoose(path, data) // many such files are not quite YAML
	if err != nil {
		return Foreign{}, err
	}
	if matter, err = readSections(path, matter); err != nil {
		return Foreign{}, err
	}
	t := translation{front: matter, known: known, allows: allows}
	t.name(path)
	t.settings()
	out := Foreign{Name: t.called, Notes: t.notes}
	if out.Name == "" {
		return out, fika.Errorf(fika.Invalid, op, "%s does not name the agent: rename it, as in coder.md, or give --name", path)
	}
	out.Text = "---\n" + strings.Join(t.lines, "") + "---\n" + strings.TrimLeft(matter.Body, "\r\n")
	if !strings.HasSuffix(out.Text, "\n") {
		out.Text += "\n"
	}
	return out, nil
}

// translation is the conversion of one file.
type translation struct {
	front  front.Matter
	known  func(string) bool
	allows bool
	called fika.AgentName
	lines  []string
	notes  []string
}

func (t *translation) note(format string, args ...any) {
	t.notes = append(t.notes, fmt.Sprintf(format, args...))
}

// name takes the name given in the file, else the name of the file.
func (t *translation) name(path string) {
	base := filepath.Base(path)
	for _, word := range []string{t.front.Text("name"), strings.TrimSuffix(strings.TrimSuffix(base, ".md"), ".agent")} {
		word = strings.ReplaceAll(strings.TrimSpace(word), " ", "-")
		if n, err := fika.ParseAgentName(word); err == nil {
			t.called = n
			return
		}
	}
}

// settings converts the settings that have a meaning here.
func (t *translation) settings() {
	if d := strings.Join(strings.Fields(t.front.Text("description")), " "); d != "" {
		t.lines = append(t.lines, "description: "+front.Quote(d)+"\n")
	}
	for _, key := range t.front.Keys() {
		switch key {
		case "name", "description":
		case "model":
			t.model(t.front.Text(key))
		case "tools", "tool_permissions", "allowed-tools", "allowed_tools":
			t.tools(key)
		default:
			t.note("%s is left out: it has no meaning here", key)
		}
	}
}

func (t *translation) model(name string) {
	switch {
	case name == "" || name == "inherit" || name == "default":
	case t.known(name):
		t.lines = append(t.lines, "model: "+front.Quote(name)+"\n")
	default:
		t.note("model %s is left out: there is none of that id or nickname (%s); the agent uses the usual one", name, hint.ModelList)
	}
}

func (t *translation) tools(key string) {
	theirs := t.front.List(key)
	if len(theirs) == 1 && theirs[0] == "*" {
		theirs = []string{"read", "list", "edit", "create", "bash", "fetch"}
	}
	t.grants(theirs)
}
