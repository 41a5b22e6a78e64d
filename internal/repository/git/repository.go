package git

import (
	"context"
	"path/filepath"
	"strings"
)

// Repository says where git keeps the data of a folder.
type Repository struct {
	Top    string // root of the working tree that contains the folder
	Common string // the .git that all working trees of the repository share
}

// Find returns the repository of a folder. It fails with NotFound outside of one.
func Find(ctx context.Context, folder string) (Repository, error) {
	top, err := place(ctx, folder, "--show-toplevel")
	if err != nil {
		return Repository{}, err
	}
	common, err := place(ctx, folder, "--git-common-dir")
	return Repository{Top: top, Common: common}, err
}

func place(ctx context.Context, folder, what string) (string, error) {
	out, err := run(ctx, Call{Dir: folder, Args: []string{"rev-parse", "--path-format=absolute", what}}, quiet())
	if err != nil {
		return "", err
	}
	path := strings.TrimSuffix(string(out), "\n")
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return path, nil
}
