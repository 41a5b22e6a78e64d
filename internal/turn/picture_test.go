package turn

import (
	"fmt"
	"strings"
	"testing"

	"fika"
)

// TestPictures: a model is shown the newest pictures of its window, whichever turn they
// came in, and reads a line about those that are too old or gone; all count in the
// window.
func TestPictures(t *testing.T) {
	var entries []fika.Entry
	for i := range maxPictures + 2 {
		a := fika.Attachment{SHA256: fmt.Sprint(i), MIME: "image/png", Name: fmt.Sprintf("p%d.png", i), Width: 750, Height: 200}
		entries = append(entries, fika.Entry{ID: fika.EntryID(fmt.Sprint(i)), Type: fika.Message, Meta: fika.EntryMeta{Attachments: []fika.Attachment{a}}})
	}
	c := composer{picture: func(a fika.Attachment) ([]byte, error) {
		if a.Name == "p3.png" {
			return nil, fika.Errorf(fika.NotFound, "", "it is gone")
		}
		return []byte(a.Name), nil
	}}
	got := c.loadPictures(entries)
	for i, e := range entries {
		p := got[e.ID]
		switch {
		case i < 2:
			if len(p.shown) != 0 || !strings.Contains(p.notes, "not shown any more") {
				t.Errorf("%d: %+v", i, p)
			}
		case i == 3:
			if len(p.shown) != 0 || !strings.Contains(p.notes, "p3.png cannot be shown: it is gone") {
				t.Errorf("%d: %+v", i, p)
			}
		case len(p.shown) != 1 || string(p.shown[0].Data) != e.Meta.Attachments[0].Name || p.notes != "":
			t.Errorf("%d: %+v", i, p)
		}
	}
	if n := EstimateEntry(entries[0]) - EstimateEntry(fika.Entry{}); n != 200 {
		t.Errorf("it counts %d tokens", n)
	}
	if len((&composer{}).loadPictures(entries)) != 0 {
		t.Error("a model that takes none is shown some")
	}
	entries[0].Type = fika.ToolResult
	if got := (&composer{}).loadPictures(entries); len(got) != 1 || got["0"].notes != "\n[this model is shown no pictures]" || got["0"].shown != nil {
		t.Errorf("of a result: %+v", got)
	}
}
