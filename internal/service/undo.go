package service

import (
	"context"
	"path/filepath"
	"strings"

	"fika"
	"fika/internal/repository/undo"
	"fika/internal/text/hint"
	"fika/internal/worker"
)

// Undo is the interface to the files that agents have changed.
type Undo struct{ c *Service }

// Undo returns the interface to the files that agents of this home have changed.
func (c *Service) Undo() *Undo { return &Undo{c} }

// Undoing is the effect that undoing a request would have, or has had, on its files.
type Undoing struct {
	undo.Plan
	Info  RequestInfo // only the id and the agent if the request is gone
	Newer []undo.Turn // later requests that only ran commands, which cannot be undone
}

// FileDifference is what a request changed in one file.
type FileDifference = undo.Difference

func (u *Undo) log() *undo.Log { return worker.UndoLog(u.c.home, u.c.app.Now) }

func (u *Undo) files(t undo.Turn) undo.Files {
	return worker.UndoFiles(u.c.app, u.c.home.Folder(t.Agent), t.Workspace)
}

// info returns the request of a turn.
func (u *Undo) info(ctx context.Context, t undo.Turn) (RequestInfo, error) {
	info, err := u.c.store.Request(ctx, t.Request)
	if fika.IsKind(err, fika.NotFound) {
		info.ID, info.AgentName = t.Request, t.Agent
		return info, nil
	}
	return info, err
}

// List returns the requests that have changed files, the latest first, with what could
// be done about each now.
func (u *Undo) List(ctx context.Context, limit int) ([]Undoing, error) {
	var out []Undoing
	err := u.each(ctx, func(t undo.Turn) (bool, error) {
		if len(t.Edits) > 0 {
			x, err := u.plan(ctx, t)
			if err != nil {
				return false, err
			}
			out = append(out, x)
		}
		return limit == 0 || len(out) < limit, nil
	})
	return out, err
}

// each calls do with the turns that may be seen, the latest first, until it returns
// false.
func (u *Undo) each(ctx context.Context, do func(undo.Turn) (bool, error)) error {
	v := u.c.sight()
	ids, err := u.log().Requests()
	if err != nil {
		return err
	}
	for _, id := range ids {
		t, err := u.log().ReadTurn(id)
		if fika.IsKind(err, fika.NotFound) {
			continue // it has just been removed
		}
		if err != nil {
			return err
		}
		if info, err := u.info(ctx, t); err != nil {
			return err
		} else if may, err := v.request(ctx, info); err != nil {
			return err
		} else if !may {
			continue
		}
		if again, err := do(t); err != nil || !again {
			return err
		}
	}
	return nil
}

// Find returns what can be done about one request, by its id or a unique prefix of at
// least six characters, or NotFound.
func (u *Undo) Find(ctx context.Context, id string) (Undoing, error) {
	var found []undo.Turn
	err := u.each(ctx, func(t undo.Turn) (bool, error) {
		if string(t.Request) == id || len(id) >= 6 && strings.HasPrefix(string(t.Request), id) {
			found = append(found, t)
		}
		return len(found) < 2, nil
	})
	switch {
	case err != nil:
		return Undoing{}, err
	case len(found) == 0:
		return Undoing{}, fika.Errorf(fika.NotFound, "", "nothing is kept of what request %s changed; %s shows the requests that changed files", id, hint.UndoList)
	case len(found) > 1:
		return Undoing{}, fika.Errorf(fika.Invalid, "", "%s begins the ids of several requests: give more of it", id)
	}
	return u.plan(ctx, found[0])
}

// NewestIn returns what can be done about the last request that changed files in a
// folder, above or below it, or NotFound.
func (u *Undo) NewestIn(ctx context.Context, dir string) (Undoing, error) {
	return u.newest(ctx, "agents have changed no files in "+dir+": "+hint.UndoList.With()+" shows where they have", func(t undo.Turn) (bool, error) {
		a, err := filepath.Rel(t.Workspace, dir)
		b, err2 := filepath.Rel(dir, t.Workspace)
		return err == nil && filepath.IsLocal(a) || err2 == nil && filepath.IsLocal(b), nil
	})
}

// NewestOf returns what can be done about the last request that changed files in a
// chat, or NotFound.
func (u *Undo) NewestOf(ctx context.Context, conv fika.Conversation) (Undoing, error) {
	return u.newest(ctx, "no files were changed in "+string(conv.Name), func(t undo.Turn) (bool, error) {
		info, err := u.info(ctx, t)
		return info.Conversation == conv.ID, err
	})
}

// Newest returns what can be done about the last request that changed files, or
// NotFound.
func (u *Undo) Newest(ctx context.Context) (Undoing, error) {
	return u.newest(ctx, "agents have changed no files", func(undo.Turn) (bool, error) { return true, nil })
}

func (u *Undo) newest(ctx context.Context, none string, wanted func(undo.Turn) (bool, error)) (found Undoing, err error) {
	var newer []undo.Turn
	ok := false
	err = u.each(ctx, func(t undo.Turn) (bool, error) {
		if yes, err := wanted(t); err != nil || !yes {
			return true, err
		}
		if len(t.Edits) == 0 {
			newer = append(newer, t)
			return true, nil
		}
		ok = true
		found, err = u.plan(ctx, t)
		return false, err
	})
	if err == nil && !ok {
		if len(newer) > 0 {
			none += "; commands ran, and what they changed cannot be taken back"
		}
		err = fika.Errorf(fika.NotFound, "", "%s", none)
	}
	found.Newer = newer
	return found, err
}

func (u *Undo) plan(ctx context.Context, t undo.Turn) (Undoing, error) {
	info, err := u.info(ctx, t)
	return Undoing{Plan: u.log().Plan(t, u.files(t)), Info: info}, err
}

// Apply undoes the changes of a request, or redoes them if they were undone. It returns
// Conflict while the request is not over.
func (u *Undo) Apply(ctx context.Context, id fika.RequestID) (Undoing, error) {
	if err := u.c.may("request.undo"); err != nil {
		return Undoing{}, err
	}
	t, err := u.log().ReadTurn(id)
	if err != nil {
		return Undoing{}, err
	}
	info, err := u.info(ctx, t)
	if err != nil {
		return Undoing{}, err
	}
	if info.State != "" && !info.State.Terminal() && !u.abandoned(info) {
		return Undoing{}, fika.Errorf(fika.Conflict, "", "request %s of @%s is not over (%s): wait for it, or %s", id, t.Agent, info.State, hint.RequestCancel.With(id))
	}
	p := undo.Plan{Turn: t}
	err = u.c.intent(ctx, "request.undo", []any{id}, wish{
		state: func() (any, error) { return t.Undone(), nil },
		do: func() (err error) {
			p, err = u.log().Apply(id, u.files(t))
			return err
		},
	})
	return Undoing{Plan: p, Info: info}, err
}

// abandoned reports whether the process of a one-shot prompt was killed, so that nobody
// continues the request.
func (u *Undo) abandoned(info RequestInfo) bool {
	lock, err := u.c.home.Folder(info.AgentName).Inspect()
	return err == nil && !lock.Held && info.Origin == fika.Foreground
}

// Differences returns what a request has changed in its files.
func (u *Undo) Differences(p Undoing) []FileDifference {
	return u.log().Differences(p.Turn, u.files(p.Turn))
}
