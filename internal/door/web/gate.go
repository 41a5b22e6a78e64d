package web

import (
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"fika/internal/api"
)

// cookieName is the name of the cookie with a session's token.
const cookieName = "fika"

// site answers the requests of one server.
type site struct {
	Options
	hosts   []string // that browsers may have sent a request to
	local   []string // that programs may have
	streams atomic.Int64
	views   *views
}

func newSite(o Options, port int) *site {
	s := &site{Options: o, views: newViews(o.Now)}
	s.hosts = []string{net.JoinHostPort(o.Host, strconv.Itoa(port))}
	if port == 80 {
		s.hosts = append(s.hosts, o.Host)
	}
	for _, name := range []string{"127.0.0.1", "localhost", "::1"} {
		s.local = append(s.local, net.JoinHostPort(name, strconv.Itoa(port)))
	}
	return s
}

// handler returns the whole site, behind its gates.
func (s *site) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /style.css", s.asset("style.css", "text/css; charset=utf-8"))
	mux.HandleFunc("GET /page.js", s.asset("page.js", "text/javascript; charset=utf-8"))
	mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("POST /login", s.login)
	s.pages(mux)
	s.actions(mux)
	foreign := http.NewCrossOriginProtection()
	return s.here(foreign.Handler(mux), foreign.Handler(s.programs()))
}

// here refuses whatever was not sent to a name of this listener, before anything else
// looks at it, and sets what holds for every answer. Browsers and programs use different
// names: no cookie is sent to those of programs, and the page is not at them.
func (s *site) here(page, programs http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next := page
		switch {
		case sentTo(s.hosts, r.Host):
		case s.anyOpen() && sentTo(s.local, r.Host):
			next = programs
		default:
			http.Error(w, "this is not a name of this server", http.StatusForbidden)
			return
		}
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime))
		most := int64(maxBody)
		if hasFiles(r) && sentTo(s.hosts, r.Host) && s.loggedIn(r) {
			most = maxFiles
		}
		r.Body = http.MaxBytesReader(w, r.Body, most)
		next.ServeHTTP(w, r)
	})
}

// hasFiles reports whether a request is a form that may have files in it.
func hasFiles(r *http.Request) bool {
	return strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/form-data")
}

func sentTo(names []string, host string) bool {
	for _, h := range names {
		if strings.EqualFold(host, h) {
			return true
		}
	}
	return false
}

// person returns the service of whoever is logged in.
func (s *site) person(r *http.Request) (api.Service, bool) {
	if !s.loggedIn(r) {
		return nil, false
	}
	return s.Person(), true
}

func (s *site) loggedIn(r *http.Request) bool {
	c, err := r.Cookie(cookieName)
	return err == nil && s.Logins.Valid(c.Value)
}

// login turns a code into a session.
func (s *site) login(w http.ResponseWriter, r *http.Request) {
	token, err := s.Logins.Redeem(r.PostFormValue("code"))
	if err != nil {
		http.Error(w, "This code was used or is too old. Run fika web again.", http.StatusUnauthorized)
		return
	}
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, MaxAge: int((7 * 24 * time.Hour).Seconds())})
	w.WriteHeader(http.StatusNoContent)
}

// asset returns a file of the page. It says nothing about anybody, and needs no session.
func (s *site) asset(name, kind string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		data, err := files.ReadFile("asset/" + name)
		if err != nil {
			http.NotFound(w, nil)
			return
		}
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Cache-Control", "no-cache")
		_, _ = w.Write(data) // a client that has left misses it
	}
}
