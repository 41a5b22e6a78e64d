package learn

import (
	"encoding/json"
	"slices"
	"time"

	"fika"
	"fika/internal/text/diff"
)

// Proposal is a change that waits for a person's decision.
type Proposal struct {
	Target Target    `json:"target"`
	File   string    `json:"file"` // path of the file it would write
	Base   string    `json:"base"` // hash of the file when it was proposed; empty: no file
	Before string    `json:"before"`
	After  string    `json:"after"`
	Why    string    `json:"why"`
	Model  string    `json:"model"`
	Cases  int       `json:"cases"` // how many were read for it
	MadeAt time.Time `json:"made_at"`
	Upto   Position  `json:"upto"`
}

// Diff returns what the proposal changes, line by line.
func (p Proposal) Diff() []string { return diff.Lines([]byte(p.Before), []byte(p.After)) }

// Position is how far an agent's outcomes have been learnt from: up to a moment, and
// which requests that ended at that very moment are included.
type Position struct {
	At   time.Time        `json:"at"`
	Ends []fika.RequestID `json:"ends,omitempty"` // that ended at that moment
}

// Covers reports whether a request that ended at that time has been learnt from.
func (p Position) Covers(id fika.RequestID, ended time.Time) bool {
	return ended.Before(p.At) || ended.Equal(p.At) && slices.Contains(p.Ends, id)
}

// With returns the position after one more request.
func (p Position) With(id fika.RequestID, ended time.Time) Position {
	switch {
	case ended.After(p.At):
		return Position{At: ended, Ends: []fika.RequestID{id}}
	case ended.Equal(p.At) && !slices.Contains(p.Ends, id):
		return Position{At: p.At, Ends: append(slices.Clip(p.Ends), id)}
	}
	return p
}

// State is what is stored about an agent's learning. The position does not move while
// a proposal waits.
type State struct {
	Position Position  `json:"position"`
	Proposal *Proposal `json:"proposal"`
}

// ReadState reads what [State.Encode] wrote; empty data is the zero state. Error kind:
// Invalid.
func ReadState(data []byte, file string) (State, error) {
	var s State
	if len(data) == 0 {
		return s, nil
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fika.Errorf(fika.Invalid, "", "%s cannot be read: %v; move it away to begin again", file, err)
	}
	return s, nil
}

// Encode returns the state in its stored form.
func (s State) Encode() ([]byte, error) {
	data, err := json.MarshalIndent(s, "", "  ")
	return append(data, '\n'), err
}

// Settled returns the state after a person has decided.
func (s State) Settled() State {
	if s.Proposal != nil {
		s.Position, s.Proposal = s.Proposal.Upto, nil
	}
	return s
}
