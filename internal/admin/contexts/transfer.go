package contexts

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"fika"
	"fika/internal/api"
	"fika/internal/app"
	"fika/internal/chat/attachment"
	"fika/internal/settings/folder"
	"fika/internal/worker"
)

// Import adds what a context folder from anywhere holds: the entries that are not here
// yet, and the texts that the context does not have of its own. The context is made if
// it is missing. It fails with NotFound when path is not a folder or holds no context.
func Import(ctx context.Context, a *app.App, name fika.AgentName, path string, wait time.Duration, p app.Person) (got worker.Imported, err error) {
	c, err := folder.ReadFolder(path)
	if err != nil {
		return got, err
	}
	if len(c.Sources) == 0 && len(c.Texts) == 0 && len(c.Inbox) == 0 && c.Local == nil {
		return got, fika.Errorf(fika.NotFound, "", "%s holds no context: neither entries nor texts", path)
	}
	w, err := worker.OpenCommand(ctx, a, name, false, wait, p.Warn)
	if err != nil {
		return got, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if abs, err := filepath.Abs(path); err == nil && abs == w.Folder.Path() {
		return got, fika.Errorf(fika.Invalid, "", "%s is the folder of context %q itself: nothing to import", path, name)
	}
	if got, err = w.Import(ctx, c); err != nil {
		return got, err
	}
	if err := w.Mirror.MadeAt(c.CreatedAt); err != nil {
		p.Warn(err.Error())
	}
	if err := w.Mirror.Sync(ctx); err != nil {
		p.Warn(err.Error())
	}
	return got, nil
}

// Export writes a copy of a context into the new folder path. From it the context can
// be made again on another machine, by import or by putting the folder into contexts/.
// It returns the number of entries written.
func Export(ctx context.Context, a *app.App, who api.Principal, name fika.AgentName, path string) (int, error) {
	h, err := a.Home()
	if err != nil {
		return 0, err
	}
	f, err := folder.OpenFolder(h, name)
	if err != nil {
		return 0, err
	}
	r, err := OpenReader(ctx, a, who, f)
	if err != nil {
		return 0, err
	}
	var pictures []fika.Attachment
	n, err := f.Export(path, func(visit func(fika.Entry) error) error {
		return r.Read(ctx, Part{Archived: true}, func(e fika.Entry) error {
			pictures = append(pictures, e.Meta.Attachments...)
			return visit(e)
		})
	})
	if err != nil {
		return n, err
	}
	_, err = attachment.StoreIn(h.Root).CopyTo(attachment.StoreIn(path), pictures) // a picture missing here is missing there
	return n, err
}
