package setup

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fika"
	"fika/internal/app"
	"fika/internal/extension/skill"
	"fika/internal/settings/config"
	"fika/internal/settings/project"
	"fika/internal/text/hint"
)

// maxSkill bounds what [AddSkill] copies, in bytes.
const maxSkill = 64 << 20

// SkillState says whether a skill is in force.
type SkillState string

// The states of skills.
const (
	SkillUsable    SkillState = "usable"
	SkillDouble    SkillState = "double"    // a nearer place has one of the same name
	SkillBroken    SkillState = "broken"    // not in the format
	SkillUntrusted SkillState = "untrusted" // of a project, and not agreed to
)

// KnownSkill is one skill as lists show it.
type KnownSkill struct {
	skill.Skill
	State  SkillState
	Why    string   // it is not usable; empty: it is
	Agents []string // that may use it, by name
}

// Skills returns the skills of the home, of the person and of the project, with those
// that cannot be used, by name.
func Skills(a *app.App) ([]KnownSkill, error) {
	users, err := skillUsers(a)
	if err != nil {
		return nil, err
	}
	found := skill.Find(a.SkillPlaces())
	var out []KnownSkill
	for _, s := range found.Skills {
		known := KnownSkill{Skill: s, State: SkillUsable, Agents: []string{}}
		for _, u := range users {
			if skill.Allows(u.names, s.Name) {
				known.Agents = append(known.Agents, u.agent)
			}
		}
		out = append(out, known)
	}
	for _, s := range found.Doubles {
		out = append(out, KnownSkill{Skill: s, State: SkillDouble, Why: "that of " + found.Get(s.Name).Place + " is nearer", Agents: []string{}})
	}
	out = append(out, brokenSkills(found)...)
	out = append(out, untrustedSkills(a)...)
	slices.SortStableFunc(out, func(x, y KnownSkill) int { return strings.Compare(x.Name, y.Name) })
	return out, nil
}

func brokenSkills(found skill.Found) []KnownSkill {
	var out []KnownSkill
	for _, b := range found.Broken {
		why := b.Problems[slices.IndexFunc(b.Problems, func(p skill.Problem) bool { return p.Fatal })]
		out = append(out, KnownSkill{
			Skill: skill.Skill{Name: b.Name, Dir: b.Dir, Place: b.Place, Notes: b.Problems},
			State: SkillBroken, Why: strings.TrimPrefix(why.String(), b.Dir+"/"), Agents: []string{},
		})
	}
	return out
}

// untrustedSkills returns the skills of the project's working tree that the person has
// not agreed to as they are.
func untrustedSkills(a *app.App) []KnownSkill {
	p := a.Project()
	if p == nil {
		return nil
	}
	now, err := project.Read(p.Root, false)
	if err != nil {
		return nil // fika trust says why
	}
	agreed, _ := p.AgreedFiles() // if it cannot be read, nothing is agreed to
	var out []KnownSkill
	for _, s := range skillsIn(now) {
		if !sameFolder(now, agreed, s.folder) {
			out = append(out, KnownSkill{
				Skill: skill.Skill{Name: s.name, Dir: filepath.Join(p.Root, s.folder), Place: filepath.Join(p.Root, filepath.Dir(s.folder)), Description: s.skill.Description},
				State: SkillUntrusted, Why: "you have not trusted it as it is: " + hint.Trust.With(), Agents: []string{},
			})
		}
	}
	for _, l := range now.Left {
		out = append(out, KnownSkill{
			Skill: skill.Skill{Name: filepath.Base(l.Path), Dir: filepath.Join(p.Root, l.Path), Place: filepath.Join(p.Root, filepath.Dir(l.Path))},
			State: SkillBroken, Why: l.Why, Agents: []string{},
		})
	}
	return out
}

// SkillLines says of each skill in the reviewed files what it is for, or why it cannot be
// used.
func (p *Pending) SkillLines() []string {
	var out []string
	for _, s := range skillsIn(p.Tree) {
		line := skill.Line(s.skill)
		for _, x := range s.problems {
			if x.Fatal {
				line = s.name + ": cannot be used: " + x.String()
				break
			}
		}
		out = append(out, line)
	}
	for _, l := range p.Tree.Left {
		out = append(out, l.Path+": left out: "+l.Why)
	}
	return out
}

// treeSkill is a skill in the files of a project.
type treeSkill struct {
	name, folder string
	skill        skill.Skill
	problems     []skill.Problem
}

// skillsIn returns the skills in the files of a project, usable or not.
func skillsIn(t project.Tree) []treeSkill {
	var out []treeSkill
	for _, f := range t.Files {
		folder, ok := strings.CutSuffix(f.Path, "/"+skill.File)
		if !ok || !slices.ContainsFunc(project.SkillFolders(), func(place string) bool { return filepath.Dir(folder) == place }) {
			continue
		}
		s := treeSkill{name: filepath.Base(folder), folder: folder}
		if len(f.Data) > skill.MaxFile {
			s.problems = []skill.Problem{{Path: f.Path, Text: fmt.Sprintf("is larger than %d KiB", skill.MaxFile>>10), Fatal: true}}
		} else {
			s.skill, s.problems = skill.Parse(s.name, f.Path, f.Data)
		}
		out = append(out, s)
	}
	return out
}

// sameFolder reports whether two trees have the same files in a folder.
func sameFolder(a, b project.Tree, folder string) bool {
	in := func(t project.Tree) project.Tree {
		return project.Tree{Files: slices.DeleteFunc(slices.Clone(t.Files), func(f project.File) bool { return !strings.HasPrefix(f.Path, folder+"/") })}
	}
	return in(a).Digest() == in(b).Digest()
}

