package daemon

import (
	"context"
	"maps"
	"slices"

	"fika"
	"fika/internal/settings/folder"
	"fika/internal/store"
)

// textSharer has the files of this host show the texts of agents that other hosts define,
// too, and shares what is written in them here. It is used by one goroutine.
type textSharer struct {
	home  folder.Home
	read  int64 // the version up to which the shared texts are known
	known map[fika.AgentID]map[folder.TextKind]store.SharedText
	aside []string // the paths of conflicts that the database knows of
	told  map[string]bool
}

func newTextSharer(home folder.Home) *textSharer {
	return &textSharer{home: home.WithCache(), known: map[fika.AgentID]map[folder.TextKind]store.SharedText{}, aside: []string{"not known"}, told: map[string]bool{}}
}

// shareTexts brings the files and the shared texts together once. What fails is said once,
// and tried again the next time.
func (h hubHome) shareTexts(ctx context.Context) {
	if h.host == nil {
		return
	}
	names := h.host.sharedAgents()
	s := h.host.texts
	if len(names) == 0 && len(s.aside) == 0 {
		return
	}
	say := func(name fika.AgentName, err error) {
		if text := string(name) + ": " + err.Error(); ctx.Err() == nil && !s.told[text] {
			s.told[text] = true
			h.app.Log().Warn("shared texts", "agent", name, "err", err)
		}
	}
	fresh, err := h.store.TextsSince(ctx, s.read)
	if err != nil {
		say("", err)
		return
	}
	for _, x := range fresh {
		if s.known[x.Agent] == nil {
			s.known[x.Agent] = map[folder.TextKind]store.SharedText{}
		}
		s.known[x.Agent][folder.TextKind(x.Kind)], s.read = x, x.Version
	}
	rows, err := h.store.ListAgents(ctx)
	if err != nil {
		say("", err)
		return
	}
	var conflicts []store.TextConflict
	whole := true // the list of conflicts
	for _, row := range rows {
		name := row.Name
		if _, is := slices.BinarySearch(names, name); !is {
			continue
		}
		f, _, err := s.home.Ensure(name)
		if err != nil {
			say(name, err)
			whole = false
			continue
		}
		for _, err := range h.shareTextsOf(ctx, row, f) {
			say(name, err)
		}
		files, err := f.Conflicts()
		if err != nil {
			say(name, err)
			whole = false
		}
		for path, kind := range files {
			conflicts = append(conflicts, store.TextConflict{Path: path, Agent: row.ID, Kind: string(kind)})
		}
	}
	if !whole {
		return
	}
	if err := h.sayConflicts(ctx, conflicts); err != nil {
		say("", err)
	}
}

// sayConflicts has the database name the conflicts with files here.
func (h hubHome) sayConflicts(ctx context.Context, list []store.TextConflict) error {
	s := h.host.texts
	paths := []string{}
	for _, x := range list {
		paths = append(paths, x.Path)
	}
	slices.Sort(paths)
	if slices.Equal(paths, s.aside) {
		return nil
	}
	if err := h.store.SetTextConflicts(ctx, h.host.session.Host, list); err != nil {
		return err
	}
	for _, path := range paths {
		if !slices.Contains(s.aside, path) {
			h.app.Log().Warn("a text was changed here and on another host at once: that of the other one is used, and this one kept", "file", path)
		}
	}
	s.aside = paths
	return nil
}

// shareTextsOf brings the texts of one agent together. One that cannot be read keeps none of
// the others back.
func (h hubHome) shareTextsOf(ctx context.Context, row fika.Agent, f folder.Folder) (failed []error) {
	shown, err := f.Shown()
	if err != nil {
		return []error{err}
	}
	before := maps.Clone(shown)
	for _, kind := range folder.TextKinds() {
		shown[kind], err = h.shareText(ctx, row, f, kind, shown[kind])
		if err != nil && !fika.IsKind(err, fika.Conflict) { // somebody writes right now: the next time tells
			failed = append(failed, err)
		}
	}
	if !maps.Equal(before, shown) {
		if err := f.SetShown(shown); err != nil {
			failed = append(failed, err)
		}
	}
	return failed
}

// shareText brings one text together with its file, which last showed was, and returns what
// it shows now. If both were changed, the shared text goes into the file, and what was in it
// is set aside.
func (h hubHome) shareText(ctx context.Context, row fika.Agent, f folder.Folder, kind folder.TextKind, was folder.Shown) (folder.Shown, error) {
	now, err := f.Read(kind)
	if err != nil {
		return was, err
	}
	shared, is := h.host.texts.known[row.ID][kind]
	share := func() (folder.Shown, error) {
		x := store.SharedText{Agent: row.ID, Kind: string(kind), Body: now.Body, Host: h.host.session.Host}
		version, err := h.store.ShareText(ctx, x, shared.Version)
		if err != nil {
			return was, err
		}
		return folder.Shown{Version: version, Hash: now.Hash}, nil
	}
	switch {
	case !is && !h.host.Mine(row): // its own host says first what is there
		return was, nil
	case !is:
		return share()
	case was.Version == shared.Version && was.Hash == now.Hash:
		return was, nil
	case now.Hash == folder.HashOf(shared.Body), now.Body == "" && shared.Body == "":
		return folder.Shown{Version: shared.Version, Hash: now.Hash}, nil
	case was.Version == shared.Version: // changed here
		return share()
	case was.Hash == now.Hash: // changed elsewhere
		written, err := f.WriteIf(kind, now.Hash, shared.Body)
		if err != nil {
			return was, err
		}
		return folder.Shown{Version: shared.Version, Hash: written.Hash}, nil
	}
	if err := f.TakeShared(kind, shared.Body); err != nil {
		return was, err
	}
	return folder.Shown{Version: shared.Version, Hash: folder.HashOf(shared.Body)}, nil
}

// sharedAgents returns the agents that both this host and another one define, sorted, if
// they are meant to run on several (run_on, places); of a pool, its members.
func (k *hostKeeper) sharedAgents() (names []fika.AgentName) {
	c, err := k.home.app.Config()
	if err != nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	elsewhere := map[string]bool{}
	for _, o := range k.news.Others {
		for _, a := range o.Agents {
			elsewhere[a] = true
		}
	}
	for _, e := range c.Agents {
		switch {
		case !elsewhere[e.ID], len(e.RunOn) == 0 && e.Places == 0 && !e.Moves():
		case e.Instances > 0:
			names = append(names, e.Members()...)
		default:
			names = append(names, fika.AgentName(e.ID))
		}
	}
	slices.Sort(names)
	return names
}
