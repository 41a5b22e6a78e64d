package setup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"fika"
	"fika/internal/app"
	"fika/internal/settings/config"
	"fika/internal/settings/project"
	"fika/internal/settings/template"
	"fika/internal/text/hint"
)

// Plan describes the project to be made.
type Plan struct {
	Root      string         // from [ProjectPlace]
	Team      *template.Team // nil: no agents
	Model     string         // empty: each person's own
	AgentsMD  bool           // AGENTS.md is read
	Landing   Landing        // of a team whose work lands
	Templates template.Set
	User      string // the person's home, whose models may be named
}

// ProjectPlace returns the folder in which init makes a project: the root of the
// repository, else the present folder itself. Error kinds: Conflict when there is a
// project already, Invalid where there cannot be one, Storage.
func ProjectPlace(a *app.App) (root string, err error) {
	const op = "init"
	dir, err := filepath.EvalSymlinks(a.Dir())
	if err != nil {
		return "", fika.Wrap(fika.Storage, op, err)
	}
	user, err := a.UserRoot()
	if err != nil {
		return "", err
	}
	if r, err := filepath.EvalSymlinks(user); err == nil {
		user = r
	}
	person := a.Getenv("HOME")
	if r, err := filepath.EvalSymlinks(person); err == nil {
		person = r
	}
	if rel, err := filepath.Rel(user, dir); err == nil && filepath.IsLocal(rel) {
		return "", fika.Errorf(fika.Invalid, op, "%s is inside the home of fika: go to the folder you work in", dir)
	}
	root = repository(dir, person)
	if root == person || filepath.Join(root, project.Folder) == user {
		return "", fika.Errorf(fika.Invalid, op, "%s is your own folder, where %s is the home of fika: go to the folder you work in", root, project.Folder)
	}
	at := filepath.Join(root, project.Folder)
	if _, err := os.Lstat(at); err == nil {
		return "", fika.Errorf(fika.Conflict, op, "%s already exists; add agents with %s", at, hint.AgentCreate.With())
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", fika.Wrap(fika.Storage, op, err)
	}
	return root, nil
}

// repository returns the root of the repository that contains dir, looking no higher
// than the person's own folder; without one it returns dir.
func repository(dir, person string) string {
	for d := dir; d != person; d = filepath.Dir(d) {
		if _, err := os.Lstat(filepath.Join(d, ".git")); err == nil {
			return d
		}
		if d == filepath.Dir(d) {
			break
		}
	}
	return dir
}

// InitProject makes the .fika of a project atomically, and returns its files by path
// relative to it. Error kinds: Conflict, Storage; Invalid for a plan that would make a
// project that cannot be read.
func InitProject(p Plan) ([]string, error) {
	const op = "init"
	files, err := p.files()
	if err != nil {
		return nil, err
	}
	tmp, err := os.MkdirTemp(p.Root, ".fika-new-")
	if err != nil {
		return nil, fika.Wrap(fika.Storage, op, err)
	}
	defer os.RemoveAll(tmp)
	made := filepath.Join(tmp, project.Folder)
	var names []string
	for _, f := range files {
		names = append(names, f.name)
		if err := writeNew(filepath.Join(made, f.name), f.text); err != nil {
			return nil, err
		}
	}
	if _, err := config.CheckProject(config.Layers{Home: filepath.Join(tmp, "nothing"), User: p.User, Root: tmp}); err != nil {
		return nil, fika.Errorf(fika.Invalid, op, "%s", strings.ReplaceAll(err.Error(), tmp, p.Root))
	}
	at := filepath.Join(p.Root, project.Folder)
	if err := os.Rename(made, at); errors.Is(err, fs.ErrExist) {
		return nil, fika.Errorf(fika.Conflict, op, "%s is there already", at)
	} else if err != nil {
		return nil, fika.Wrap(fika.Storage, op, err)
	}
	return names, nil
}

// newFile is a file to be made, with its name in .fika.
type newFile struct{ name, text string }

func (p Plan) files() ([]newFile, error) {
	var b strings.Builder
	b.WriteString("# Settings of this project, for everybody who works on it. They add to what each\n" +
		"# person has and can only tighten it; they take effect when that person runs\n" +
		"# " + hint.Trust.With() + ". Agents are in agents/. " + hint.ConfigCheck.With() + " finds mistakes.\n\n")
	if p.Model != "" {
		b.WriteString("model = " + config.QuoteTOML(p.Model) + "\n")
	} else {
		b.WriteString("# The model everybody uses. Without it: each person's own.\n# model = \"sonnet\"\n")
	}
	if !p.AgentsMD {
		b.WriteString("\n# AGENTS.md is not read.\nagents_md = false\n")
	}
	var agents []newFile
	if p.Team != nil {
		b.WriteString("\n[master]\n# Who is spoken to when nobody is named.\ndefault_agent = " + config.QuoteTOML(p.Team.Agents[0].Name) + "\n")
		if p.Team.Lands {
			b.WriteString(p.Landing.settings())
		}
		for _, m := range p.Team.Agents {
			t, err := p.Templates.Find(m.Template)
			if err != nil {
				return nil, err
			}
			agents = append(agents, newFile{filepath.Join("agents", m.Name+".md"), t.FileFor(template.Choice{})})
		}
	}
	return append([]newFile{{"config.toml", b.String()}}, agents...), nil
}

// writeNew makes a file, which must not exist yet.
func writeNew(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fika.Wrap(fika.Storage, "write", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fika.Errorf(fika.Conflict, "write", "%s is there already; nothing was changed", path)
	}
	if err != nil {
		return fika.Wrap(fika.Storage, "write", err)
	}
	_, err = f.WriteString(text)
	return fika.Wrap(fika.Storage, "write", errors.Join(err, f.Sync(), f.Close()))
}
