// Package login keeps who is logged in to the page of a home, in files of its folder
// run/web: the command line makes codes there, and the hub takes them. Only hashes of
// codes and sessions are stored. Everything is decided by one operation on one file, so
// processes need no lock: a code is used by removing its file.
//
// It knows nothing of HTTP. Whoever may write the folder may log in: it belongs to the
// person alone (0700), and commands in a sandbox do not see it.
//
// Read first: [Dir], [Dir.NewCode], [Dir.Redeem].
package login

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/renameio/v2"

	"fika"
	"fika/internal/text/hint"
)

const (
	// CodeLife is how long a code can be used.
	CodeLife = time.Minute
	// SessionLife is how long a session lasts without being used.
	SessionLife = 7 * 24 * time.Hour
	// touchEvery bounds how often the use of a session is noted.
	touchEvery = time.Hour
)

// Dir is the folder run/web of a home. It may not exist yet. It is a value and may be
// copied.
type Dir struct {
	path string
	now  func() time.Time
}

// In returns the folder for logins in the folder run of a home.
func In(run string, now func() time.Time) Dir { return Dir{filepath.Join(run, "web"), now} }

// Place says where the page is. The host is a name that only this home has and that is
// kept secret: browsers send a cookie to every port of its host.
type Place struct {
	Host string `json:"host"` // fika-….localhost
	Port int    `json:"port"` // the last one; 0: none yet
	PID  int    `json:"pid"`  // of the hub that listens; 0: none does
	// Error is why the hub does not listen although it should.
	Error string `json:"error,omitempty"`
}

// Place returns where the page is, and chooses the host on first use. Error kinds:
// Storage, Invalid.
func (d Dir) Place() (Place, error) {
	var p Place
	data, err := os.ReadFile(d.file("place.json"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		p.Host = "fika-" + strings.ToLower(rand.Text()[:16]) + ".localhost"
		return p, d.SetPlace(p)
	case err != nil:
		return p, fika.Wrap(fika.Storage, "web", err)
	}
	if err := json.Unmarshal(data, &p); err != nil || p.Host == "" {
		return p, fika.Errorf(fika.Invalid, "web", "%s is damaged: delete it, and log in again with %s", d.file("place.json"), hint.Web)
	}
	return p, nil
}

// IsAt reports whether the page is, or was last, at an address of this machine.
func (d Dir) IsAt(a netip.AddrPort) bool {
	if !a.Addr().Unmap().IsLoopback() && !a.Addr().IsUnspecified() {
		return false
	}
	var p Place
	data, err := os.ReadFile(d.file("place.json"))
	return err == nil && json.Unmarshal(data, &p) == nil && p.Port == int(a.Port()) && p.Port != 0
}

// SetPlace stores where the page is.
func (d Dir) SetPlace(p Place) error {
	data, err := json.Marshal(p)
	if err == nil {
		err = d.write("place.json", data)
	}
	return fika.Wrap(fika.Storage, "web", err)
}

// Want asks the hub for the page, until [Dir.EndAll].
func (d Dir) Want() error { return fika.Wrap(fika.Storage, "web", d.write("wanted", nil)) }

// Wanted reports whether the page was asked for. It costs a stat.
func (d Dir) Wanted() bool {
	_, err := os.Stat(d.file("wanted"))
	return err == nil
}

// NewCode returns a code with which one browser can log in, once, for [CodeLife].
func (d Dir) NewCode() (string, error) {
	d.sweep("codes", CodeLife)
	return d.make("codes")
}

// Redeem uses a code up and returns the token of a new session. It returns Denied for a
// code that does not exist, was used, or is too old.
func (d Dir) Redeem(code string) (token string, err error) {
	file := d.file("codes", hashOf(code))
	info, err := os.Stat(file)
	if err == nil {
		err = os.Remove(file) // of several, one succeeds
	}
	if err != nil || d.now().Sub(info.ModTime()) > CodeLife {
		return "", fika.Errorf(fika.Denied, "log in", "this code was used or is too old")
	}
	d.sweep("sessions", SessionLife)
	return d.make("sessions")
}

// Valid reports whether a token is that of a session, and notes that it was used.
func (d Dir) Valid(token string) bool {
	if token == "" {
		return false
	}
	file := d.file("sessions", hashOf(token))
	info, err := os.Stat(file)
	if err != nil {
		return false
	}
	now, age := d.now(), d.now().Sub(info.ModTime())
	if age > touchEvery && age <= SessionLife {
		_ = os.Chtimes(file, now, now) // the session only ends sooner
	}
	return age <= SessionLife
}

// EndAll ends all sessions, makes all codes void, and asks for the page no more. It
// returns how many sessions there were.
func (d Dir) EndAll() (int, error) {
	sessions, err := os.ReadDir(d.file("sessions"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fika.Wrap(fika.Storage, "web", err)
	}
	for _, name := range []string{"wanted", "codes", "sessions"} {
		if err := os.RemoveAll(d.file(name)); err != nil {
			return 0, fika.Wrap(fika.Storage, "web", err)
		}
	}
	return len(sessions), nil
}

// make returns a new secret, and stores its hash as the name of a file.
func (d Dir) make(kind string) (string, error) {
	secret := rand.Text() + rand.Text()
	err := d.write(filepath.Join(kind, hashOf(secret)), nil)
	return secret, fika.Wrap(fika.Storage, "log in", err)
}

// sweep removes the files of a folder that have become useless.
func (d Dir) sweep(kind string, life time.Duration) {
	entries, _ := os.ReadDir(d.file(kind))
	for _, e := range entries {
		if info, err := e.Info(); err == nil && d.now().Sub(info.ModTime()) > life {
			_ = os.Remove(d.file(kind, e.Name()))
		}
	}
}

func (d Dir) file(elem ...string) string {
	return filepath.Join(append([]string{d.path}, elem...)...)
}

// write stores a file that only its owner can read, with the time of this Dir's clock.
func (d Dir) write(name string, data []byte) error {
	file := d.file(name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	if err := renameio.WriteFile(file, data, 0o600); err != nil {
		return err
	}
	return os.Chtimes(file, d.now(), d.now())
}

func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
