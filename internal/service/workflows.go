package service

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fika"
	"fika/internal/app"
	"fika/internal/settings/folder"
	"fika/internal/settings/toml"
	"fika/internal/text/hint"
	"fika/internal/text/spelling"
	"fika/internal/workflow"
)

// Workflows are the definitions that a home has: those in its folder workflows, and
// those shipped with fika. A definition in the folder replaces a shipped one of the
// same name. Workflows needs neither store nor hub.
type Workflows struct {
	home   folder.Home
	shared string // the project's workflows; empty: none
	agents []workflow.Agent
}

// WorkflowInfo is a definition as lists show it.
type WorkflowInfo struct {
	Name       string
	File       string // empty if shipped with fika
	Definition *workflow.Definition
	Trouble    error // why there is no definition
}

// OpenWorkflows returns the workflows of a home, with its agents.
func OpenWorkflows(a *app.App) (*Workflows, error) {
	h, c, err := a.HomeAndConfig()
	if err != nil {
		return nil, err
	}
	names, _, err := h.List()
	if err != nil {
		return nil, err
	}
	w := &Workflows{home: h, shared: a.Shared("workflows"), agents: []workflow.Agent{}}
	for _, e := range c.Agents {
		w.agents = append(w.agents, workflow.Agent{Name: e.ID, Capabilities: e.Capabilities})
	}
	for _, n := range names {
		if !slices.ContainsFunc(w.agents, func(a workflow.Agent) bool { return a.Name == string(n) }) {
			w.agents = append(w.agents, workflow.Agent{Name: string(n)})
		}
	}
	slices.SortFunc(w.agents, func(a, b workflow.Agent) int { return strings.Compare(a.Name, b.Name) })
	return w, nil
}

// Agents returns the agents that a definition may name.
func (w *Workflows) Agents() []workflow.Agent { return slices.Clone(w.agents) }

const workflowEnding = ".toml"

// List returns all definitions by name, including those with mistakes.
func (w *Workflows) List() []WorkflowInfo {
	known := w.known(w.home.WorkflowsDir())
	list := make([]WorkflowInfo, len(known.Names))
	for i, name := range known.Names {
		list[i] = WorkflowInfo{Name: name}
		file, text, err := known.Read(name)
		if err == nil {
			list[i].Definition, err = workflow.Load(name, file, text, known)
		}
		if filepath.IsAbs(file) {
			list[i].File = file
		}
		list[i].Trouble = err
	}
	return list
}

// Load reads and checks the definition that a person names, by name or by file.
// Workflows referred to in a file are looked up beside that file first. Error kinds:
// NotFound, Invalid with every mistake, Storage.
func (w *Workflows) Load(word string) (*workflow.Definition, error) {
	if !isFile(word) {
		known := w.known(w.home.WorkflowsDir())
		if !slices.Contains(known.Names, word) {
			return nil, w.unknown(word, known.Names)
		}
		file, text, err := known.Read(word)
		if err != nil {
			return nil, err
		}
		return workflow.Load(word, file, text, known)
	}
	text, err := readWorkflow(word)
	if err != nil {
		return nil, err
	}
	name := strings.TrimSuffix(filepath.Base(word), workflowEnding)
	d, err := workflow.Load(name, word, text, w.known(filepath.Dir(word)))
	if err != nil {
		return nil, err
	}
	d.File, err = filepath.Abs(word) // a continuing run looks for it from another folder
	return d, fika.Wrap(fika.Storage, "read workflow", err)
}

// isFile reports whether a person means a file rather than a name.
func isFile(word string) bool {
	return strings.ContainsRune(word, filepath.Separator) || strings.HasSuffix(word, workflowEnding)
}

func (w *Workflows) unknown(word string, names []string) error {
	const op = "find workflow"
	if _, err := os.Stat(word); err == nil {
		return fika.Errorf(fika.NotFound, op, "workflow %q not found; if you mean the file, write ./%s", word, word)
	}
	return fika.WithHint(fika.Errorf(fika.NotFound, op, "workflow %q not found%s", word, spelling.DidYouMean(word, names)), hint.WorkflowList)
}

// known returns the definitions that may be referred to: those in dir come before those
// of the home and those that are shipped.
func (w *Workflows) known(dir string) workflow.Known {
	dirs := slices.Compact([]string{dir, w.home.WorkflowsDir()})
	if w.shared != "" {
		dirs = append(dirs, w.shared)
	}
	files := map[string]string{}
	names := workflow.ShippedNames()
	for _, dir := range dirs {
		found, err := filepath.Glob(filepath.Join(escapeGlob(dir), "*"+workflowEnding))
		if err != nil {
			continue // cannot fail: the pattern is well-formed
		}
		for _, file := range found {
			name := strings.TrimSuffix(filepath.Base(file), workflowEnding)
			if files[name] == "" && !strings.HasPrefix(name, ".") {
				files[name] = file
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return workflow.Known{Agents: w.agents, Names: slices.Compact(names), Read: func(name string) (string, []byte, error) {
		if file := files[name]; file != "" {
			text, err := readWorkflow(file)
			return file, text, err
		}
		text, ok := workflow.ShippedText(name)
		if !ok {
			return "", nil, fika.Errorf(fika.NotFound, "find workflow", "workflow %q not found", name)
		}
		return name + workflowEnding, text, nil
	}}
}

// escapeGlob escapes a folder's name so that it stands for itself in a pattern.
func escapeGlob(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// readWorkflow reads a file that a person wrote.
func readWorkflow(file string) ([]byte, error) {
	const op = "read workflow"
	st, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fika.Errorf(fika.NotFound, op, "file %s not found", file)
	case err != nil:
		return nil, fika.Wrap(fika.Storage, op, err)
	case !st.Mode().IsRegular():
		return nil, fika.Errorf(fika.Invalid, op, "%s is not a file with text in it", file)
	case st.Size() > toml.MaxFile:
		return nil, fika.Errorf(fika.Invalid, op, "%s is larger than %d bytes, which is not a file a person writes", file, toml.MaxFile)
	}
	text, err := os.ReadFile(file)
	return text, fika.Wrap(fika.Storage, op, err)
}
