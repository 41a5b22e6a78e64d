package attachment

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"

	"fika"
)

// Store is the folder of a home that holds pictures. Several processes may use it at
// once.
type Store struct{ Dir string }

// StoreIn returns the store of a home.
func StoreIn(home string) Store { return Store{Dir: filepath.Join(home, Folder)} }

// Folder is the name of the store's folder in a home and in an exported context.
const Folder = "attachments"

// MaxBytes is the largest picture: providers take 5 MB in the form in which it is
// sent.
const MaxBytes = 3_750_000

// Takes reports whether data that begins so is a picture or a PDF document, as far as its
// first bytes show.
func (s Store) Takes(begin []byte) bool { return mimeOf(begin) != "" }

// Put stores a picture or a document, which is on disk when Put returns. It fails with Invalid if
// the bytes are not a picture of a kind that providers accept, or are too many.
func (s Store) Put(name string, data []byte) (fika.Attachment, error) {
	a, err := describe(name, data)
	if err != nil {
		return a, err
	}
	path := s.path(a.SHA256)
	if old, err := os.ReadFile(path); err == nil && hashOf(old) == a.SHA256 {
		return a, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return a, fika.Wrap(fika.Storage, "store picture", err)
	}
	if err := renameio.WriteFile(path, data, 0o600); err != nil {
		return a, fika.Wrap(fika.Storage, "store picture", err)
	}
	for _, dir := range []string{filepath.Dir(path), s.Dir, filepath.Dir(s.Dir)} {
		if err := syncFolder(dir); err != nil {
			return a, fika.Wrap(fika.Storage, "store picture", err)
		}
	}
	return a, nil
}

// Read returns the bytes of a picture. It fails with NotFound when the file is gone
// and with Storage when it holds other bytes.
func (s Store) Read(a fika.Attachment) ([]byte, error) {
	if !isHash(a.SHA256) {
		return nil, fika.Errorf(fika.NotFound, "read picture", "%q is not a hash", a.SHA256)
	}
	data, err := os.ReadFile(s.path(a.SHA256))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fika.Errorf(fika.NotFound, "read picture", "%s is gone", s.path(a.SHA256))
	case err != nil:
		return nil, fika.Wrap(fika.Storage, "read picture", err)
	case hashOf(data) != a.SHA256:
		return nil, fika.Errorf(fika.Storage, "read picture", "%s is damaged", s.path(a.SHA256))
	}
	return data, nil
}

// CopyTo also stores the listed pictures in another store. It returns those whose
// files are missing here.
func (s Store) CopyTo(to Store, list []fika.Attachment) (missing []fika.Attachment, err error) {
	for _, a := range list {
		data, err := s.Read(a)
		if fika.IsKind(err, fika.NotFound) {
			missing = append(missing, a)
			continue
		}
		if err == nil {
			_, err = to.Put(a.Name, data)
		}
		if err != nil {
			return missing, err
		}
	}
	return missing, nil
}

func (s Store) path(hash string) string { return filepath.Join(s.Dir, hash[:2], hash) }

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func isHash(text string) bool {
	raw, err := hex.DecodeString(text)
	return err == nil && len(raw) == sha256.Size
}

func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
