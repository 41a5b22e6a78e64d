package web

import (
	"context"
	"net/http"
	"slices"

	"fika/internal/api"
)

// runs lists the runs of workflows.
func runs(ctx context.Context, to api.Service, r *http.Request, _ int64) (view, error) {
	list, err := to.Runs(ctx, api.Page{After: r.FormValue("after"), Limit: 50})
	x := view{Title: "Runs", Nav: "runs", Parts: []part{{"runs", "runs", list.Items}, {"next", "nextpage", list.Next}}}
	if r.FormValue("after") == "" {
		x.Live = "/live/runs"
	}
	return x, err
}

// runGraph is a run with its steps as a graph, in units of its picture.
type runGraph struct {
	api.RunInfo
	Steps         []api.RunStep
	Boxes         []box
	Lines         []joint
	Width, Height int
}

type box struct {
	api.RunStep
	X, Y int
}

type joint struct{ X1, Y1, X2, Y2, Mid int }

// The measures of the graph.
const (
	boxWidth, boxHeight = 150, 46
	gapX, gapY          = 46, 16
)

// run shows one run of a workflow as a graph with the states of its steps.
func run(ctx context.Context, to api.Service, r *http.Request, _ int64) (view, error) {
	info, steps, err := to.RunSteps(ctx, r.PathValue("id"))
	if err != nil {
		return view{}, err
	}
	g := graphOf(steps)
	g.RunInfo = info
	title := info.Title
	if title == "" {
		title = info.Name
	}
	return view{Title: title, Nav: "runs", Live: "/live/runs/" + pathOf(info.ID), Parts: []part{{"run", "run", g}}}, nil
}

// graphOf places each step in the column behind those that it needs.
func graphOf(steps []api.RunStep) runGraph {
	g := runGraph{Steps: steps}
	index := func(path string) int {
		return slices.IndexFunc(steps, func(s api.RunStep) bool { return s.Path == path })
	}
	column := make([]int, len(steps))
	for range steps { // a step is at most as many columns behind as there are steps
		changed := false
		for i, s := range steps {
			for _, need := range s.Needs {
				if n := index(need); n >= 0 && column[n] >= column[i] && column[n]+1 < len(steps)+1 {
					column[i], changed = column[n]+1, true
				}
			}
		}
		if !changed {
			break
		}
	}
	used := map[int]int{}
	for i, s := range steps {
		b := box{s, column[i] * (boxWidth + gapX), used[column[i]] * (boxHeight + gapY)}
		used[column[i]]++
		g.Boxes = append(g.Boxes, b)
		g.Width, g.Height = max(g.Width, b.X+boxWidth), max(g.Height, b.Y+boxHeight)
	}
	for i, s := range steps {
		for _, need := range s.Needs {
			if n := index(need); n >= 0 {
				from, to := g.Boxes[n], g.Boxes[i]
				l := joint{from.X + boxWidth, from.Y + boxHeight/2, to.X, to.Y + boxHeight/2, 0}
				l.Mid = (l.X1 + l.X2) / 2
				g.Lines = append(g.Lines, l)
			}
		}
	}
	return g
}