// skillUser is an agent, or a context without one, and the skills it may use.
type skillUser struct {
	agent string
	names []string
}

// skillUsers returns who may use skills. Agents whose settings cannot be read are left
// out.
func skillUsers(a *app.App) ([]skillUser, error) {
	h, c, err := a.HomeAndConfig()
	if err != nil {
		return nil, err
	}
	names, _, err := h.List()
	if err != nil {
		return nil, err
	}
	if state, err := h.State(); err == nil && !slices.Contains(names, state.Current) {
		names = append(names, state.Current) // its folder is made when it is used
	}
	for _, entry := range c.Agents {
		if id := fika.AgentName(entry.ID); !slices.Contains(names, id) {
			names = append(names, id)
		}
	}
	slices.Sort(names)
	var out []skillUser
	for _, n := range names {
		s, err := a.Settings(n, nil, true)
		var unresolved *config.ModelError
		if err != nil && !errors.As(err, &unresolved) {
			continue
		}
		out = append(out, skillUser{string(n), s.Skills})
	}
	return out, nil
}

// FindSkill returns a known skill, usable before others of its name. Error kind: NotFound.
func FindSkill(a *app.App, name string) (KnownSkill, error) {
	list, err := Skills(a)
	if err != nil {
		return KnownSkill{}, err
	}
	i := slices.IndexFunc(list, func(s KnownSkill) bool { return s.Name == name && s.State == SkillUsable })
	if i < 0 {
		i = slices.IndexFunc(list, func(s KnownSkill) bool { return s.Name == name })
	}
	if i < 0 {
		return KnownSkill{}, fika.WithHint(fika.Errorf(fika.NotFound, "", "skill %q not found", name), hint.SkillList)
	}
	return list[i], nil
}

// AddSkill copies the folder of a skill into the home in use. Error kinds: Invalid for a
// folder that is no usable skill, Conflict for a name that the home has already, Storage.
func AddSkill(a *app.App, dir string) (skill.Skill, error) {
	const op = "add skill"
	s, problems, ok := skill.Read(dir)
	if !ok {
		var lines []string
		for _, p := range problems {
			if p.Fatal {
				lines = append(lines, p.String())
			}
		}
		return s, fika.Errorf(fika.Invalid, op, "%s", strings.Join(lines, "\n"))
	}
	h, err := a.Home()
	if err != nil {
		return s, err
	}
	if err := h.EnsureDir(h.SkillsDir()); err != nil {
		return s, err
	}
	to := filepath.Join(h.SkillsDir(), s.Name)
	if _, err := os.Lstat(to); err == nil {
		return s, fika.WithHint(fika.Errorf(fika.Conflict, op, "%s already exists", to), hint.SkillRemove.With(s.Name))
	}
	tmp, err := os.MkdirTemp(h.SkillsDir(), ".new-")
	if err != nil {
		return s, fika.Wrap(fika.Storage, op, err)
	}
	defer os.RemoveAll(tmp)
	if err := copySkill(s, tmp); err != nil {
		return s, err
	}
	if err := os.Rename(tmp, to); err != nil {
		return s, fika.Wrap(fika.Storage, op, err)
	}
	s.Dir = to
	return s, nil
}

// copySkill copies the files of a skill. Links that stay in its folder become files.
func copySkill(s skill.Skill, to string) error {
	const op = "add skill"
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return fika.Wrap(fika.Storage, op, err)
	}
	defer root.Close()
	if len(s.Files) >= skill.MaxFiles {
		return fika.Errorf(fika.Invalid, op, "%s has %d files or more: a skill has fewer", s.Dir, skill.MaxFiles)
	}
	left := int64(maxSkill)
	for _, f := range append([]skill.Entry{{Path: skill.File}}, s.Files...) {
		mode := fs.FileMode(0o600)
		if f.Exec {
			mode = 0o700
		}
		n, err := copyFile(root, f.Path, filepath.Join(to, filepath.FromSlash(f.Path)), mode, left)
		if err != nil {
			return fika.Wrap(fika.Storage, op, err)
		}
		if left -= n; left < 0 {
			return fika.Errorf(fika.Invalid, op, "%s is larger than %d MiB in all", s.Dir, maxSkill>>20)
		}
	}
	return nil
}

func copyFile(root *os.Root, from, to string, mode fs.FileMode, most int64) (int64, error) {
	in, err := root.Open(from)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return 0, err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(out, io.LimitReader(in, most+1))
	return n, errors.Join(err, out.Close())
}

// SkillFolder returns the folder in the home in use that holds a skill, usable or not.
// Error kinds: NotFound, Conflict for one that is elsewhere.
func SkillFolder(a *app.App, name string) (string, error) {
	const op = "remove skill"
	h, err := a.Home()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(h.SkillsDir(), name)
	if _, err := os.Lstat(dir); err == nil && filepath.Base(name) == name && !strings.HasPrefix(name, ".") {
		return dir, nil
	}
	s, err := FindSkill(a, name)
	if err != nil {
		return "", err
	}
	return "", fika.Errorf(fika.Conflict, op, "%s is in %s: remove it there", name, s.Place)
}

// RemoveSkill removes a folder that [SkillFolder] returned.
func RemoveSkill(dir string) error { return fika.Wrap(fika.Storage, "remove skill", os.RemoveAll(dir)) }
