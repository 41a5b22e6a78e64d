package backup

import (
	"archive/zip"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"fika"
	"fika/internal/app"
	"fika/internal/chat/attachment"
	"fika/internal/settings/folder"
	"fika/internal/store"
	"fika/internal/system/sleep"
)

const (
	// storeInBackup is the copy of the database inside a backup.
	storeInBackup = "store.db"
	// maxBackedUp is the size above which a file of a home is left out of a backup.
	maxBackedUp = 8 << 20
	// backupEvery is how often the hub makes a backup, backupLook how often it checks
	// whether one is due.
	backupEvery = 24 * time.Hour
	backupLook  = time.Hour
)

// Write writes the database and everything that people have edited into one new file
// and returns its path. With an empty path it chooses a name in the home. Agents may
// be at work meanwhile. Keys, passwords and everything that fika can make again are
// left out.
func Write(ctx context.Context, a *app.App, path string) (_ string, err error) {
	const op = "back up"
	h, err := a.Home()
	if err != nil {
		return "", err
	}
	s, err := a.Store(ctx)
	if err != nil {
		return "", err
	}
	if path == "" {
		if err := h.EnsureDir(backupsDir(h)); err != nil {
			return "", err
		}
		path = filepath.Join(backupsDir(h), "fika-"+a.Now().UTC().Format(backupStamp)+".zip")
	}
	dir := filepath.Dir(path)
	work, err := os.MkdirTemp(dir, ".fika-backup-")
	if errors.Is(err, fs.ErrNotExist) {
		return "", fika.Errorf(fika.NotFound, op, "folder %s not found", dir)
	}
	if err != nil {
		return "", &fika.Error{Kind: fika.Storage, Op: op, Msg: dir, Err: err}
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	copied := filepath.Join(work, storeInBackup)
	if err := s.Backup(ctx, copied); err != nil {
		return "", err
	}
	packed := filepath.Join(work, "backup.zip")
	if err := pack(packed, copied, h.Root, append(edited(h.Root), scriptedRules(a, h.Root)...)); err != nil {
		return "", &fika.Error{Kind: fika.Storage, Op: op, Msg: path, Err: err}
	}
	// A link never replaces another file, and the name appears only when all is on
	// disk.
	if err := os.Link(packed, path); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return "", fika.Errorf(fika.Conflict, op, "%s exists already: name another file", path)
		}
		return "", &fika.Error{Kind: fika.Storage, Op: op, Msg: path, Err: err}
	}
	return path, nil
}

const backupStamp = "20060102-150405"

// asideName returns the end of the name under which a store is kept that another takes the
// place of. Two of them in one second have different names.
func asideName(why string, now time.Time) string {
	return why + "_" + strings.ReplaceAll(now.UTC().Format("20060102_150405.000"), ".", "_")
}

func backupsDir(h folder.Home) string { return filepath.Join(h.Root, "backups") }

