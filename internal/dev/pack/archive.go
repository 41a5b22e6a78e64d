package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"
)

// archive writes the files of a folder into a tar.gz, sorted by name, below prefix, all of
// the same time and of no owner. What a file may be is reduced to whether it can be run.
func archive(file, prefix, folder string, at time.Time) (err error) {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	zip, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	if err != nil {
		return err
	}
	out := tar.NewWriter(zip)
	err = filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(folder, name)
		if err != nil {
			return err
		}
		return add(out, name, path.Join(prefix, filepath.ToSlash(rel)), d, at)
	})
	return errors.Join(err, out.Close(), zip.Close())
}

// add writes one file or folder.
func add(out *tar.Writer, file, name string, d fs.DirEntry, at time.Time) error {
	h := &tar.Header{Name: name, ModTime: at, Mode: 0o644, Format: tar.FormatUSTAR}
	if d.IsDir() {
		h.Typeflag, h.Name, h.Mode = tar.TypeDir, name+"/", 0o755
		return out.WriteHeader(h)
	}
	info, err := d.Info()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no ordinary file", file)
	}
	if info.Mode()&0o100 != 0 {
		h.Mode = 0o755
	}
	h.Size = info.Size()
	if err := out.WriteHeader(h); err != nil {
		return err
	}
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, in.Close())
}
