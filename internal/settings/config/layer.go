package config

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fika"
	"fika/internal/settings/toml"
)

// layerKind says which part of a file applies.
type layerKind string

// The kinds; the zero kind applies in full.
const (
	userLayer    layerKind = "user"    // of a project's person: models, keys, username, skills, guard, display
	projectLayer layerKind = "project" // adds and tightens
)

// Layers say where the settings of a home come from: for a project, the person's home,
// the trusted files of the project, and the project's home; otherwise the home alone.
// Later layers win.
type Layers struct {
	Home string // config.toml, models.toml and agents/ of the home itself

	User string // of a project: the person's home
	Copy string // of a project: a folder with the trusted .fika; "": nothing is trusted
	Root string // of a project: its folder, which workspaces cannot leave

	// Account is the name of the person's account: the username where no file has one, unless
	// nobody may be called so or an agent is. "" is no name.
	Account string
}

// LoadLayers reads all files of a home. Each may be missing. Errors are those of
// [Load].
func LoadLayers(l Layers) (*Config, error) {
	loading := loading{config: Default()}
	for _, f := range l.listFiles() {
		data, ok, err := readFile(f.from)
		if err != nil {
			return nil, err
		}
		if ok {
			f.Text = string(data)
			f.Path = l.shownAs(f.from, data)
			loading.addFile(f.fileText)
		}
	}
	loading.config.takeAccount(l.Account)
	return loading.finishLoading()
}

// Paths returns the files and folders on which the settings depend.
func (l Layers) Paths() []string {
	var out []string
	for _, f := range l.listFiles() {
		out = append(out, f.from)
	}
	return append(out, l.agentFolders()...)
}

func (l Layers) agentFolders() []string {
	dirs := []string{filepath.Join(l.Home, "agents")}
	if l.Copy != "" {
		dirs = append(dirs, filepath.Join(l.projectFolder(), "agents"))
	}
	return dirs
}

// projectFolder returns the trusted .fika.
func (l Layers) projectFolder() string { return filepath.Join(l.Copy, ".fika") }

// layerFile is a file that may exist.
type layerFile struct {
	fileText
	from string
}

// listFiles returns the files to read, in the order in which they apply.
func (l Layers) listFiles() []layerFile {
	var out []layerFile
	if l.User != "" {
		for i, name := range []string{"config.toml", "models.toml"} {
			out = append(out, layerFile{fileText{Layer: userLayer, Base: l.User, Models: i > 0}, filepath.Join(l.User, name)})
		}
	}
	if l.Copy != "" {
		dir := l.projectFolder()
		project := fileText{Layer: projectLayer, Base: dir, Root: l.Root, Own: filepath.Join(l.Home, "config.toml")}
		out = append(out, layerFile{project, filepath.Join(dir, "config.toml")})
		project.Agent = true
		for _, path := range agentFiles(filepath.Join(dir, "agents")) {
			out = append(out, layerFile{project, path})
		}
	}
	out = append(out, layerFile{fileText{Known: true}, l.KnownModels()}, layerFile{fileText{}, filepath.Join(l.Home, "config.toml")}, layerFile{fileText{Models: true}, filepath.Join(l.Home, "models.toml")})
	for _, path := range agentFiles(filepath.Join(l.Home, "agents")) {
		out = append(out, layerFile{fileText{Agent: true}, path})
	}
	return out
}

// KnownModels returns the file that takes the place of the table of known models, whether
// it exists or not: the person's.
func (l Layers) KnownModels() string {
	if l.User != "" {
		return filepath.Join(l.User, knownModels)
	}
	return filepath.Join(l.Home, knownModels)
}

const knownModels = "known-models.toml"

// agentFiles returns the agent files of a folder, by name.
func agentFiles(dir string) []string {
	entries, _ := os.ReadDir(dir)
	var out []string
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, agentEnding) && !strings.HasPrefix(name, ".") {
			out = append(out, filepath.Join(dir, name))
		}
	}
	return out
}

// shownAs returns the name under which people know a file of the trusted copy: the
// project's own file, as long as that has the same content.
func (l Layers) shownAs(path string, data []byte) string {
	rel, err := filepath.Rel(l.Copy, path)
	if l.Copy == "" || err != nil || !filepath.IsLocal(rel) {
		return path
	}
	own := filepath.Join(l.Root, rel)
	if now, ok, err := readFile(own); err == nil && ok && bytes.Equal(now, data) {
		return own
	}
	return path
}

// CheckProject reads a project's folder, root/.fika, as it is now, on top of the
// person's settings, and returns the combined configuration. Problems are reported as
// in [Load], under the names of the project's own files.
func CheckProject(l Layers) (*Config, error) {
	l.Copy = l.Root
	return LoadLayers(l)
}

// keepUserKeys keeps in the tree of a person's file only what also applies in their
// projects, and makes its paths absolute.
func keepUserKeys(root *table, base string) {
	kept := []string{
		"model", "provider", "base_url", "api_key_env", "reasoning", "max_tokens", "username", "models", "skills",
		"rules", "guard", "sandbox", "budgets", "terminal", "trust", "mcp", "routing",
	}
	root.Entries = slices.DeleteFunc(root.Entries, func(e entry) bool { return !slices.Contains(kept, e.Name) })
	for i := range root.Entries {
		e := &root.Entries[i]
		switch e.Name {
		case "trust":
			anchorAll(&e.Value, base)
		case "sandbox":
			eachKey(e.Value, func(e *entry) { anchorAll(&e.Value, base) })
		case "models":
			eachModel(e.Value, func(_ string, t *table) { anchorPath(t.Get("rules"), base) })
		}
	}
}

// anchorPath makes the path of a key absolute.
func anchorPath(e *entry, base string) {
	if e != nil && e.Value.Kind == toml.KindText {
		e.Value.Text = ExpandPath(base, e.Value.Text)
	}
}

func anchorAll(v *value, base string) {
	for i := range v.Items {
		if item := &v.Items[i]; item.Kind == toml.KindText && !lentByName(item.Text) {
			item.Text = ExpandPath(base, item.Text)
		}
	}
}

// eachKey calls f for the keys of a table; for other values it does nothing.
func eachKey(v value, f func(*entry)) {
	if v.Kind != toml.KindTable {
		return
	}
	for i := range v.Table.Entries {
		f(&v.Table.Entries[i])
	}
}

// eachModel calls f for the models of [[models]] or [models.NAME].
func eachModel(v value, f func(id string, t *table)) {
	eachKey(v, func(e *entry) {
		if e.Value.Kind == toml.KindTable {
			f(e.Name, e.Value.Table)
		}
	})
	for i := range v.Items {
		if item := v.Items[i]; item.Kind == toml.KindTable {
			f(textOf(item.Table.Get("id")), item.Table)
		}
	}
}

func textOf(e *entry) string {
	if e == nil || e.Value.Kind != toml.KindText {
		return ""
	}
	return e.Value.Text
}

// agentName returns the agent's name from the path of its file.
func agentName(path string) (fika.AgentName, error) {
	return fika.ParseAgentName(strings.TrimSuffix(filepath.Base(path), agentEnding))
}

const agentEnding = ".md"
