package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"fika/internal/api"
)

// maxKey bounds the key of a write, in bytes.
const maxKey = 128

// action changes something, and returns what the person reads of it.
type action func(ctx context.Context, to api.Service, r *http.Request, w api.Write) (string, error)

// actions routes what changes something. Each is a POST with the key of its write in a
// header, which no page of another origin can set: sent again, it takes effect once.
func (s *site) actions(mux *http.ServeMux) {
	for path, do := range map[string]action{
		"/approvals/{number}":      answer,
		"/requests/{id}/retry":     retry,
		"/requests/{id}/cancel":    cancel,
		"/chats/{name}/{verb}":     control,
		"/everything/{verb}":       control,
		"/chats/{name}/messages":   say,
		"/board":                   addTask,
		"/board/{number}/{verb}":   changeTask,
		"/landing/apply":           apply,
		"/landing/{number}/{verb}": changeOffer,
		"/runs/{id}/{verb}":        leadRun,
		"/workflows/{name}/run":    startRun,
		"/budgets":                 setBudget,
		"/agents/{name}/ask":       askAgent,
		"/agents/{name}/start":     startAgent,
		"/agents/{name}/stop":      stopAgent,
	} {
		mux.HandleFunc("POST "+path, s.act(do))
	}
}

func (s *site) act(do action) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		to, ok := s.person(r)
		if !ok {
			http.Error(w, "You are not logged in any more. Run fika web.", http.StatusUnauthorized)
			return
		}
		key := r.Header.Get("Idempotency-Key")
		if key == "" || len(key) > maxKey {
			http.Error(w, "the key of this write is missing or too long", http.StatusBadRequest)
			return
		}
		if err := parse(r); err != nil {
			http.Error(w, sentence(err), statusOf(err))
			return
		}
		text, err := do(r.Context(), to, r, api.Write{Key: key})
		if err != nil {
			http.Error(w, sentence(err), statusOf(err))
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte(text)) // a client that has left misses it
	}
}

// parse reads the form of a request.
func parse(r *http.Request) error {
	err := r.ParseForm()
	if hasFiles(r) && err == nil {
		err = r.ParseMultipartForm(maxFiles)
	}
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return &api.Error{Code: api.TooLarge, Detail: fmt.Sprintf("That is too large: a form may have %d MB.", large.Limit>>20)}
	case err != nil:
		return &api.Error{Code: api.Invalid, Detail: "This form cannot be read."}
	}
	return nil
}

// filesIn returns the files of a form.
func filesIn(r *http.Request) (out []api.File, err error) {
	if r.MultipartForm == nil {
		return nil, nil
	}
	for _, h := range r.MultipartForm.File["file"] {
		f, err := h.Open()
		if err != nil {
			return nil, &api.Error{Code: api.Invalid, Field: "file", Detail: h.Filename + " cannot be read."}
		}
		data, err := io.ReadAll(f)
		_ = f.Close() // it was only read
		if err != nil {
			return nil, &api.Error{Code: api.Invalid, Field: "file", Detail: h.Filename + " cannot be read."}
		}
		out = append(out, api.File{Name: h.Filename, Data: data})
	}
	return out, nil
}

func answer(ctx context.Context, to api.Service, r *http.Request, w api.Write) (string, error) {
	n, err := strconv.ParseInt(r.PathValue("number"), 10, 64)
	if err != nil {
		return "", &api.Error{Code: api.Invalid, Field: "number", Detail: "That is not the number of an approval."}
	}
	a := api.Answer{Allow: r.PostFormValue("answer") == "approve", Why: r.PostFormValue("why")}
	if !a.Allow && r.PostFormValue("answer") != "deny" {
		return "", &api.Error{Code: api.Invalid, Field: "answer", Detail: "The answer is approve or deny."}
	}
	if err := to.Answer(ctx, n, a, w); err != nil {
		return "", err
	}
	if a.Allow {
		return "Approved.", nil
	}
	return "Denied.", nil
}

func retry(ctx context.Context, to api.Service, r *http.Request, w api.Write) (string, error) {
	_, err := to.Retry(ctx, r.PathValue("id"), w)
	return "Retried.", err
}

func cancel(ctx context.Context, to api.Service, r *http.Request, w api.Write) (string, error) {
	return "Cancelled.", to.Cancel(ctx, r.PathValue("id"), r.PostFormValue("why"), w)
}

// control pauses, resumes, stops or continues a conversation, or all.
func control(ctx context.Context, to api.Service, r *http.Request, w api.Write) (string, error) {
	for _, v := range [...]struct {
		verb, done string
		do         func(api.Service, context.Context, string, api.Write) error
		all        bool
	}{
		{"pause", "Paused: running steps finish, nothing new begins.", api.Service.Pause, true},
		{"resume", "Resumed.", api.Service.Resume, true},
		{"stop", "Stopped: what waited is dropped, what runs ends.", api.Service.Stop, false},
		{"continue", "Continued.", api.Service.Continue, false},
	} {
		name := r.PathValue("name")
		if v.verb == r.PathValue("verb") && (name != "" || v.all) {
			return v.done, v.do(to, ctx, name, w)
		}
	}
	return "", &api.Error{Code: api.NotFound}
}

// say posts a message with its files; with a name in to, it is for that agent.
func say(ctx context.Context, to api.Service, r *http.Request, w api.Write) (string, error) {
	text := r.PostFormValue("text")
	if name := r.PostFormValue("to"); name != "" {
		text = "@" + name + " " + text
	}
	files, err := filesIn(r)
	if err != nil {
		return "", err
	}
	_, err = to.Send(ctx, api.Message{Conversation: r.PathValue("name"), Text: text, Files: files}, w)
	return "", err
}

// leadRun does one of the things that a person can do to a run.
func leadRun(ctx context.Context, to api.Service, r *http.Request, w api.Write) (string, error) {
	id := r.PathValue("id")
	switch r.PathValue("verb") {
	case "resume":
		return "Retried.", to.ResumeRun(ctx, id, r.PostFormValue("from"), w)
	case "pause":
		return "Paused: running steps finish, nothing new begins.", to.PauseRun(ctx, id, w)
	case "continue":
		return "Continued.", to.ContinueRun(ctx, id, w)
	case "cancel":
		return "Cancelled.", to.CancelRun(ctx, id, r.PostFormValue("why"), w)
	}
	return "", &api.Error{Code: api.NotFound}
}
