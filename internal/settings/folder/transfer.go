package folder

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"fika"
)

// Export writes a self-contained copy of the context into the new folder dst: the
// entries as a mirror, and the texts and local.toml unchanged. The entries are those of
// the agent's ask conversations, oldest conversation first; the last one's window
// becomes context.jsonl. The copy appears completely or not at all. It returns Conflict
// if dst exists and is not an empty folder.
func (f Folder) Export(dst string, each Each) (n int, err error) {
	const op = "export context"
	if there, err := os.ReadDir(dst); err == nil && len(there) > 0 {
		return 0, fika.Errorf(fika.Conflict, op, "%s exists already and is not empty", dst)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fileError(op, dst, err)
	}
	if err := os.MkdirAll(filepath.Dir(dst), dirMode); err != nil {
		return 0, fileError(op, dst, err)
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dst), ".export-*")
	if err != nil {
		return 0, fileError(op, dst, err)
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(tmp)
		}
	}()
	if n, err = f.exportInto(tmp, each); err != nil {
		return 0, err
	}
	return n, fileError(op, dst, os.Rename(tmp, dst))
}

func (f Folder) exportInto(dir string, each Each) (n int, err error) {
	archived, err := archiveRule(each)
	if err != nil {
		return 0, err
	}
	if n, err = exportEntries(dir, each, archived); err != nil {
		return 0, err
	}
	for _, name := range editedFiles() {
		data, err := readCapped(f.path(name), maxText)
		if err != nil {
			return 0, err
		}
		if data == nil {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, fileMode); err != nil {
			return 0, fileError("export context", name, err)
		}
	}
	old, err := f.readMeta()
	if err != nil {
		return 0, err
	}
	return n, writeMetaIn(dir, newMeta(old.CreatedAt))
}

// exportEntries writes the archive, the window, and the transcript of all entries.
func exportEntries(dir string, each Each, archived func(fika.Entry) bool) (n int, err error) {
	var files []*os.File
	buffers := map[string]*bufio.Writer{}
	defer func() {
		for name, buf := range buffers {
			err = errors.Join(err, fileError("export context", name, buf.Flush()))
		}
		for _, file := range files {
			err = errors.Join(err, fileError("export context", filepath.Base(file.Name()), file.Close()))
		}
	}()
	for _, name := range []string{archiveName, contextName, transcriptName} {
		file, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, fileMode)
		if err != nil {
			return 0, fileError("export context", name, err)
		}
		files, buffers[name] = append(files, file), bufio.NewWriter(file)
	}
	err = each(func(e fika.Entry) error {
		n++
		name := contextName
		if archived(e) {
			name = archiveName
		}
		one := []fika.Entry{e}
		return errors.Join(WriteEntries(buffers[name], one), WriteTranscript(buffers[transcriptName], one))
	})
	return n, err
}

// editedFiles returns the files of a context that a person edits.
func editedFiles() []string {
	names := []string{"local.toml"}
	for _, k := range TextKinds() {
		names = append(names, string(k)+".md")
	}
	return names
}

// Each calls a function for the entries of several conversations, one conversation
// after the other and the active one last. It may be called again.
type Each func(do func(fika.Entry) error) error

// archiveRule returns the rule for which entries are archived: all except those in the
// window of the last conversation.
func archiveRule(each Each) (archived func(fika.Entry) bool, err error) {
	var last fika.ConversationID
	var compactions []fika.Entry
	err = each(func(e fika.Entry) error {
		if e.Conversation != last {
			last, compactions = e.Conversation, nil
		}
		if e.Type == fika.Compaction {
			compactions = append(compactions, e)
		}
		return nil
	})
	in := inWindow(compactions)
	return func(e fika.Entry) bool { return e.Conversation != last || !in(e.Seq) }, err
}