// scriptedRules lists the files in a home from which its scripted models answer.
func scriptedRules(a *app.App, root string) []string {
	files := []string{"rules.toml"}
	if c, err := a.Config(); err == nil {
		for _, m := range c.Models {
			files = append(files, m.Rules)
		}
	}
	var out []string
	for _, name := range files {
		if filepath.IsAbs(name) {
			name, _ = filepath.Rel(root, name)
		}
		name = filepath.Clean(name)
		info, err := os.Lstat(filepath.Join(root, name))
		if err == nil && filepath.IsLocal(name) && info.Mode().IsRegular() && info.Size() <= maxBackedUp && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// pack writes the backup and syncs it to disk. names are files in root.
func pack(path, database, root string, names []string) (err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	z := zip.NewWriter(f)
	if err := packFile(z, storeInBackup, database, nil); err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		change := func(b []byte) []byte { return b }
		if filepath.Ext(name) == ".toml" {
			change = withoutSecrets
		}
		if err := packFile(z, "home/"+filepath.ToSlash(name), filepath.Join(root, name), change); err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	return f.Sync()
}

func packFile(z *zip.Writer, name, path string, change func([]byte) []byte) error {
	from, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // gone since it was listed
	}
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := z.Create(name)
	if err != nil {
		return err
	}
	if change == nil {
		_, err = io.Copy(to, from)
		return err
	}
	data, err := io.ReadAll(io.LimitReader(from, maxBackedUp))
	if err == nil {
		_, err = to.Write(change(data))
	}
	return err
}

// withoutSecrets removes passwords and tokens from a settings file.
func withoutSecrets(text []byte) []byte {
	text = regexp.MustCompile(`(?m)^([ \t]*(?:password|token)[ \t]*=).*$`).ReplaceAll(text, []byte(`# $1 "left out of the backup"`))
	return regexp.MustCompile(`(://[^:/@\s"']+):[^@\s"']+@`).ReplaceAll(text, []byte("$1@"))
}

// edited lists the files of a home that people edit, by path relative to root.
func edited(root string) []string {
	var out []string
	for _, top := range []string{"config.toml", "models.toml", "state.json", "home_id", "project.json", "prompts", "plugins", "agents", "commands", "skills", "workflows", "templates", attachment.Folder, "contexts"} {
		_ = filepath.WalkDir(filepath.Join(root, top), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil //nolint:nilerr // what cannot be read is not backed up; doctor speaks of it
			}
			name, _ := filepath.Rel(root, path)
			parts := strings.Split(name, string(filepath.Separator))
			if d.IsDir() {
				if parts[0] == "contexts" && len(parts) > 2 {
					return filepath.SkipDir // workspaces, tool output
				}
				return nil
			}
			info, err := d.Info()
			if err != nil || !info.Mode().IsRegular() || info.Size() > maxBackedUp || isMirror(parts) {
				return nil //nolint:nilerr // as above
			}
			out = append(out, name)
			return nil
		})
	}
	return out
}

// isMirror reports whether a file of a context is a lock or is regenerated from the
// database.
func isMirror(parts []string) bool {
	return parts[0] == "contexts" && slices.Contains(mirrors(), parts[len(parts)-1])
}

func mirrors() []string {
	return []string{"lock", "context.jsonl", "transcript_archive.jsonl", "transcript.md", "context_meta.json"}
}

// KeepDaily makes one backup a day until ctx ends and keeps the newest keep of them. It
// makes none before there is anything to keep.
// It does nothing if keep is 0.
func KeepDaily(ctx context.Context, a *app.App, keep int) {
	h, err := a.Home()
	if err != nil {
		return // the hub has opened the home before
	}
	for keep > 0 {
		if list := madeByHub(h); len(list) == 0 && hasSaid(ctx, a) || len(list) > 0 && a.Now().Sub(list[len(list)-1].at) >= backupEvery {
			path, err := Write(ctx, a, "")
			if err != nil && ctx.Err() == nil {
				a.Log().Warn("backup", "err", err)
			}
			if err == nil {
				a.Log().Info("backup", "file", path)
				list = madeByHub(h)
				for _, old := range list[:max(0, len(list)-keep)] {
					_ = os.Remove(old.path)
				}
			}
		}
		if sleep.For(ctx, backupLook) != nil {
			return
		}
	}
}

// hasSaid reports whether there is anything in the database that a backup would keep.
func hasSaid(ctx context.Context, a *app.App) bool {
	s, err := a.Store(ctx)
	if err != nil {
		return false
	}
	list, err := s.ListConversations(ctx, store.ConversationFilter{})
	return err != nil || slices.ContainsFunc(list, func(c store.ConversationInfo) bool { return c.LastSeq > 0 })
}

type backupFile struct {
	path string
	at   time.Time
}

// madeByHub lists the backups in the home that have a default name, oldest first.
func madeByHub(h folder.Home) []backupFile {
	found, _ := filepath.Glob(filepath.Join(backupsDir(h), "fika-*.zip"))
	slices.Sort(found)
	var out []backupFile
	for _, path := range found {
		stamp := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "fika-"), ".zip")
		if at, err := time.Parse(backupStamp, stamp); err == nil {
			out = append(out, backupFile{path, at})
		}
	}
	return out
}

// List lists the backups in the home, oldest first.
func List(a *app.App) ([]string, error) {
	h, err := a.Home()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, b := range madeByHub(h) {
		out = append(out, b.path)
	}
	return out, nil
}
