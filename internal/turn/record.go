package turn

import (
	"context"
	"encoding/json"

	"fika"
)

// record is what is kept of a model call besides its entries, so that later calls can
// repeat it byte for byte: providers cache a conversation by its beginning, and sign
// reasoning together with everything before it. It is stored as the blob of the call's
// step.
type record struct {
	Model   string          `json:"model,omitempty"`
	State   string          `json:"state,omitempty"`   // shown to the model right before this answer
	Message json.RawMessage `json:"message,omitempty"` // as the provider made it, reasoning included
	// Rejected is what the model was told about an answer that was not in the form asked
	// for.
	Rejected string `json:"rejected,omitempty"`
}

// cleared is shown when there was a state and no longer is one.
const cleared = "(Goals, todos and notes are empty now, and no colleague is busy or stopped.)"

// readRecord parses a stored blob; a blob that is not a record counts as empty.
func readRecord(blob json.RawMessage) record {
	var r record
	_ = json.Unmarshal(blob, &r)
	return r
}

func (r record) isZero() bool {
	return r.Model == "" && r.State == "" && r.Message == nil && r.Rejected == ""
}

// blob returns the record as it is stored; nil when there is nothing to keep.
func (r record) blob() json.RawMessage {
	if len(r.Message) > 0 && !json.Valid(r.Message) {
		r.Message = nil
	}
	if r.State == "" && len(r.Message) == 0 && r.Rejected == "" {
		return nil
	}
	raw, err := json.Marshal(r)
	if err != nil {
		return nil
	}
	return raw
}

// records holds the records of the model calls that a window shows, by the entry that
// each call produced.
type records struct {
	*assignment
	history History
	byEntry map[fika.EntryID]record
	// rejected counts the answers of this request that were not in the form asked for.
	rejected int
	looked   map[fika.EntryID]bool // entries whose records have been looked for
}

func newRecords(a *assignment, h History) *records {
	return &records{assignment: a, history: h, byEntry: map[fika.EntryID]record{}, looked: map[fika.EntryID]bool{}}
}

// restore takes over the records of earlier attempts.
func (r *records) restore(steps []fika.Step) {
	for _, s := range steps {
		if s.Kind != fika.ModelStep {
			continue
		}
		one := readRecord(s.Blob)
		if r.byEntry[s.Entry] = one; one.Rejected != "" {
			r.rejected++
		}
	}
}

// readEarlier reads the records of earlier turns in the window, each once: in a chat
// those of this agent's turns, elsewhere all of them.
func (r *records) readEarlier(ctx context.Context, entries []fika.Entry) error {
	var answers []fika.Entry
	for _, e := range entries {
		if e.Request == "" || e.Type == fika.ToolResult || r.inChat() && e.From != string(r.claimed.Agent.Name) || r.looked[e.ID] {
			continue
		}
		r.looked[e.ID] = true
		answers = append(answers, e)
	}
	if len(answers) == 0 {
		return nil
	}
	return r.retry.readAgain(ctx, func(ctx context.Context) error {
		return readRecords(ctx, r.history, answers, r.byEntry)
	})
}

// recordKeeper is a history that remembers records, so that they need not be parsed in
// every turn.
type recordKeeper interface {
	readRecords(ctx context.Context, entries []fika.Entry, into map[fika.EntryID]record) error
}

// readRecords adds to into the records of the entries that have one.
func readRecords(ctx context.Context, h History, entries []fika.Entry, into map[fika.EntryID]record) error {
	if k, ok := h.(recordKeeper); ok {
		return k.readRecords(ctx, entries, into)
	}
	blobs, err := h.Blobs(ctx, entries)
	for id, blob := range blobs {
		into[id] = readRecord(blob)
	}
	return err
}

// RejectedAnswers returns what the model was told about answers that were not in the
// form asked for, in the order of the steps.
func RejectedAnswers(steps []fika.Step) []string {
	var out []string
	for _, s := range steps {
		if s.Kind != fika.ModelStep {
			continue
		}
		if why := readRecord(s.Blob).Rejected; why != "" {
			out = append(out, why)
		}
	}
	return out
}
