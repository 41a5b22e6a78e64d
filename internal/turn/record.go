package turn

import (
	"context"
	"encoding/json"
	"slices"

	"fika"
	"fika/internal/tool"
	"fika/internal/turn/prompt"
)

// record is what is kept of a model call besides its entries, so that later calls can
// repeat it byte for byte: providers cache a conversation by its beginning, and sign
// reasoning together with everything before it. It is stored as the blob of the call's
// step.
type record struct {
	Model string `json:"model,omitempty"`
	State string `json:"state,omitempty"` // shown to the model right before this answer, as older versions kept it
	// Told are the sections that the model was shown right before this answer. Began are
	// the changing sections of the system text that the call had, kept where the window
	// did not say so already.
	Told  []prompt.Section `json:"told,omitempty"`
	Began []prompt.Section `json:"began,omitempty"`
	// Upto is the seq at which the window of a turn in a chat ended, and Asked the message
	// that the turn answered, where it is shown otherwise than any other: as a task, or with
	// Replaced, which a hook made of it. The first answer of a turn has them.
	Upto     int64        `json:"upto,omitempty"`
	Asked    fika.EntryID `json:"asked,omitempty"`
	Replaced string       `json:"replaced,omitempty"`
	// Found are the deferred tools that the call was offered.
	Found   []string        `json:"found,omitempty"`
	Message json.RawMessage `json:"message,omitempty"` // as the provider made it, reasoning included
	// Rejected is what the model was told about an answer that was not in the form asked
	// for.
	Rejected string `json:"rejected,omitempty"`
}

// readRecord parses a stored blob; a blob that is not a record counts as empty.
func readRecord(blob json.RawMessage) record {
	var r record
	_ = json.Unmarshal(blob, &r)
	return r
}

func (r record) isZero() bool { return r.Model == "" && r.State == "" && r.isBare() }

// isBare reports whether there is nothing to keep but which model answered.
func (r record) isBare() bool {
	return len(r.Told)+len(r.Began)+len(r.Found)+len(r.Message) == 0 && r.Upto == 0 && r.Asked == "" && r.Rejected == ""
}

// blob returns the record as it is stored; nil when there is nothing to keep.
func (r record) blob() json.RawMessage {
	if len(r.Message) > 0 && !json.Valid(r.Message) {
		r.Message = nil
	}
	if r.isBare() {
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
func (r *records) readEarlier(ctx context.Context, entries []*fika.Entry) error {
	var answers []*fika.Entry
	inChat, name := r.inChat(), string(r.claimed.Agent.Name)
	for _, e := range entries {
		if e.Request == "" || e.Type == fika.ToolResult || inChat && e.From != name || r.looked[e.ID] {
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

// began returns the changing sections of the system text that a conversation began with,
// as the newest of its answers in a window knows them; nil: none does.
func (r *records) began(entries []fika.Entry) []prompt.Section {
	for _, e := range slices.Backward(entries) {
		if b := r.byEntry[e.ID].Began; b != nil {
			return b
		}
	}
	return nil
}

// found returns the deferred tools that searches in a window have found, in their order:
// those that the newest answer was offered, and those of the results of searches.
func (r *records) found(entries []fika.Entry) []string {
	var names []string
	for _, e := range slices.Backward(entries) {
		if f := r.byEntry[e.ID].Found; f != nil {
			names = f
			break
		}
	}
	for _, e := range entries {
		if e.Type == fika.ToolResult && e.From == tool.SearchName && !e.Meta.IsError {
			names = append(names[:len(names):len(names)], tool.FoundNames(e.Content)...)
		}
	}
	return names
}

// recordKeeper is a history that remembers records, so that they need not be parsed in
// every turn.
type recordKeeper interface {
	readRecords(ctx context.Context, entries []*fika.Entry, into map[fika.EntryID]record) error
}

// readRecords adds to into the records of the entries that have one.
func readRecords(ctx context.Context, h History, entries []*fika.Entry, into map[fika.EntryID]record) error {
	if k, ok := h.(recordKeeper); ok {
		return k.readRecords(ctx, entries, into)
	}
	blobs, err := h.Blobs(ctx, valuesOf(entries))
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
