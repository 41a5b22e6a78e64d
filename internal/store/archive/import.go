package archive

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fika"
)

// Imported is what an import has stored.
type Imported struct {
	Archives int
	Rows     int // that were not in the database
}

// Import stores the rows of archives again: of a file, or of all files below a folder. A
// row that is there stays as it is, so repeating an import changes nothing; an archive is
// stored as a whole or not at all. told, if not nil, is called after each.
func (a *Archive) Import(ctx context.Context, path string, told func(file string, rows int)) (got Imported, err error) {
	files, err := filesOf(path)
	if err != nil {
		return got, err
	}
	if len(files) == 0 {
		return got, fika.Errorf(fika.NotFound, "", "%s holds no archive: no file that ends in .jsonl", path)
	}
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return got, fika.Wrap(fika.Interrupted, "import archive", err)
		}
		n, err := a.importFile(ctx, file)
		if err != nil {
			return got, err
		}
		if got.Archives, got.Rows = got.Archives+1, got.Rows+n; told != nil {
			told(file, n)
		}
	}
	return got, nil
}

func (a *Archive) importFile(ctx context.Context, path string) (int, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, fika.Wrap(fika.Storage, "read archive", err)
	}
	defer f.Close()
	refers, list, err := decode(path, f)
	if err != nil {
		return 0, err
	}
	return a.store.PutBack(ctx, refers, list)
}

// filesOf returns the archives at a path, in order.
func filesOf(path string) (files []string, err error) {
	info, err := os.Stat(path)
	switch {
	case os.IsNotExist(err):
		return nil, fika.Errorf(fika.NotFound, "", "%s does not exist", path)
	case err != nil:
		return nil, fika.Wrap(fika.Storage, "read archive", err)
	case !info.IsDir():
		return []string{path}, nil
	}
	err = filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.HasSuffix(p, ".jsonl") {
			files = append(files, p)
		}
		return err
	})
	slices.Sort(files)
	return files, fika.Wrap(fika.Storage, "read archive", err)
}
