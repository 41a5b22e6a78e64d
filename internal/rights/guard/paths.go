package guard

import (
	"path/filepath"
	"slices"
	"strings"

	"fika"
)

// Paths says what is out of reach of one agent's tools. All paths are absolute and
// clean; a folder that is reached through links is listed under both of its names. The
// zero value hides only what is secret by its place in the system, and protects what is
// protected by name.
type Paths struct {
	Homes []string // homes of fika: hidden, with everything in them
	Own   []string // folders that stay in reach although they are in a home
	// Readable are folders that can be read wherever they are, and never changed.
	Readable []string
	Persons  []string // home folders of people: secrets and start-up files in them
	Obeyed   []string // what git reads as settings or runs, because settings name it: protected
}

// Look returns an error of kind Denied if path is hidden, so that a tool may not read or
// list it. path must be absolute and without links.
func (p Paths) Look(path string) error {
	if p.own(path) != "" || p.IsReadable(path) {
		return nil
	}
	for _, home := range p.Homes {
		if within(home, path) {
			return refuse(path, "belongs to fika: its home is out of reach of file tools")
		}
	}
	for _, person := range p.Persons {
		if inOneOf(person, keys[:], path) || inOneOf(person, secrets[:], path) {
			return refuse(path, "may hold secrets of a person, which tools do not see")
		}
	}
	if within("/proc", path) {
		return refuse(path, "belongs to the system's processes, which tools do not see")
	}
	return nil
}

// Change returns an error of kind Denied if path is hidden or protected, so that a tool
// may not write it. path must be absolute and without links; it need not exist.
func (p Paths) Change(path string) error {
	if err := p.Look(path); err != nil {
		return err
	}
	if p.IsReadable(path) {
		return refuse(path, "belongs to a skill, which tools read and do not change")
	}
	named := path
	if own := p.own(path); own != "" {
		named, _ = filepath.Rel(own, path) // the names leading to it are fika's
	}
	if why := protected(parts(named)); why != "" {
		return refuse(path, why+": ask the person to change it")
	}
	for _, obeyed := range p.Obeyed {
		if within(obeyed, path) {
			return refuse(path, "is read or run by git, because its settings name it: ask the person to change it")
		}
	}
	for _, person := range p.Persons {
		if inOneOf(person, startup[:], path) {
			return refuse(path, "is read when a person logs in or starts a program: ask the person to change it")
		}
	}
	return nil
}

// HiddenRoots lists the folders that are hidden as a whole and in which a file may have
// a second name (a hard link): the homes of fika, and people's keys.
func (p Paths) HiddenRoots() []string {
	out := slices.Clone(p.Homes)
	for _, person := range p.Persons {
		for _, s := range keys {
			out = append(out, filepath.Join(person, filepath.FromSlash(s)))
		}
	}
	return out
}

// Secrets lists the files and folders in people's home folders that hold secrets by
// their name, whether they exist or not.
func (p Paths) Secrets() []string {
	var out []string
	for _, person := range p.Persons {
		for _, s := range slices.Concat(keys[:], secrets[:]) {
			out = append(out, filepath.Join(person, filepath.FromSlash(s)))
		}
	}
	return out
}

// IsReadable reports whether a path is in one of the Readable folders.
func (p Paths) IsReadable(path string) bool {
	return slices.ContainsFunc(p.Readable, func(dir string) bool { return within(dir, path) })
}

// own returns the agent's own folder that path is in, or "".
func (p Paths) own(path string) string {
	for _, own := range p.Own {
		if within(own, path) {
			return own
		}
	}
	return ""
}

// within reports whether path is root or below it, without regard to case.
func within(root, path string) bool {
	a, b := parts(root), parts(path)
	if root == "" || len(a) > len(b) {
		return false
	}
	for i := range a {
		if !strings.EqualFold(a[i], b[i]) {
			return false
		}
	}
	return true
}

// inOneOf reports whether path is in one of the places of a person's home.
func inOneOf(person string, places []string, path string) bool {
	for _, place := range places {
		if within(filepath.Join(person, filepath.FromSlash(place)), path) {
			return true
		}
	}
	return false
}

// parts splits a path into its names, outermost first.
func parts(path string) []string {
	return strings.FieldsFunc(filepath.ToSlash(path), func(r rune) bool { return r == '/' })
}

func refuse(path, why string) error {
	const most = 200
	if len(path) > most {
		path = path[:most] + "…"
	}
	return fika.Errorf(fika.Denied, "path", "%q %s", path, why)
}
