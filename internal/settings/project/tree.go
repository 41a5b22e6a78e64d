package project

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"fika"
	"fika/internal/text/hint"
)

// Instructions is the name of the files with instructions to agents about a
// repository.
const Instructions = "AGENTS.md"

// InstructionNames returns the names that such a file may have. Of one folder, the first
// that is there counts: other programs read CLAUDE.md.
func InstructionNames() []string { return []string{Instructions, "CLAUDE.md"} }

// InstructionsIn returns the path of the file with instructions in a folder, or "" if
// none is a regular file.
func InstructionsIn(dir string) string {
	for _, name := range InstructionNames() {
		if info, err := os.Lstat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() {
			return filepath.Join(dir, name)
		}
	}
	return ""
}

// IsInstructions reports whether a path of a tree is that of instructions.
func IsInstructions(path string) bool {
	return slices.Contains(InstructionNames(), filepath.Base(path)) && !strings.HasPrefix(path, ".")
}

// SkillFolders returns the folders of a project that may hold skills, the nearest to fika
// first, as paths with slashes.
func SkillFolders() []string { return []string{Folder + "/skills", ".agents/skills", ".claude/skills"} }

// Limits of a project, whose files people write, and read before they agree.
const (
	maxFiles        = 2000
	maxBytes        = 16 << 20
	maxInstructions = 256 << 10
	maxFolders      = 5000 // searched for instructions
	maxSkillFiles   = 200
	maxSkillBytes   = 4 << 20
)

// Tree is a project's files at one moment, read once, so that the bytes shown, agreed
// to and copied are the same.
type Tree struct {
	Files []File // by path
	// Left are folders of skills that cannot be part of a project, with the reason.
	Left []Left
}

// Left is a folder that is not part of a [Tree].
type Left struct{ Path, Why string }

// File is one file of a project.
type File struct {
	Path string // relative to the project's root, with slashes: ".fika/config.toml", "AGENTS.md"
	Data []byte
	Exec bool
}

// Get returns the file with a path, or nil when there is none.
func (t Tree) Get(path string) *File {
	i, ok := slices.BinarySearchFunc(t.Files, path, func(f File, path string) int { return strings.Compare(f.Path, path) })
	if !ok {
		return nil
	}
	return &t.Files[i]
}

