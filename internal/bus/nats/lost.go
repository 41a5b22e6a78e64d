package nats

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/renameio/v2"

	"fika"
	"fika/internal/text/hint"
)

// LostRequest is a request of another program that was accepted and disappeared from the
// stream before it became a row.
type LostRequest struct {
	Key      string         `json:"key"`
	Agent    fika.AgentName `json:"agent"`
	ID       string         `json:"id"` // empty if not known
	Accepted time.Time      `json:"accepted"`
	Found    time.Time      `json:"found"` // when it was noticed
}

func lostPath(runDir string) string { return filepath.Join(runDir, "lost-requests") }

// LostRequests lists the requests of runDir that were lost and that nobody has
// acknowledged yet, oldest first. A damaged line counts as a request of which nothing is
// known. Error kind: Storage.
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

// AcknowledgeLost forgets the lost requests of runDir, because a person knows of them.
func AcknowledgeLost(runDir string) error {
	err := os.Remove(lostPath(runDir))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return fika.Wrap(fika.Storage, "acknowledge lost requests", err)
}

// noteLost adds l to the lost requests of runDir, durably, unless it is already there.
func noteLost(runDir string, l LostRequest) error {
	have, err := LostRequests(runDir)
	if err != nil || slices.ContainsFunc(have, func(h LostRequest) bool { return h.Key == l.Key }) {
		return err
	}
	return writeLost(runDir, append(have, l))
}

// noteFound removes a request from the lost ones, because it was sent again.
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

const namedLost = 5 // lost requests that a warning names

// lostWarnings says how many requests were lost, since when, which ones, and what helps.
// It returns nothing when there are none.
func lostWarnings(runDir string) []string {
	list, err := LostRequests(runDir)
	if err != nil {
		return []string{"which accepted requests of other programs were lost cannot be read: " + err.Error()}
	}
	if len(list) == 0 {
		return nil
	}
	since, unknown := list[0].Found, 0
	var named []string
	for _, l := range list {
		if l.Found.Before(since) && !l.Found.IsZero() {
			since = l.Found
		}
		if l.ID == "" {
			unknown++
		} else {
			named = append(named, l.ID+" (@"+string(l.Agent)+")")
		}
	}
	which := strings.Join(named[:min(len(named), namedLost)], ", ")
	if more := len(named) - namedLost; more > 0 {
		which += fmt.Sprintf(" and %d more", more)
	}
	if unknown > 0 {
		which = strings.TrimPrefix(fmt.Sprintf("%s and %d whose id is not known", which, unknown), " and ")
	}
	return []string{fmt.Sprintf(lostBegins+"%s of other programs, accepted and then gone because the files of the stream were damaged, noticed %s: %s (the senders were told; "+
		"sending one again with the same id is safe and takes it off this list; %s: you know of them; all are in %s)",
		countedRequests(len(list)), since.Local().Format("2006-01-02 15:04"), which, hint.DoctorFix, lostPath(runDir))}
}

// IsLostWarning reports whether w, one of [DamageWarnings], is about lost requests, which
// [AcknowledgeLost] clears.
func IsLostWarning(w string) bool { return strings.HasPrefix(w, lostBegins) }

const lostBegins = "LOST: "

func countedRequests(n int) string {
	if n == 1 {
		return "1 request"
	}
	return fmt.Sprintf("%d requests", n)
}
