package skill

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxPlace bounds the skills of one place.
const maxPlace = 500

// Place is a folder with skills in it; it may be missing.
type Place struct {
	Dir string
	// Name is the folder that people know it as, if Dir is a copy of that.
	Name string
}

// shown returns a path in a place as people know it.
func (p Place) shown(path string) string {
	if rest, ok := strings.CutPrefix(path, p.Dir); ok && p.Name != "" {
		return p.Name + rest
	}
	return path
}

// Found is what several places hold.
type Found struct {
	Skills  []Skill  // usable, by name
	Doubles []Skill  // usable, but a nearer place has one of the same name
	Broken  []Broken // not usable
}

// Broken is a folder that is no usable skill.
type Broken struct {
	Name     string // of the folder
	Dir      string
	Place    string
	Problems []Problem
}

// Find reads the skills of places, the nearest first. A skill that cannot be used hides
// none of its name farther away.
func Find(places []Place) Found {
	var f Found
	seen := map[string]bool{} // real folders
	for _, place := range places {
		entries, err := os.ReadDir(place.Dir)
		if err != nil {
			continue
		}
		if len(entries) > maxPlace {
			f.Broken = append(f.Broken, Broken{Name: filepath.Base(place.Dir), Dir: place.shown(place.Dir), Place: place.shown(place.Dir), Problems: []Problem{{Path: place.shown(place.Dir), Text: fmt.Sprintf("has more than %d folders; the others are not read", maxPlace), Fatal: true}}})
			entries = entries[:maxPlace]
		}
		for _, e := range entries {
			dir := filepath.Join(place.Dir, e.Name())
			if strings.HasPrefix(e.Name(), ".") || !isFolder(dir) {
				continue
			}
			f.add(place, e.Name(), dir, seen)
		}
	}
	slices.SortStableFunc(f.Skills, func(a, b Skill) int { return strings.Compare(a.Name, b.Name) })
	return f
}

func (f *Found) add(place Place, name, dir string, seen map[string]bool) {
	s, problems, ok := Read(dir)
	for i := range problems {
		problems[i].Path = place.shown(problems[i].Path)
	}
	s.Notes = problems
	switch {
	case !ok:
		f.Broken = append(f.Broken, Broken{Name: name, Dir: place.shown(dir), Place: place.shown(place.Dir), Problems: problems})
		return
	case seen[s.Dir]: // two places are the same folder
		return
	}
	seen[s.Dir], s.Place = true, place.shown(place.Dir)
	if f.Get(s.Name) != nil {
		f.Doubles = append(f.Doubles, s)
		return
	}
	f.Skills = append(f.Skills, s)
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Get returns the skill of a name that is in force, or nil.
func (f *Found) Get(name string) *Skill {
	for i := range f.Skills {
		if f.Skills[i].Name == name {
			return &f.Skills[i]
		}
	}
	return nil
}

// All stands in a list of names for every skill.
const All = "*"

// Allowed returns the skills whose names are in a list, by name; [All] allows every one.
func (f *Found) Allowed(names []string) []Skill {
	var out []Skill
	for _, s := range f.Skills {
		if Allows(names, s.Name) {
			out = append(out, s)
		}
	}
	return out
}

// Allows reports whether a list of names allows a skill.
func Allows(names []string, name string) bool {
	return slices.Contains(names, All) || slices.Contains(names, name)
}

// Stamped returns the files and folders whose change may change what [Find] finds.
func Stamped(places []Place) []string {
	var out []string
	for _, p := range places {
		out = append(out, p.Dir)
		entries, _ := os.ReadDir(p.Dir)
		for _, e := range entries[:min(len(entries), maxPlace)] {
			out = append(out, filepath.Join(p.Dir, e.Name()), filepath.Join(p.Dir, e.Name(), File))
		}
	}
	return out
}
