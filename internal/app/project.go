package app

import (
	"os"
	"path/filepath"
	"strings"
	"sync"

	"fika"
	"fika/internal/extension/skill"
	"fika/internal/repository/worktree"
	"fika/internal/settings/config"
	"fika/internal/settings/folder"
	"fika/internal/settings/project"
	"fika/internal/text/hint"
)

// Place is where an invocation works: the home that was named, that of the project it
// is in, or the person's. It is safe for concurrent use.
type Place struct{ opts Options }

// place holds where this invocation works, determined once.
type place struct {
	once    sync.Once
	root    string
	user    string           // the person's home
	project *project.Project // nil: the home belongs to no project
	passed  []string         // folders that could have been the project
	err     error
}

// Root returns the absolute path of the home: the one that was named, else that of the
// current project, else the person's. It is safe for concurrent use.
func (w *Place) Root() (string, error) {
	w.findPlace()
	return w.opts.place.root, w.opts.place.err
}

// Project returns the project whose home is in use, or nil.
func (w *Place) Project() *project.Project {
	w.findPlace()
	return w.opts.place.project
}

// UserRoot returns the absolute path of the person's home, which may be the one in use.
// It contains the keys and the homes of projects.
func (w *Place) UserRoot() (string, error) {
	w.findPlace()
	return w.opts.place.user, w.opts.place.err
}

func (w *Place) findPlace() {
	w.opts.place.once.Do(func() { w.opts.place.err = w.opts.place.findHome(w.opts) })
}

func (p *place) findHome(o Options) error {
	named := o.Root
	if named == "" {
		named = o.Getenv("FIKA_HOME")
	}
	usual, err := folder.DefaultRoot(o.Getenv)
	if err != nil && named == "" {
		return err
	}
	if named == "" {
		person := o.Getenv("HOME")
		if p.user, err = filepath.Abs(usual); err != nil {
			return err
		}
		p.root = p.user
		if p.project, p.passed = project.Find(project.Search{Dir: o.Dir, Home: person, User: p.user}); p.project != nil {
			p.root = p.project.Home
		}
		for _, why := range p.passed {
			o.Warn(why)
		}
		return nil
	}
	if p.root, err = filepath.Abs(named); err != nil {
		return err
	}
	p.user = p.root
	if p.project, err = project.Load(p.root); p.project != nil {
		p.user = filepath.Dir(filepath.Dir(p.root)) // the layout of project.HomesFolder
	}
	return err
}

// Worktree returns the git worktree of an agent of the project, whether or not it
// exists. It returns Invalid if there is no project.
func (w *Place) Worktree(name fika.AgentName) (worktree.Tree, error) {
	p := w.Project()
	if p == nil {
		return worktree.Tree{}, fika.Errorf(fika.Invalid, "worktree", "@%s cannot have a worktree, which needs a project: run %s in the repository", name, hint.Init)
	}
	return worktree.TreeOf(p.Home, name, p.Main), nil
}

// settingLayers returns the files that the settings come from.
func (w *Place) settingLayers() (config.Layers, error) {
	root, err := w.Root()
	l := config.Layers{Home: root}
	account := w.opts.Getenv("USER")
	if _, err := os.Lstat(folder.HomeAt(root).Folder(fika.AgentName(strings.ToLower(account))).Path()); account != "" && err != nil {
		l.Account = account // no context is called so
	}
	if p := w.Project(); p != nil {
		l.User, l.Copy, l.Root = w.opts.place.user, p.Copy(), p.Main
	}
	return l, err
}

// SettingLayers returns the folder of the person's own files for this home, and the
// layers of its settings.
func (w *Place) SettingLayers() (own string, l config.Layers, err error) {
	l, err = w.settingLayers()
	return l.Home, l, err
}

// Untrusted returns NotFound for an agent whose file lies in the project and does not count
// yet; nil for any other name.
func (w *Place) Untrusted(name fika.AgentName) error {
	p := w.Project()
	if p == nil {
		return nil
	}
	file := filepath.Join(p.Dir(), "agents", string(name)+".md")
	if _, err := os.Lstat(file); err != nil {
		return nil
	}
	return fika.WithHint(fika.Errorf(fika.NotFound, "", "agent %q not found: %s is there, and counts once you have trusted it", name, file), hint.Trust)
}

// LoadConfig reads the files that the settings come from, anew and strictly.
func (w *Place) LoadConfig() (*config.Config, error) {
	l, err := w.settingLayers()
	if err != nil {
		return nil, err
	}
	return config.LoadLayers(l)
}

// ConfigPaths returns the files and folders on which the settings depend.
func (w *Place) ConfigPaths() ([]string, error) {
	l, err := w.settingLayers()
	if err != nil {
		return nil, err
	}
	paths := l.Paths()
	if p := w.Project(); p != nil {
		paths = append(paths, p.TrustFile())
	}
	return paths, nil
}

// Shared returns a folder of the project's .fika ("plugins", "commands") as the person
// has agreed to it; "" if there is no project, or nothing of it is trusted.
func (w *Place) Shared(name string) string {
	p := w.Project()
	if p == nil {
		return ""
	}
	dir := p.Copy()
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, project.Folder, name)
}

// SkillPlaces returns where skills are looked for, the nearest first: what the person has
// agreed to of the project, the home in use, the person's home, and ~/.agents/skills,
// which other programs read too.
func (w *Place) SkillPlaces() []skill.Place {
	w.findPlace()
	var out []skill.Place
	if p := w.Project(); p != nil {
		if dir := p.Copy(); dir != "" {
			for _, rel := range project.SkillFolders() {
				rel = filepath.FromSlash(rel)
				out = append(out, skill.Place{Dir: filepath.Join(dir, rel), Name: filepath.Join(p.Main, rel)})
			}
		}
	}
	for _, home := range []string{w.opts.place.root, w.opts.place.user} {
		if home != "" && (len(out) == 0 || out[len(out)-1].Dir != folder.HomeAt(home).SkillsDir()) {
			out = append(out, skill.Place{Dir: folder.HomeAt(home).SkillsDir()})
		}
	}
	if person := w.opts.Getenv("HOME"); filepath.IsAbs(person) {
		out = append(out, skill.Place{Dir: filepath.Join(person, ".agents", "skills")})
	}
	return out
}

// KeysFile returns the path of the file with the keys of this home's models. A person's
// keys are for all projects.
func (w *Place) KeysFile() string {
	w.findPlace()
	return folder.HomeAt(w.opts.place.user).KeysFile()
}

// CheckProject reads the project's files as they are, trusted or not, strictly.
func (w *Place) CheckProject() (*config.Config, error) {
	l, err := w.settingLayers()
	if err != nil {
		return nil, err
	}
	if p := w.Project(); p != nil {
		l.Root = p.Root
	}
	return config.CheckProject(l)
}

// Standing is where a person is, for display.
type Standing struct {
	Project string        // the project's name; empty: the home belongs to no project
	Root    string        // the project's folder
	Home    string        // the folder with the data
	Trust   project.State // of the project
}

// Standing returns where this invocation works, and which part of the project is in
// force.
func (w *Place) Standing() (Standing, error) {
	root, err := w.Root()
	s := Standing{Home: root}
	if p := w.Project(); p != nil {
		s.Project, s.Root, s.Trust = p.Name(), p.Root, p.State(w.opts.Dir)
	}
	return s, err
}
