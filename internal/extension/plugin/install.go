package plugin

import (
	"bytes"
	"embed"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"

	"fika"
	"fika/internal/text/hint"
)

// The shipped plugins are the examples people copy from: they run with any
// POSIX shell and need nothing else.
//
//go:embed shipped
var shippedFiles embed.FS

const (
	shippedPlugins   = "shipped/plugins"
	shippedWorkflows = "shipped/workflows"
)

// ShippedNames lists the names of the plugins that come with fika.
func ShippedNames() []string { return shippedNames(shippedPlugins) }

// WorkflowPrompts lists the names of the workflow prompts that come with fika.
func WorkflowPrompts() []string {
	names := shippedNames(shippedWorkflows)
	for i, name := range names {
		names[i] = strings.TrimSuffix(name, ".md")
	}
	return names
}

// InstallShipped writes a shipped plugin into the plugins folder and returns its path. A
// plugin that is already there unchanged is left alone, but made executable. Error kinds:
// NotFound, Conflict when another file has the name, Storage.
func InstallShipped(name, dir string) (string, error) {
	content, err := shippedFiles.ReadFile(shippedPlugins + "/" + name)
	if err != nil {
		return "", fika.Errorf(fika.NotFound, "install plugin", "plugin %q not found; built-in: %s", name, strings.Join(ShippedNames(), ", "))
	}
	path := filepath.Join(dir, name)
	written, err := writeNew(path, content, 0o755)
	if err == nil && !written {
		err = keepExecutable(path)
	}
	return path, err
}

// OutdatedNames names the plugins in a folder that came with fika and differ from the
// version that comes with it now.
func OutdatedNames(dir string) []string {
	var names []string
	for _, name := range ShippedNames() {
		content, err := shippedFiles.ReadFile(shippedPlugins + "/" + name)
		there, readErr := os.ReadFile(filepath.Join(dir, name))
		if err == nil && readErr == nil && !bytes.Equal(content, there) {
			names = append(names, name)
		}
	}
	return names
}

// maxCopied and maxCopiedFiles bound what [CopyIn] copies from a folder, in bytes and in
// files.
const (
	maxCopied      = 64 << 20
	maxCopiedFiles = 2000
)

// CopyIn copies a person's own plugin, a file or a folder, into the plugins folder dir
// and returns its path there. It appears whole or not at all. Links in a folder are
// followed if they stay inside it. Error kinds: Conflict when the name is taken, Invalid
// for a plugin that is too large or contains something other than plain files, Storage.
func CopyIn(from, dir string) (string, error) {
	const op = "install plugin"
	from, err := filepath.Abs(from)
	if err != nil {
		return "", fika.Wrap(fika.Invalid, op, err)
	}
	name := filepath.Base(from)
	to := filepath.Join(dir, name)
	if _, err := os.Lstat(to); err == nil {
		return "", fika.WithHint(fika.Errorf(fika.Conflict, op, "%s exists already; remove it first", to), hint.PluginRemove.With(name))
	}
	tmp, err := os.MkdirTemp(dir, ".install-*") // a hidden name is no plugin
	if err != nil {
		return "", fika.Wrap(fika.Storage, op, err)
	}
	defer os.RemoveAll(tmp)
	info, err := os.Stat(from)
	if err == nil && info.IsDir() {
		err = copyFolder(from, filepath.Join(tmp, name))
	} else if err == nil {
		err = copyFile(func() (fs.File, error) { return os.Open(from) }, filepath.Join(tmp, name), maxCopied)
	}
	if err == nil {
		err = os.Rename(filepath.Join(tmp, name), to)
	}
	return to, fika.Wrap(fika.Storage, op, err)
}

// copyFolder copies the plain files below from, and nothing from outside it.
func copyFolder(from, to string) error {
	root, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer root.Close()
	var size int64
	files := 0
	return fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(to, filepath.FromSlash(path))
		if d.IsDir() {
			return os.MkdirAll(target, 0o700)
		}
		info, err := root.Stat(path)
		if err != nil {
			return err
		}
		size, files = size+info.Size(), files+1
		if !info.Mode().IsRegular() {
			return fika.Errorf(fika.Invalid, "", "%s is not a plain file", filepath.Join(from, path))
		}
		if size > maxCopied || files > maxCopiedFiles {
			return fika.Errorf(fika.Invalid, "", "%s holds more than %d MiB or %d files: leave out what it does not need, or link it into the plugins folder", from, maxCopied>>20, maxCopiedFiles)
		}
		return copyFile(func() (fs.File, error) { return root.Open(path) }, target, maxCopied)
	})
}

// copyFile copies a plain file of at most most bytes, with its execute permission.
func copyFile(open func() (fs.File, error), to string, most int64) error {
	in, err := open()
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return fika.Errorf(fika.Invalid, "", "%s is not a plain file, or is larger than %d MiB", info.Name(), most>>20)
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600|info.Mode()&0o100)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(in, most))
	return errors.Join(err, out.Close())
}

// InstallWorkflows writes the workflow prompts that are missing into the folder dir
// (prompts/workflows) and returns the paths that it wrote. Existing files belong to the
// person and are left alone. Error kind: Storage.
func InstallWorkflows(dir string) ([]string, error) {
	var paths []string
	for _, file := range shippedNames(shippedWorkflows) {
		content, err := shippedFiles.ReadFile(shippedWorkflows + "/" + file)
		if err != nil {
			return paths, fika.Wrap(fika.Failed, "install workflows", err)
		}
		path := filepath.Join(dir, file)
		written, err := writeNew(path, content, 0o644)
		if fika.IsKind(err, fika.Conflict) {
			continue
		}
		if err != nil {
			return paths, err
		}
		if written {
			paths = append(paths, path)
		}
	}
	return paths, nil
}

// writeNew writes a file that does not exist. It returns false if the file exists with
// this content. Error kinds: Conflict when the file exists with other content, Storage.
func writeNew(path string, content []byte, mode fs.FileMode) (bool, error) {
	const op = "install"
	there, err := os.ReadFile(path)
	switch {
	case err == nil && bytes.Equal(there, content):
		return false, nil
	case err == nil:
		return false, fika.Errorf(fika.Conflict, op, "%s exists and is different: move it away first", path)
	case !errors.Is(err, fs.ErrNotExist):
		return false, fika.Wrap(fika.Conflict, op, err) // a folder, or not ours to read
	}
	if _, err := os.Lstat(path); err == nil {
		return false, fika.Errorf(fika.Conflict, op, "%s is a link to nowhere: move it away first", path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return false, fika.Wrap(fika.Storage, op, err)
	}
	return true, fika.Wrap(fika.Storage, op, renameio.WriteFile(path, content, mode))
}

// keepExecutable repairs a plugin that lost its execute permission.
func keepExecutable(path string) error {
	info, err := os.Stat(path)
	if err == nil && info.Mode()&0o111 == 0 {
		err = os.Chmod(path, 0o755)
	}
	return fika.Wrap(fika.Storage, "install", err)
}

func shippedNames(dir string) []string {
	entries, err := shippedFiles.ReadDir(dir)
	if err != nil {
		return nil
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
