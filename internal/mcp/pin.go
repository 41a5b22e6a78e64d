package mcp

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/renameio/v2"

	"fika"
)

// failureLife is how long a server that could not say what tools it has is left
// alone.
const failureLife = 10 * time.Minute

// Pin is what a server said of its tools when it was asked, which is what agents
// are told.
type Pin struct {
	At      time.Time // zero: it was never asked
	Says    string    // what it calls itself, with its version
	Tools   []Tool
	LeftOut []LeftOut

	Failure  string // of the last attempt to ask
	FailedAt time.Time
	// Now is what it said last where that is something else: a person has not
	// agreed to it yet.
	Now *Listing
}

// Listing is what a server says of its tools at one time.
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

// listing is what was pinned.
func (p Pin) listing() Listing { return Listing{Says: p.Says, Tools: p.Tools, LeftOut: p.LeftOut} }

// WasAsked reports whether the server has ever said what tools it has.
func (p Pin) WasAsked() bool { return !p.At.IsZero() }

// Pins are the files of what servers said, one each.
type Pins struct {
	Dir string
	Now func() time.Time
}

// Path is the file of a server.
func (p Pins) Path(server string) string { return filepath.Join(p.Dir, server+".tools") }

// Load reads what was kept of s. What is kept of a server that was started
// otherwise, or cannot be read, is nothing: it is asked again.
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

// NoteAgreed keeps a listing as what agents are told of s.
func (p Pins) NoteAgreed(s Server, l Listing) (Pin, error) {
	pin := Pin{At: p.Now(), Says: l.Says, Tools: l.Tools, LeftOut: l.LeftOut}
	return pin, p.save(s, pin)
}

// NoteDifferent notes that s says something else now.
func (p Pins) NoteDifferent(s Server, now Listing) error {
	pin := p.Load(s)
	if pin.Now != nil && len(pin.Now.Changes(now)) == 0 {
		return nil
	}
	pin.Now = &now
	return p.save(s, pin)
}

// NoteSame notes that s says again what was agreed to.
func (p Pins) NoteSame(s Server) error {
	pin := p.Load(s)
	if pin.Now == nil && pin.Failure == "" {
		return nil
	}
	pin.Now, pin.Failure, pin.FailedAt = nil, "", time.Time{}
	return p.save(s, pin)
}

// NoteFailure notes that s could not be asked.
func (p Pins) NoteFailure(s Server, why error) error {
	pin := p.Load(s)
	pin.Failure, pin.FailedAt = words(why), p.Now()
	return p.save(s, pin)
}

// Forget removes what is kept of a server; nothing is no error.
func (p Pins) Forget(server string) error {
	if err := os.Remove(p.Path(server)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fika.Wrap(fika.Storage, "forget mcp server", err)
	}
	return nil
}

// resting says why a server is not asked now; nil: it may be.
func (p Pins) resting(s Server, pin Pin) error {
	if pin.Failure == "" || p.Now().Sub(pin.FailedAt).Abs() >= failureLife {
		return nil
	}
	return fika.Errorf(fika.Failed, "mcp server "+s.Name, "left out because of what happened at %s: %s; \"fika mcp check %s\" tries it again",
		pin.FailedAt.Local().Format(time.TimeOnly), pin.Failure, s.Name)
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

// ChangesAgainst lists what is different in what a server says now.
func (p Pin) ChangesAgainst(now Listing) []Change { return p.listing().Changes(now) }

// Changes are what a server says otherwise than it was agreed to, as far as that
// is known.
func (p Pin) Changes() []Change {
	if p.Now == nil {
		return nil
	}
	return p.listing().Changes(*p.Now)
}
