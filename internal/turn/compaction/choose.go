package compaction

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"fika"
	"fika/internal/llm"
	"fika/internal/turn"
)

const (
	excerpt   = 300 // bytes of each entry that the model sees when it chooses
	maxAnswer = 1 << 20
)

const chooseSystem = `You look after the memory of an assistant. Its conversation has become too long: a part of it will be replaced by a summary. Name what may go: what is settled, superseded, or of no use for the goals and todos. Keep what the work at hand still needs word for word.
Answer with one JSON array of the numbers in brackets, for example [3, 4, 7], and nothing else.`

// askChoice asks the model which units may go. The answer is only a wish: numbers that
// make no sense are ignored, and naming none is not an error.
func (c *Compactor) askChoice(ctx context.Context, units []Unit, notes notes, target int) (map[int]bool, fika.Usage, error) {
	var b strings.Builder
	notes.writeNotes(&b, true)
	b.WriteString("The conversation, oldest first:\n\n")
	budget := c.cfg.Window / 2
	known := map[string]int{}
	for i, u := range units[:len(units)-1] {
		if u.Keep {
			continue
		}
		part := numberedListing(u)
		if budget -= turn.EstimateTokens(part); budget < 0 {
			break
		}
		b.WriteString(part)
		for _, e := range u.Entries {
			known[strconv.FormatInt(e.Seq, 10)] = i
			known[string(e.ID)] = i
		}
	}
	if len(known) == 0 {
		return nil, fika.Usage{}, nil
	}
	fmt.Fprintf(&b, "\nName about %d of them.", target)
	resp, err := c.cfg.Model.Generate(ctx, llm.Request{
		System: chooseSystem, Messages: []llm.Message{{Role: llm.User, Text: b.String()}},
	}, ignoreEvent)
	if err != nil {
		return nil, fika.Usage{}, err
	}
	chosen := map[int]bool{}
	for _, id := range ParseChoice(resp.Text) {
		if i, ok := known[id]; ok {
			chosen[i] = true
		}
	}
	return chosen, resp.Usage, nil
}

func ignoreEvent(llm.Event) error { return nil }

// numberedListing lists a unit, each entry under its number.
func numberedListing(u Unit) string {
	var b strings.Builder
	for _, e := range u.Entries {
		fmt.Fprintf(&b, "[%d] %s: %s\n", e.Seq, speakerOf(e), oneLine(clipBytes(e.Content, excerpt)))
	}
	return b.String()
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// ParseChoice returns the numbers or ids that a model named, wherever in its answer they
// are: the largest JSON array of scalars (or of objects with an id or seq) counts. If
// there is none, it returns none.
func ParseChoice(answer string) []string {
	text := []byte(answer[:min(len(answer), maxAnswer)])
	var best []string
	for tries := 0; tries < 1000; tries++ {
		at := bytes.IndexByte(text, '[')
		if at < 0 {
			break
		}
		text = text[at:]
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber()
		var list []any
		if dec.Decode(&list) != nil {
			text = text[1:]
			continue
		}
		if ids := idsOf(list); len(ids) > len(best) {
			best = ids
		}
		if len(best) >= len(list) {
			text = text[dec.InputOffset():]
		} else {
			text = text[1:] // an array inside this one may still do
		}
	}
	return best
}

func idsOf(list []any) []string {
	var ids []string
	for _, v := range list {
		if obj, ok := v.(map[string]any); ok {
			if v = obj["seq"]; v == nil {
				v = obj["id"]
			}
		}
		switch v := v.(type) {
		case json.Number:
			ids = append(ids, v.String())
		case string:
			ids = append(ids, strings.Trim(strings.TrimSpace(v), "[]#"))
		}
	}
	return ids
}
