package store

import (
	"context"
	"encoding/json"

	"fika"
)

// rightsPending are the rights of all that waits for an agent in a conversation.
const rightsPending = `SELECT DISTINCT n.rights FROM notifications n
WHERE n.agent = ? AND n.conversation = ? AND n.state = 'pending' AND n.rights <> ''`

// rightsJSON is how rights are stored: all of them as an empty text.
func rightsJSON(op string, r *fika.Rights) (string, error) {
	if r == nil {
		return "", nil
	}
	return toJSON(op, r)
}

func readRights(text string) (*fika.Rights, error) {
	if text == "" {
		return nil, nil
	}
	r := &fika.Rights{}
	return r, json.Unmarshal([]byte(text), r)
}

func scanRights(s scanner) (*fika.Rights, error) {
	text, err := scanText(s)
	if err != nil {
		return nil, err
	}
	r, err := readRights(text)
	if err != nil {
		err = fika.Errorf(fika.Storage, "read notification", "its rights cannot be read: %v", err)
	}
	return r, err
}

// withinAll is what is within all of some rights: one turn that several have
// caused does nothing that one of them could not ask for.
func withinAll(list []*fika.Rights) *fika.Rights {
	var out *fika.Rights
	for _, r := range list {
		out = out.IntersectWith(r)
	}
	return out
}

// rightsRows are what a request may do and has read, as it goes on with its turn.
type rightsRows struct{ *tx }

func rightsIn(t *tx) rightsRows { return rightsRows{t} }

// taint notes on the request that its turn has read text from outside, for
// those who act for it without knowing what it has seen: commands of its tools.
func (t rightsRows) taint(ctx context.Context, r turn, s fika.Taint) error {
	if !s.Tainted() {
		return nil
	}
	return t.put(ctx, `UPDATE requests SET taint = ? WHERE id = ?`, s.From, r.id)
}

// passes notes on the request what its turn may cause others to do, for the
// commands of its tools, which ask for work themselves.
func (t rightsRows) passes(ctx context.Context, r turn, rights *fika.Rights) error {
	if rights == nil {
		return nil
	}
	text, err := rightsJSON("commit model step", rights)
	if err != nil {
		return err
	}
	return t.put(ctx, `UPDATE requests SET passes = ? WHERE id = ?`, text, r.id)
}
