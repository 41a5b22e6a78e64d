package doctor

import (
	"fika"
	"fika/internal/settings/project"
	"fika/internal/text/hint"
)

// checkProject reports how much of the project is in force, and what its files are not
// allowed to say.
func (d *examination) checkProject() {
	const check = "project"
	at, err := d.app.Standing()
	if err != nil || at.Project == "" {
		return
	}
	_, err = d.app.CheckProject()
	switch {
	case fika.IsKind(err, fika.Invalid):
		d.add(check, Problem, "fix the file, then run "+hint.Trust.With(), "%v", err)
	case at.Trust == project.Untrusted:
		d.add(check, Note, "", "nothing of %s is used: %s shows it and asks", at.Root, hint.Trust)
	case at.Trust == project.Changed:
		d.add(check, Note, "", "%s has changed since you trusted it: %s shows how", at.Root, hint.Trust)
	default:
		d.add(check, Fine, "", "%s is trusted and unchanged", at.Root)
	}
}
