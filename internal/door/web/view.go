package web

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"time"

	"fika/internal/api"
)

//go:embed asset
var files embed.FS

// view is what a page shows: parts, each an element with an id, made from a template.
type view struct {
	Title string
	Nav   string // the entry of the menu that it belongs to
	Live  string // where its changes come from; empty: it does not change
	Class string // of the body: wide, home
	Parts []part
	Log   *chatLog // of a chat; nil: none
	scope api.Scope
	// every is the least time between two updates; 0: [updateTime].
	every time.Duration
}

// part is a part of a page.
type part struct {
	ID   string
	Name string // of its template
	Data any
}

// loader reads what a page shows, in the name of whoever asks; of a chat, the entries
// behind a seq, or the last ones if that is negative.
type loader func(ctx context.Context, to api.Service, r *http.Request, from int64) (view, error)

// views turns views into HTML. It is safe for concurrent use.
type views struct{ templates *template.Template }

func newViews(now func() time.Time) *views {
	f := formats{now}
	v := &views{template.New("")}
	v.templates.Funcs(template.FuncMap{
		"time": f.moment, "clock": f.clock, "markdown": f.markdown, "exact": exact, "line": line, "say": f.say, "brief": f.brief,
		"count": count, "money": money, "read": read, "written": written, "cost": cost, "args": arguments, "short": short, "took": took, "path": pathOf, "flat": flat, "plural": plural, "next": func(n int) int { return n + 1 }, "len64": func(n int) int64 { return int64(n) }, "menu": menu,
		"priorities": priorities, "needed": needed, "act": newAct, "isrun": isRun, "jsontext": jsonValue,
		"part": func(p part) (template.HTML, error) {
			html, err := v.part(p)
			return template.HTML(html), err
		},
	})
	template.Must(v.templates.ParseFS(files, "asset/*.html"))
	return v
}

// entry is an entry of the menu.
type entry struct{ Name, Title, Path string }

func menu() []entry {
	return []entry{{"chats", "Chats", "/chats"}, {"board", "Board", "/board"}, {"landing", "Landing", "/landing"}, {"agents", "Agents", "/agents"}, {"runs", "Runs", "/runs"}, {"money", "Money", "/money"}, {"search", "Search", "/search"}}
}

// page returns a whole page.
func (v *views) page(x view) ([]byte, error) { return v.render("page", x) }

// part returns one part of a page: an element with its id.
func (v *views) part(p part) ([]byte, error) {
	html, err := v.render(p.Name, p.Data)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, `<section id="%s" class="part">%s</section>`, p.ID, html), nil
}

func (v *views) render(name string, data any) ([]byte, error) {
	var b bytes.Buffer
	err := v.templates.ExecuteTemplate(&b, name, data)
	return b.Bytes(), err
}

// pages routes the pages and the streams of their changes.
func (s *site) pages(mux *http.ServeMux) {
	for path, load := range map[string]loader{
		"/{$}":                    home,
		"/chats":                  chats,
		"/chats/{name}":           chat,
		"/chats/{name}/why/{seq}": why,
		"/board":                  board,
		"/board/{number}":         task,
		"/landing":                landings,
		"/landing/{number}":       offer,
		"/agents":                 agents,
		"/agents/{name}":          agent,
		"/workflows":              workflows,
		"/workflows/{name}":       startForm,
		"/runs":                   runs,
		"/runs/{id}":              run,
		"/trace/{id}":             trace,
		"/search":                 search,
		"/money":                  spending,
	} {
		mux.HandleFunc("GET "+path, s.show(load))
		mux.HandleFunc("GET /live"+path, s.live(load))
	}
	mux.HandleFunc("GET /chats/{name}/older", s.older)
	mux.HandleFunc("GET /chats/{name}/entries/{seq}", s.whole)
}

// show answers with a page, or with the one that asks for a login.
func (s *site) show(load loader) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		to, ok := s.person(r)
		if !ok {
			s.write(w, http.StatusUnauthorized, func() ([]byte, error) { return s.views.render("login", nil) })
			return
		}
		x, err := load(r.Context(), to, r, -1)
		if err != nil {
			status := statusOf(err)
			if status == http.StatusServiceUnavailable { // the browser looks again by itself
				w.Header().Set("Refresh", "5")
			}
			s.write(w, status, func() ([]byte, error) {
				return s.views.render("page", view{Title: "Error", Parts: []part{{"error", "error", sentence(err)}}})
			})
			return
		}
		s.write(w, http.StatusOK, func() ([]byte, error) { return s.views.page(x) })
	}
}

func (s *site) write(w http.ResponseWriter, status int, render func() ([]byte, error)) {
	body, err := render()
	if err != nil {
		s.Log.Warn("page", "err", err)
		http.Error(w, "the page cannot be shown; the hub's log says why", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that has left misses it
}