// ReadFolder reads a context folder from anywhere: one that fika exported or mirrored,
// or chibi's, old (context.json, transcript.jsonl, transcript.txt) and new
// (transcript/). It reads nothing outside path, whatever links it holds. Entries that
// are in several files are returned once. Seqs and conversations are the foreign ones:
// the importer assigns its own. Error kinds: NotFound, Invalid (a text or file too
// large), Storage.
func ReadFolder(path string) (Content, error) {
	const op = "read context folder"
	c := Content{Texts: map[TextKind]string{}, path: path, ids: map[idKey]bool{}}
	root, err := os.OpenRoot(path)
	if err != nil {
		return c, fileError(op, path, err)
	}
	defer root.Close()
	if c.now, err = c.entriesOf(root, contextName, false, nil); err != nil {
		return c, err
	}
	older, err := olderFiles(root)
	if err != nil {
		return c, fileError(op, path, err)
	}
	for _, name := range older {
		if c.older, err = c.entriesOf(root, name, true, c.older); err != nil {
			return c, err
		}
	}
	if err := c.readHistory(root); err != nil {
		return c, err
	}
	if len(c.Sources) == 0 {
		if err := c.plainTranscript(root); err != nil {
			return c, err
		}
	}
	if err := c.readInbox(root); err != nil {
		return c, err
	}
	for _, k := range TextKinds() {
		data, err := readInRoot(root, string(k)+".md")
		if err != nil {
			return c, err
		}
		if data != nil {
			c.Texts[k] = strings.ToValidUTF8(strings.TrimPrefix(string(data), "\ufeff"), "\ufffd")
		}
	}
	if c.Local, err = readInRoot(root, "local.toml"); err != nil {
		return c, err
	}
	m := newMeta(time.Now())
	if data, err := readInRoot(root, metaName); err == nil && m.parseMeta(data) {
		c.CreatedAt = m.CreatedAt
	}
	return c, nil
}

// olderFiles returns the files with archived entries, oldest first: the archive,
// chibi's partitions by name, which begins with their time, and its active partition
// last.
func olderFiles(root *os.Root) ([]string, error) {
	names := []string{archiveName, "transcript.jsonl"}
	parts, err := fs.Glob(root.FS(), "transcript/partitions/*.jsonl")
	if err != nil {
		return nil, err
	}
	return append(append(names, parts...), "transcript/active.jsonl"), nil
}

// openInRoot opens a regular file below root; nil, nil if it is missing.
func openInRoot(root *os.Root, name string) (*os.File, error) {
	st, err := root.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fileError("read "+name, filepath.Join(root.Name(), name), err)
	}
	if !st.Mode().IsRegular() {
		return nil, fika.Errorf(fika.Invalid, "read "+name, "%s is not a regular file", filepath.Join(root.Name(), name))
	}
	file, err := root.Open(name)
	return file, fileError("read "+name, filepath.Join(root.Name(), name), err)
}

// readInRoot reads a small file below root; nil if it is missing.
func readInRoot(root *os.Root, name string) ([]byte, error) {
	file, err := openInRoot(root, name)
	if file == nil || err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxText+1))
	if err != nil {
		return nil, fileError("read "+name, filepath.Join(root.Name(), name), err)
	}
	if len(data) > maxText {
		return nil, tooLarge(filepath.Join(root.Name(), name), int64(len(data)), maxText)
	}
	return data, nil
}

// Adoptable reports whether the folder came from elsewhere: it holds entries, and its
// meta names none of the source's conversations as mirrored. The caller then imports
// the result of [ReadFolder] before it opens the mirror, which would otherwise set the
// files aside.
func (f Folder) Adoptable(ctx context.Context, source EntrySource) (bool, error) {
	m, err := f.readMeta()
	if err != nil {
		return false, err
	}
	heads, err := source.Asks(ctx)
	if err != nil {
		return false, err
	}
	for _, h := range heads {
		if _, ok := m.Seen[h.ID]; ok {
			return false, nil
		}
	}
	for _, name := range []string{contextName, archiveName, historyName, "transcript.jsonl", "transcript/active.jsonl", plainName} {
		if st, err := os.Stat(f.path(name)); err == nil && st.Mode().IsRegular() && st.Size() > 0 {
			return true, nil
		}
	}
	return false, nil
}
