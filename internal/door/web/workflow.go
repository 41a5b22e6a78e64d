package web

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"fika/internal/api"
)

// inputField stands before the name of an input, in the name of its field.
const inputField = "in."

// workflows lists the definitions of which runs can be started.
func workflows(ctx context.Context, to api.Service, _ *http.Request, _ int64) (view, error) {
	list, err := to.Workflows(ctx)
	return view{Title: "Start a run", Nav: "runs", Parts: []part{{"workflows", "workflows", list}}}, err
}

// workflowForm is a definition with a field for each of its inputs.
type workflowForm struct {
	api.WorkflowInfo
	Agents []string
}

// startForm shows the form with which a run of one definition starts.
func startForm(ctx context.Context, to api.Service, r *http.Request, _ int64) (view, error) {
	x, err := workflowOf(ctx, to, r)
	if err != nil {
		return view{}, err
	}
	agents, err := to.Agents(ctx, api.Page{Limit: api.MaxPage})
	form := workflowForm{WorkflowInfo: x}
	for _, a := range agents.Items {
		form.Agents = append(form.Agents, a.Name)
	}
	return view{Title: "Start a run of " + x.Name, Nav: "runs", Parts: []part{{"workflow", "workflow", form}}}, err
}

// workflowOf returns the definition that a path names.
func workflowOf(ctx context.Context, to api.Service, r *http.Request) (api.WorkflowInfo, error) {
	list, err := to.Workflows(ctx)
	i := slices.IndexFunc(list, func(x api.WorkflowInfo) bool { return x.Name == r.PathValue("name") })
	if err == nil && i < 0 {
		err = &api.Error{Code: api.NotFound, Detail: "There is no workflow of that name."}
	}
	if err != nil {
		return api.WorkflowInfo{}, err
	}
	return list[i], nil
}

// startRun starts a run with the inputs of a form, and returns its id. An empty field of an
// input with a default leaves it at that.
func startRun(ctx context.Context, to api.Service, r *http.Request, w api.Write) (string, error) {
	x, err := workflowOf(ctx, to, r)
	if err != nil {
		return "", err
	}
	given := map[string]string{}
	for _, in := range x.Inputs {
		text := r.PostFormValue(inputField + in.Name)
		switch {
		case strings.TrimSpace(text) == "" && in.Default == nil:
			return "", &api.Error{Code: api.Invalid, Field: in.Name, Detail: "The input " + in.Name + " is missing."}
		case strings.TrimSpace(text) == "":
			continue
		case in.Type == "list":
			text = listOf(text)
		}
		given[in.Name] = text
	}
	return to.StartRun(ctx, x.Name, given, w)
}

// listOf returns the lines of a text as a JSON list; empty ones are left out.
func listOf(text string) string {
	list := []string{}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
	}
	out, _ := json.Marshal(list) // of strings it cannot fail
	return string(out)
}

// jsonValue returns a JSON value as a person reads it: a text without its quotes.
func jsonValue(v json.RawMessage) string {
	var text string
	if json.Unmarshal(v, &text) == nil {
		return text
	}
	return string(v)
}