// Digest returns a hash of everything in the tree.
func (t Tree) Digest() string {
	h := sha256.New()
	for _, f := range t.Files {
		sum := sha256.Sum256(f.Data)
		fmt.Fprintf(h, "%q %t %x\n", f.Path, f.Exec, sum)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Read reads a project: all of its .fika, its skills and, with instructions, every
// AGENTS.md in its folders, or CLAUDE.md in those without. Error kinds: NotFound when there is no .fika, Invalid for a file that
// cannot be part of a project, Storage.
func Read(root string, instructions bool) (Tree, error) {
	t, err := readFolder(root)
	if err == nil {
		t, err = t.withSkills(root)
	}
	if err != nil || !instructions {
		return t, err
	}
	paths, err := findInstructions(root)
	if err != nil {
		return Tree{}, err
	}
	return t.withPaths(root, paths)
}

// withPaths adds those instructions at paths that exist.
func (t Tree) withPaths(root string, paths []string) (Tree, error) {
	for _, rel := range paths {
		data, _, err := readRegular(filepath.Join(root, rel), maxInstructions)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if errors.Is(err, errTooLarge) {
			return Tree{}, fika.Errorf(fika.Invalid, "read project", "%s is larger than %d KiB: all of it would be in every prompt", filepath.Join(root, rel), maxInstructions>>10)
		}
		if err != nil {
			return Tree{}, readError(filepath.Join(root, rel), err)
		}
		t.Files = append(t.Files, File{Path: filepath.ToSlash(rel), Data: data})
	}
	t.sortPaths()
	return t, nil
}

func (t Tree) sortPaths() {
	slices.SortFunc(t.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
}

// readFolder reads all of .fika.
func readFolder(root string) (Tree, error) {
	var t Tree
	dir := filepath.Join(root, Folder)
	size := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && path == filepath.Join(dir, "skills") {
			return fs.SkipDir // withSkills reads it
		}
		if err != nil || d.IsDir() {
			return err
		}
		if !d.Type().IsRegular() {
			return fika.Errorf(fika.Invalid, "read project", "%s is not a regular file, and cannot be part of a project: remove it", path)
		}
		data, info, err := readRegular(path, maxBytes-size)
		if err != nil {
			return err
		}
		size += len(data)
		if len(t.Files) == maxFiles {
			return fika.Errorf(fika.Invalid, "read project", "%s holds more than %d files: it is for what people write; keep the rest elsewhere", dir, maxFiles)
		}
		rel, err := filepath.Rel(root, path)
		t.Files = append(t.Files, File{Path: filepath.ToSlash(rel), Data: data, Exec: info.Mode().Perm()&0o100 != 0})
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return Tree{}, fika.Errorf(fika.NotFound, "read project", "there is no %s; %s makes one", dir, hint.Init)
	}
	if err != nil {
		return Tree{}, readError(dir, err)
	}
	t.sortPaths()
	return t, nil
}

// withSkills adds the skills of a project. A folder that holds a link, a device or too
// much is left out as a whole.
func (t Tree) withSkills(root string) (Tree, error) {
	size := 0
	for _, f := range t.Files {
		size += len(f.Data)
	}
	for _, place := range SkillFolders() {
		at := root
		for part := range strings.SplitSeq(place, "/") {
			at = filepath.Join(at, part)
			if info, err := os.Lstat(at); err == nil && info.Mode()&fs.ModeSymlink != 0 {
				t.Left = append(t.Left, Left{place, "it is reached through a link"})
				at = ""
				break
			}
		}
		if at == "" {
			continue
		}
		entries, err := os.ReadDir(at)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			continue
		}
		if err != nil {
			return Tree{}, readError(at, err)
		}
		for _, e := range entries {
			rel := place + "/" + e.Name()
			if e.Type().IsRegular() || strings.HasPrefix(e.Name(), ".") {
				continue
			}
			files, why := readSkill(root, rel)
			for _, f := range files {
				size += len(f.Data)
			}
			switch {
			case why != "":
				t.Left = append(t.Left, Left{rel, why})
			case len(t.Files)+len(files) > maxFiles || size > maxBytes:
				return Tree{}, readError(at, errTooLarge)
			default:
				t.Files = append(t.Files, files...)
			}
		}
	}
	t.sortPaths()
	return t, nil
}

// readSkill reads the folder of one skill, or says why it cannot be part of a project.
func readSkill(root, rel string) (files []File, why string) {
	size := 0
	_ = filepath.WalkDir(filepath.Join(root, filepath.FromSlash(rel)), func(path string, d fs.DirEntry, err error) error {
		in, _ := filepath.Rel(root, path)
		in = filepath.ToSlash(in)
		switch {
		case err != nil:
			why = in + " cannot be read"
			return fs.SkipAll
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case d.IsDir():
			return nil
		case !d.Type().IsRegular():
			why = in + " is not a regular file"
			return fs.SkipAll
		case len(files) == maxSkillFiles:
			why = fmt.Sprintf("it holds more than %d files", maxSkillFiles)
			return fs.SkipAll
		}
		data, info, err := readRegular(path, maxSkillBytes-size)
		if err != nil {
			why = fmt.Sprintf("%s cannot be read", in)
			if errors.Is(err, errTooLarge) {
				why = fmt.Sprintf("it is larger than %d MiB in all", maxSkillBytes>>20)
			}
			return fs.SkipAll
		}
		size += len(data)
		files = append(files, File{Path: in, Data: data, Exec: info.Mode().Perm()&0o100 != 0})
		return nil
	})
	if why != "" {
		return nil, why
	}
	return files, ""
}

// findInstructions searches the folders of a project for instructions, except hidden
// folders and those that hold other people's code.
func findInstructions(root string) ([]string, error) {
	var found []string
	folders := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && path == root:
			return err
		case err != nil: // not readable
			return fs.SkipDir
		case d.IsDir():
			name := d.Name()
			if folders++; path != root && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "vendor") {
				return fs.SkipDir
			}
			if folders > maxFolders {
				return fs.SkipAll
			}
		case slices.Contains(InstructionNames(), d.Name()) && InstructionsIn(filepath.Dir(path)) == path:
			rel, err := filepath.Rel(root, path)
			found = append(found, rel)
			return err
		}
		return nil
	})
	return found, fika.Wrap(fika.Storage, "look for "+Instructions, err)
}

// errTooLarge is the error of readRegular for a file over its limit.
var errTooLarge = errors.New("is too large")

// readRegular reads a regular file of at most limit bytes, without following a link as
// the last element of path.
func readRegular(path string, limit int) ([]byte, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, &fs.PathError{Op: "read", Path: path, Err: errors.New("is not a regular file")}
	}
	data, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err == nil && len(data) > limit {
		err = &fs.PathError{Op: "read", Path: path, Err: errTooLarge}
	}
	return data, info, err
}

// readError classifies an error from reading a project's files.
func readError(path string, err error) error {
	var known *fika.Error
	switch {
	case errors.As(err, &known):
		return err
	case errors.Is(err, errTooLarge):
		return fika.Errorf(fika.Invalid, "read project", "%s is larger than %d MiB in all: it is for what people write; keep the rest elsewhere", path, maxBytes>>20)
	}
	return fika.Wrap(fika.Storage, "read project", err)
}
