package folder

import (
	"context"

	"fika"
)

// rendering is the content of the mirror of a source when it has the entries of each
// conversation up to a seq.
type rendering struct {
	source EntrySource
	heads  []AskHead
	active fika.ConversationID // the conversation whose window is in context.jsonl
	upto   map[fika.ConversationID]int64
}

// wholeRendering returns the rendering of everything that the source has.
func wholeRendering(ctx context.Context, source EntrySource) (rendering, error) {
	heads, err := source.Asks(ctx)
	r := rendering{source: source, heads: heads, active: activeOf(heads), upto: make(map[fika.ConversationID]int64, len(heads))}
	for _, h := range heads {
		r.upto[h.ID] = h.LastSeq
	}
	return r, err
}

// activeOf returns the active conversation; "" if there is none.
func activeOf(heads []AskHead) (id fika.ConversationID) {
	for _, h := range heads {
		if h.Active {
			id = h.ID
		}
	}
	return id
}

// eachPiece calls do for the pieces of a mirror file, in order: each entry that belongs
// there, with its bytes.
func (r rendering) eachPiece(ctx context.Context, name string, do func(e fika.Entry, piece []byte) error) error {
	for _, h := range r.heads {
		belongs := func(int64) bool { return name != contextName }
		if name != transcriptName && h.ID == r.active {
			in, err := windowRule(ctx, r.source, h.ID, r.upto[h.ID])
			if err != nil {
				return err
			}
			belongs = func(seq int64) bool { return in(seq) == (name == contextName) }
		} else if name == contextName {
			continue
		}
		err := eachEntry(ctx, r.source, h.ID, 0, r.upto[h.ID], func(e fika.Entry) error {
			if !belongs(e.Seq) {
				return nil
			}
			piece, err := pieceOf(name, e)
			if err != nil {
				return err
			}
			return do(e, piece)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// pieceOf returns an entry as a mirror file contains it.
func pieceOf(name string, e fika.Entry) ([]byte, error) {
	if name == transcriptName {
		return renderEntry(e), nil
	}
	return entryLine(e)
}

// eachEntry calls do for the entries of one conversation with since < seq <= upto.
func eachEntry(ctx context.Context, src EntrySource, c fika.ConversationID, since, upto int64, do func(fika.Entry) error) error {
	for since < upto {
		entries, err := src.EntriesAfter(ctx, c, since, page)
		if err != nil || len(entries) == 0 {
			return err
		}
		for _, e := range entries {
			if e.Seq > upto {
				return nil
			}
			if err := do(e); err != nil {
				return err
			}
			since = e.Seq
		}
	}
	return nil
}

// windowRule returns the rule for which seqs of a conversation are in the window at seq
// upto.
func windowRule(ctx context.Context, src EntrySource, c fika.ConversationID, upto int64) (func(int64) bool, error) {
	compactions, err := src.Compactions(ctx, c, upto)
	return inWindow(compactions), err
}
