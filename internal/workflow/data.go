package workflow

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"fika"
)

func zeroTime() time.Time { return time.Time{} }

// inputs returns the inputs of a nested workflow, or of the run.
func (e *engine) inputs(scope *Row) map[string]any {
	if scope == nil {
		return e.Inputs
	}
	dec := json.NewDecoder(strings.NewReader(string(scope.Inputs)))
	dec.UseNumber()
	var in map[string]any
	if err := dec.Decode(&in); err != nil {
		e.fail(err)
	}
	return in
}

func (e *engine) fail(err error) {
	if e.err == nil && err != nil {
		e.err = fika.Wrap("", "advance run "+e.Run, err)
	}
}

// data returns the data that a text of a row reads, and the rows whose outputs are in
// it. It loads nothing that no ref asks for. An error fails the row; errors of the
// store end the plan.
func (e *engine) data(r *Row, refs []ref) (map[string]any, []string, error) {
	d := &dataBuilder{engine: e, row: r, steps: map[string]any{}}
	d.scope, d.def = e.scopeOf(r)
	out := map[string]any{"inputs": e.inputs(d.scope), "steps": d.steps}
	for _, ref := range refs {
		switch ref.path[0] {
		case "steps":
			d.addStep(ref.path)
		case "first":
			out["first"] = d.first()
		case "item", "index", "round", "last":
			d.position(out, ref.path[0])
		case "output":
			out["output"] = d.outputOf(r)
		}
	}
	slices.Sort(d.sources)
	return out, slices.Compact(d.sources), d.wrong
}

type dataBuilder struct {
	*engine
	row     *Row
	scope   *Row
	def     *Definition
	steps   map[string]any
	sources []string
	wrong   error // why something cannot be read now or later
}

func (d *dataBuilder) addStep(path []string) {
	ids := d.def.stepIDs()
	if len(path) > 1 {
		ids = path[1:2]
	}
	for _, id := range ids {
		r := d.stepRow(d.scope, id)
		if r == nil {
			continue
		}
		entry, _ := d.steps[id].(map[string]any)
		if entry == nil {
			entry = map[string]any{"state": string(r.State), "error": r.Error, "output": ""}
			d.steps[id] = entry
		}
		if d.def.Step(id).ForEach != "" && (len(path) < 3 || path[2] == "failed") {
			entry["failed"] = d.failedOf(r)
		}
		if len(path) < 3 || path[2] == "output" {
			entry["output"] = d.outputOf(r)
		}
	}
}

// maxItemError bounds what of an item's error is passed on, in bytes.
const maxItemError = 1000

// failedOf returns the items of a step that are not done, and why.
func (d *dataBuilder) failedOf(g *Row) []any {
	out := []any{}
	if d.err != nil || g.State != Failed || g.Count == 0 {
		return out
	}
	d.sources = append(d.sources, g.ID)
	items, err := d.list(g, d.stepOf(g))
	if d.wrong = cmp.Or(d.wrong, err); err != nil {
		return out
	}
	for i, o := range d.items(g) {
		if o.Error != "" && i < len(items) {
			why := strings.ToValidUTF8(o.Error[:min(len(o.Error), maxItemError)], "")
			out = append(out, map[string]any{"index": json.Number(strconv.Itoa(i)), "item": items[i], "error": why})
		}
	}
	return out
}

// first returns the step that was first among those of join = "any".
func (d *dataBuilder) first() map[string]any {
	r := d.stepRow(d.scope, d.row.First)
	if r == nil {
		return map[string]any{"step": "", "output": ""}
	}
	return map[string]any{"step": r.Step, "output": d.outputOf(r)}
}

// outputOf loads the output of a row.
func (d *dataBuilder) outputOf(r *Row) any {
	if d.err != nil {
		return nil
	}
	if r.Kind == KindEach {
		d.sources = append(d.sources, r.ID)
		list := []any{}
		for _, o := range d.items(r) {
			list = append(list, d.value(o))
		}
		return list
	}
	if r.From == "" {
		return ""
	}
	d.sources = append(d.sources, r.From)
	return d.value(d.stored(r.From))
}

// stored returns an output that is stored, or will be with this plan.
func (e *engine) stored(id string) Output {
	for _, o := range e.out.Outputs {
		if o.Row == id {
			return o.Output
		}
	}
	out, err := e.Outputs.Output(id)
	e.fail(err)
	return out
}

// items returns the outputs of all items of a group that is done or has failed. Those
// that end in this plan are not in the store yet.
func (d *dataBuilder) items(g *Row) []Output {
	if g.Count == 0 || g.State != Done && g.State != Failed {
		return nil
	}
	list, err := d.Outputs.Items(g.ID)
	if errors.Is(err, ErrTooMuch) {
		d.wrong = fmt.Errorf("what %s gave: %w", g.Step, err)
		return nil
	}
	d.fail(err)
	list = append(list, make([]Output, max(0, g.Count-len(list)))...)
	for _, r := range d.order {
		switch {
		case r.Parent != g.ID || !d.changed[r.ID] || !r.State.Ended():
		case r.State != Done:
			list[r.Index] = Output{Error: r.Why()}
		case r.From != "":
			list[r.Index] = d.stored(r.From)
		}
	}
	return list
}

func (d *dataBuilder) value(o Output) any {
	v, err := o.value()
	d.fail(err)
	return v
}

// position adds the item or round that a row belongs to.
func (d *dataBuilder) position(out map[string]any, name string) {
	for r := d.row; r != nil; r = d.rows[r.Parent] {
		parent := d.rows[r.Parent]
		if parent == nil || r != d.row && r.Kind == KindWorkflow {
			return
		}
		switch {
		case parent.Kind == KindRepeat && name == "round":
			out["round"] = json.Number(strconv.Itoa(r.Index))
		case parent.Kind == KindRepeat && name == "last":
			out["last"] = d.outputOf(parent)
		case parent.Kind == KindEach && name == "index":
			out["index"] = json.Number(strconv.Itoa(r.Index))
		case parent.Kind == KindEach && name == "item":
			list, err := d.list(parent, d.stepOf(parent))
			if d.wrong = cmp.Or(d.wrong, err); err == nil && r.Index < len(list) {
				out["item"] = list[r.Index]
			}
		}
	}
}

// list returns the list that a for_each goes through. Because the list depends on
// nothing that changes, it is worked out when needed, once per plan.
func (e *engine) list(r *Row, s *Step) ([]any, error) {
	if got, ok := e.Lists[r.ID]; ok {
		return got, nil
	}
	data, _, err := e.data(r, s.code.forEach.refs)
	if err = cmp.Or(e.err, err); err != nil {
		return nil, err
	}
	list, err := s.code.forEach.list(data)
	if err == nil {
		e.Lists[r.ID] = list
	}
	return list, err
}
