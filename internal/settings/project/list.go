package project

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"fika"
	"fika/internal/text/hint"
)

// Known is a project that this person has used.
type Known struct {
	Project
	Made  time.Time
	Trust *Trust // nil: no agreement
	Gone  bool   // its folder does not exist
	Wrong error  // why only its home is known
}

// List returns the projects below a person's home, sorted by id.
func List(user string) ([]Known, error) {
	dirs, err := os.ReadDir(HomesFolder(user))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fika.Wrap(fika.Storage, "list projects", err)
	}
	var out []Known
	for _, d := range dirs {
		home := filepath.Join(HomesFolder(user), d.Name())
		p, err := Load(home)
		if err == nil && p == nil {
			continue
		}
		k := Known{Wrong: err}
		k.ID, k.Home = d.Name(), home
		if p != nil {
			k.Project = *p
			if t, ok := p.Trust(); ok {
				k.Trust = &t
			}
			if info, err := os.Stat(recordFile(home)); err == nil {
				k.Made = info.ModTime()
			}
			_, err := os.Stat(p.Dir())
			k.Gone = err != nil
		}
		out = append(out, k)
	}
	return out, nil
}

// MoveTo gives the data of p to another project: that of the folder to which p has
// been moved. Nothing may be using either home. Error kinds: Conflict when the other
// project has data of its own, Storage.
func (p *Project) MoveTo(to *Project, now time.Time) error {
	const op = "move project"
	if p.Home != to.Home {
		if _, err := os.Lstat(to.Home); err == nil {
			return fika.Errorf(fika.Conflict, op, "%s has data of its own in %s: %s removes them", to.Main, to.Home, hint.ProjectForget.With(to.ID))
		}
		if err := os.Rename(p.Home, to.Home); err != nil {
			return fika.Wrap(fika.Storage, op, err)
		}
	}
	return to.writeRecord(now)
}

// Forget removes the home of a project with everything in it. Nothing may be using it.
// The project's own folder is left alone.
func (p *Project) Forget() error {
	gone := p.Home + ".forgotten"
	err := os.Rename(p.Home, gone) // no longer a project, even if removing it is interrupted
	if err == nil {
		err = os.RemoveAll(gone)
	}
	return fika.Wrap(fika.Storage, "forget project", err)
}
