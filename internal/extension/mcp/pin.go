package mcp

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/renameio/v2"

	"fika"
	"fika/internal/text/hint"
)

// failureLife is how long a server that could not list its tools is left alone.
const failureLife = 10 * time.Minute

// Pin is what a server said about its tools when it was asked; agents are told this.
type Pin struct {
	At      time.Time // zero: it was never asked
	Says    string    // name and version of the server, in its own words
	Tools   []Tool
	LeftOut []LeftOut

	Failure    string // of the last attempt to ask
	FailedAt   time.Time
	NeedsLogin bool // a person's login mends that
	// Now is the server's latest answer if it differs: a person has not agreed to it yet.
	Now *Listing
}

// Listing is what a server says about its tools at one time.
type Listing struct {
	Says    string    `json:"says,omitempty"`
	Tools   []Tool    `json:"tools"`
	LeftOut []LeftOut `json:"left_out,omitempty"`
}

// LeftOut is a tool that is not offered.
type LeftOut struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

// listing returns what was pinned.
func (p Pin) listing() Listing { return Listing{Says: p.Says, Tools: p.Tools, LeftOut: p.LeftOut} }

// WasAsked reports whether the server has ever listed its tools.
func (p Pin) WasAsked() bool { return !p.At.IsZero() }

// Pins are the files that hold what servers said, one file per server.
type Pins struct {
	Dir string
	Now func() time.Time
}

// Path returns the file of a server.
func (p Pins) Path(server string) string { return filepath.Join(p.Dir, server+".tools") }

// Load reads what was kept of s. It returns an empty Pin if the file cannot be read or
// the server was started differently then: such a server is asked again.
func (p Pins) Load(s Server) Pin {
	raw, err := os.ReadFile(p.Path(s.Name))
	if err != nil {
		return Pin{}
	}
	pin, ok := decodePin(raw, s.identity())
	if !ok {
		return Pin{}
	}
	return pin
}

// NoteAgreed stores a listing as what agents are told about s. Error kind: Storage.
func (p Pins) NoteAgreed(s Server, l Listing) (Pin, error) {
	pin := Pin{At: p.Now(), Says: l.Says, Tools: l.Tools, LeftOut: l.LeftOut}
	return pin, p.save(s, pin)
}

// NoteDifferent notes that s now gives a different answer. Error kind: Storage.
func (p Pins) NoteDifferent(s Server, now Listing) error {
	pin := p.Load(s)
	if pin.Now != nil && len(pin.Now.Changes(now)) == 0 {
		return nil
	}
	pin.Now = &now
	return p.save(s, pin)
}

// NoteSame notes that s still says what was agreed to. Error kind: Storage.
func (p Pins) NoteSame(s Server) error {
	pin := p.Load(s)
	if pin.Now == nil && pin.Failure == "" {
		return nil
	}
	pin.Now, pin.Failure, pin.FailedAt, pin.NeedsLogin = nil, "", time.Time{}, false
	return p.save(s, pin)
}

// NoteFailure notes that s could not be asked. Error kind: Storage.
func (p Pins) NoteFailure(s Server, why error) error {
	pin := p.Load(s)
	pin.Failure, pin.FailedAt, pin.NeedsLogin = words(why), p.Now(), NeedsLogin(why)
	return p.save(s, pin)
}

// Forget removes what is kept of a server. It is no error if nothing is kept. Error kind:
// Storage.
func (p Pins) Forget(server string) error {
	if err := os.Remove(p.Path(server)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fika.Wrap(fika.Storage, "forget mcp server", err)
	}
	return nil
}

// resting returns an error that says why a server is not asked now, or nil if it may be.
func (p Pins) resting(s Server, pin Pin) error {
	if pin.Failure == "" || p.Now().Sub(pin.FailedAt).Abs() >= failureLife {
		return nil
	}
	return fika.Errorf(fika.Failed, "mcp server "+s.Name, "left out because of what happened at %s: %s; \"%s\" tries it again",
		pin.FailedAt.Local().Format(time.TimeOnly), pin.Failure, hint.MCPCheck.With(s.Name))
}

func (p Pins) save(s Server, pin Pin) error {
	raw, err := encodePin(pin, s.identity())
	if err == nil {
		err = os.MkdirAll(p.Dir, 0o700)
	}
	if err == nil {
		err = renameio.WriteFile(p.Path(s.Name), raw, 0o600)
	}
	return fika.Wrap(fika.Storage, "keep the tools of "+s.Name, err)
}

// ChangesAgainst lists the differences between the pin and what a server says now.
func (p Pin) ChangesAgainst(now Listing) []Change { return p.listing().Changes(now) }

// Changes lists the known differences between what was agreed to and what the server says
// now.
func (p Pin) Changes() []Change {
	if p.Now == nil {
		return nil
	}
	return p.listing().Changes(*p.Now)
}
