package nats

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/renameio/v2"

	"fika"
)

// LostRequest is a request of another program that was accepted, and was gone
// from the stream before it became a row.
type LostRequest struct {
	Key      string         `json:"key"`
	Agent    fika.AgentName `json:"agent"`
	ID       string         `json:"id"` // empty: not known
	Accepted time.Time      `json:"accepted"`
	Found    time.Time      `json:"found"` // when it was noticed
}

func lostPath(runDir string) string { return filepath.Join(runDir, "lost-requests") }

// LostRequests lists the requests of runDir that were lost and that nobody has
// acknowledged yet, oldest first. A damaged line counts as one of which nothing
// is known. Error kind: Storage.
func LostRequests(runDir string) ([]LostRequest, error) {
	data, err := os.ReadFile(lostPath(runDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fika.Wrap(fika.Storage, "read lost requests", err)
	}
	var out []LostRequest
	for line := range bytes.Lines(data) {
		var l LostRequest
		_ = parseChecked(line, &l)
		out = append(out, l)
	}
	return out, nil
}

// AcknowledgeLost forgets the lost requests of runDir: a person knows of them.
func AcknowledgeLost(runDir string) error {
	err := os.Remove(lostPath(runDir))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return fika.Wrap(fika.Storage, "acknowledge lost requests", err)
}

// noteLost adds to the lost requests of runDir, durably. One that is noted
// already is noted once.
func noteLost(runDir string, l LostRequest) error {
	have, err := LostRequests(runDir)
	if err != nil || slices.ContainsFunc(have, func(h LostRequest) bool { return h.Key == l.Key }) {
		return err
	}
	return writeLost(runDir, append(have, l))
}

// noteFound takes a request out of the lost ones: it was sent again.
func noteFound(runDir string, agent fika.AgentName, id string) error {
	have, err := LostRequests(runDir)
	if err != nil || id == "" {
		return err
	}
	left := slices.DeleteFunc(slices.Clone(have), func(l LostRequest) bool { return l.ID == id && l.Agent == agent })
	switch len(left) {
	case len(have):
		return nil
	case 0:
		return AcknowledgeLost(runDir)
	}
	return writeLost(runDir, left)
}

func writeLost(runDir string, list []LostRequest) error {
	var lines []byte
	for _, l := range list {
		lines = append(lines, checkedLine(l)...)
	}
	if err := renameio.WriteFile(lostPath(runDir), lines, 0o600); err != nil {
		return fika.Wrap(fika.Storage, "note lost requests", err)
	}
	return syncFolder(runDir)
}
