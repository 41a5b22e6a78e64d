package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"fika"
	busnats "fika/internal/bus/nats"
	"fika/internal/chat/chatfile"
	"fika/internal/settings/config"
	"fika/internal/settings/folder"
	"fika/internal/store/archive"
	"fika/internal/text/hint"
)

// OpenedHome is the home of an invocation, opened on first use and created if it is
// missing, unless the command only looks.
type OpenedHome struct {
	opts     Options
	place    *Place
	home     *folder.Home
	readOnly bool     // the home cannot be written
	upgraded []string // what has changed since an older version used it
}

// Home opens the home. A command that does more than look creates it if it is missing.
func (o *OpenedHome) Home() (folder.Home, error) {
	if o.home != nil {
		return *o.home, nil
	}
	root, err := o.place.Root()
	if err != nil {
		return folder.Home{}, err
	}
	if _, err := os.Lstat(root); o.opts.Looks && errors.Is(err, fs.ErrNotExist) {
		h := folder.HomeAt(root)
		o.home = &h
		return h, nil
	}
	h, err := folder.OpenHome(root)
	if o.opts.Looks && fika.IsKind(err, fika.Storage) {
		if readable, roErr := folder.OpenReadOnly(root); roErr == nil {
			o.opts.Warn(fmt.Sprintf("%s cannot be written (read-only disk, or another owner): this is what can be read of it", root))
			h, err, o.readOnly = readable, nil, true
		}
	}
	if err != nil {
		return h, err
	}
	if !o.readOnly {
		o.upgraded = noteVersion(h, o.opts.Log)
		if err := o.prepareHome(h); err != nil {
			o.opts.Log.Warn("home", "err", err) // it works without
		}
	}
	o.home = &h
	return h, nil
}

// prepareHome creates the files that a person edits in a new home.
func (o *OpenedHome) prepareHome(h folder.Home) error {
	p := o.place.Project()
	if p == nil {
		return h.Prepare(config.ExampleFile())
	}
	if err := p.NoteIdentity(o.opts.Now()); err != nil {
		return err
	}
	return h.Prepare(fmt.Sprintf(ownSettings, p.Main, hint.ApproveAlways.With("ID")))
}

// ownSettings is the text of config.toml in a project's home.
const ownSettings = `# Your own settings for the project in %s.
# They are not committed, and win over those of the project. %s
# writes its rules here.
`

// ReadOnly reports whether the home cannot be written. It is valid once the home is
// open.
func (o *OpenedHome) ReadOnly() bool { return o.readOnly }

// UpgradeNotes returns what has changed since an older version of fika used this home.
// It returns each note only once.
func (o *OpenedHome) UpgradeNotes() []string {
	notes := o.upgraded
	o.upgraded = nil
	return notes
}

// DamageWarnings returns which requests of other programs the home has lost, until a
// person has acknowledged it, which messages of chats only files still have, that the
// disk is full, and why old rows could not be archived.
func (o *OpenedHome) DamageWarnings() []string {
	h, err := o.Home()
	if err != nil {
		return nil
	}
	list := append(busnats.DamageWarnings(h.RunDir()), chatfile.LostWarnings(h.ChatsDir())...)
	if full := o.DiskWarning(); full != "" {
		list = append(list, full)
	}
	if why := archive.Failure(h.Root); why != "" {
		list = append(list, "old rows were not archived as [keep] says: "+why)
	}
	return list
}
