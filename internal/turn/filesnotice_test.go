package turn_test

import (
	"context"
	"strings"
	"testing"

	"fika"
	"fika/internal/llm"
	"fika/internal/store"
	"fika/internal/tool"
	"fika/internal/turn"
)

// TestFilesNotice: a turn that goes on where files are missing is told so once, after the
// results of the calls that were open, and no later turn is.
func TestFilesNotice(t *testing.T) {
	w := newWorld(t)
	var rec store.Recovery
	w.add("work", fika.Unsafe, func(context.Context, tool.Call) (tool.Result, error) {
		w.takeOver()
		var err error
		rec, err = w.store.Recover(t.Context(), w.lease)
		w.ok(err)
		return tool.Result{Text: "done"}, nil
	})
	asked := 0
	var told []string
	w.model.answer = func(_ context.Context, _ int, r llm.Request) (llm.Response, error) {
		if asked++; asked == 1 {
			return calls(call("c1", "work", "{}")), nil
		}
		if err := valid(r.Messages); err != nil {
			t.Errorf("the model is asked with an invalid window: %v", err)
		}
		told = append(told, "")
		for _, m := range r.Messages {
			if strings.Contains(m.Text, "is not here") {
				told[len(told)-1] += m.Text
			}
		}
		return text("the end"), nil
	}
	if _, err := turn.New(w.config()).Run(t.Context(), w.ask("go")); !fika.IsKind(err, fika.Lost) {
		t.Fatalf("its owner lives: %v", err)
	}
	_, err := w.store.TellFiles(t.Context(), rec.Claimed[0].Fence, "what bash did is not here")
	w.ok(err)
	w.run(rec.Claimed[0])
	w.run(w.ask("and now?"))
	if len(told) != 2 || told[0] != "(what bash did is not here)" || told[1] != "" {
		t.Errorf("the model is told %q", told)
	}
}
