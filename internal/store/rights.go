package store

import (
	"context"
	"encoding/json"

	"fika"
)

// rightsPending selects the rights of all notifications that wait for an agent in a
// conversation.
const rightsPending = `SELECT DISTINCT n.rights FROM notifications n
WHERE n.agent = ? AND n.conversation = ? AND n.state = 'pending' AND n.rights <> ''`

// rightsJSON returns rights as they are stored: nil, no bound, is the empty text.
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

// withinAll returns the intersection of some rights: a turn with several causes does
// nothing that any one of them could not ask for.
func withinAll(list []*fika.Rights) *fika.Rights {
	var out *fika.Rights
	for _, r := range list {
		out = out.IntersectWith(r)
	}
	return out
}

// rightsRows writes what a request may do and what its turn has read, as the turn
// goes on.
type rightsRows struct{ *tx }

func rightsIn(t *tx) rightsRows { return rightsRows{t} }

// taint records on the request that its turn has read text from outside, for the
// commands of its tools, which act for it without knowing what it has seen.
func (t rightsRows) taint(ctx context.Context, r turn, s fika.Taint) error {
	if !s.Tainted() {
		return nil
	}
	return t.put(ctx, `UPDATE requests SET taint = ? WHERE id = ?`, s.From, r.id)
}

// passes records on the request what its turn may cause others to do, for the
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
