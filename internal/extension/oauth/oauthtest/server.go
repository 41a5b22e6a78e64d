package oauthtest

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// Behaviour is how a [Server] differs from one that does all it should.
type Behaviour struct {
	Life       time.Duration // of an access token; 0: an hour
	NoRefresh  bool          // gives no refresh tokens
	Refuse     string        // error of every login, such as access_denied
	WrongState bool          // the browser first comes back with another state
	NoMetadata bool          // answers 404 for all metadata
	Bare       bool          // a 401 says nothing more
	TokenURL   string        // in the metadata, in place of its own
	Resource   string        // in the metadata, in place of its own
	Huge       bool          // metadata of many megabytes
	RefreshBad string        // error of every renewal
	Scope      string        // that calls need, and nobody has
	// Before is called before a renewal changes anything, After before it is answered.
	Before, After func()
}

// Server is an MCP server at /mcp, and the authorization server for it.
type Server struct {
	*httptest.Server
	mcp http.Handler

	mu      sync.Mutex
	do      Behaviour
	clients map[string][]string // redirect URIs by client id
	codes   map[string]url.Values
	access  map[string]time.Time // when they end
	refresh string               // the only one that is good
	old     []string             // refresh tokens that were used
	faults  []string
	given   []string // all tokens and codes ever given
	renewed int
}

// New starts a server before the given one; the caller closes it.
func New(mcp http.Handler) *Server {
	s := &Server{mcp: mcp, clients: map[string][]string{}, codes: map[string]url.Values{}, access: map[string]time.Time{}}
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", s.serveMCP)
	mux.HandleFunc("GET /.well-known/oauth-protected-resource/mcp", s.resourceMetadata)
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", s.serverMetadata)
	mux.HandleFunc("POST /register", s.register)
	mux.HandleFunc("GET /authorize", s.authorize)
	mux.HandleFunc("POST /token", s.token)
	s.Server = httptest.NewServer(mux)
	return s
}

// Behave changes how the server behaves.
func (s *Server) Behave(change func(*Behaviour)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.do)
}

// Register makes the server know a client that it did not register itself.
func (s *Server) Register(id string, redirects ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients[id] = redirects
}

// Expire ends all access tokens.
func (s *Server) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.access = map[string]time.Time{}
}

// MCP is the address of the MCP server.
func (s *Server) MCP() string { return s.URL + "/mcp" }

// Faults returns what was wrong with requests so far.
func (s *Server) Faults() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.faults)
}

// Given returns all secrets that the server has ever given.
func (s *Server) Given() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.given)
}

// Renewed returns how often the login was renewed.
func (s *Server) Renewed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.renewed
}

func (s *Server) behaviour() Behaviour {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.do
}

// secret returns a new secret. The caller holds mu.
func (s *Server) secret(kind string) string {
	text := kind + "-" + rand.Text()
	s.given = append(s.given, text)
	return text
}

func (s *Server) serveMCP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	do := s.do
	ends, known := s.access[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	s.mu.Unlock()
	switch {
	case !known || time.Now().After(ends):
		if !do.Bare {
			w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer error="invalid_token", resource_metadata=%q`, s.URL+"/.well-known/oauth-protected-resource/mcp"))
		}
		w.WriteHeader(http.StatusUnauthorized)
	case do.Scope != "":
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer error="insufficient_scope", scope=%q`, do.Scope))
		w.WriteHeader(http.StatusForbidden)
	default:
		s.mcp.ServeHTTP(w, r)
	}
}

func (s *Server) resourceMetadata(w http.ResponseWriter, _ *http.Request) {
	do := s.behaviour()
	resource := s.MCP()
	if do.Resource != "" {
		resource = do.Resource
	}
	s.metadata(w, do, map[string]any{"resource": resource, "authorization_servers": []string{s.URL}, "scopes_supported": []string{"tools"}})
}

func (s *Server) serverMetadata(w http.ResponseWriter, _ *http.Request) {
	do := s.behaviour()
	tokens := s.URL + "/token"
	if do.TokenURL != "" {
		tokens = do.TokenURL
	}
	s.metadata(w, do, map[string]any{
		"issuer": s.URL, "authorization_endpoint": s.URL + "/authorize", "token_endpoint": tokens, "registration_endpoint": s.URL + "/register",
		"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none"},
	})
}

func (s *Server) metadata(w http.ResponseWriter, do Behaviour, fields map[string]any) {
	if do.NoMetadata {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if do.Huge {
		fields["service_documentation"] = s.URL + "/" + strings.Repeat("x", 8<<20)
	}
	answer(w, http.StatusOK, fields)
}

func (s *Server) register(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Redirects []string `json:"redirect_uris"`
		Method    string   `json:"token_endpoint_auth_method"`
		Grants    []string `json:"grant_types"`
	}
	err := json.NewDecoder(r.Body).Decode(&asked)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || len(asked.Redirects) == 0 || asked.Method != "none" || !slices.Contains(asked.Grants, "refresh_token") {
		s.fault(w, "invalid_client_metadata", "registration: %+v", asked)
		return
	}
	id := "client-" + rand.Text()
	s.clients[id] = asked.Redirects
	answer(w, http.StatusCreated, map[string]any{"client_id": id, "redirect_uris": asked.Redirects, "token_endpoint_auth_method": "none"})
}

// fault notes what was wrong with a request, and refuses it. The caller holds mu.
func (s *Server) fault(w http.ResponseWriter, code, format string, args ...any) {
	s.faults = append(s.faults, fmt.Sprintf(format, args...))
	answer(w, http.StatusBadRequest, map[string]any{"error": code, "error_description": "not so"})
}

func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	s.mu.Lock()
	defer s.mu.Unlock()
	redirects, known := s.clients[q.Get("client_id")]
	back, err := url.Parse(q.Get("redirect_uri"))
	switch {
	case !known || err != nil || !slices.Contains(redirects, q.Get("redirect_uri")):
		s.fault(w, "invalid_request", "redirect_uri of the login: %v", q)
		return
	case q.Get("response_type") != "code", q.Get("code_challenge_method") != "S256", len(q.Get("code_challenge")) != 43, q.Get("state") == "", q.Get("resource") != s.MCP():
		s.fault(w, "invalid_request", "login: %v", q)
		return
	}
	a := url.Values{"state": {q.Get("state")}}
	if s.do.Refuse != "" {
		a.Set("error", s.do.Refuse)
		a.Set("error_description", "the person said no")
	} else {
		code := s.secret("code")
		s.codes[code] = q
		a.Set("code", code)
	}
	if s.do.WrongState {
		a.Set("state", "of-somebody-else")
	}
	back.RawQuery = a.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	do := s.behaviour()
	renewal := r.PostForm.Get("grant_type") == "refresh_token"
	if renewal && do.Before != nil {
		do.Before()
	}
	s.mu.Lock()
	given := s.exchange(w, r.PostForm, renewal)
	s.mu.Unlock()
	if given == nil {
		return
	}
	if renewal && do.After != nil {
		do.After()
	}
	answer(w, http.StatusOK, given)
}

// exchange gives tokens, or nil if it has refused the request. The caller holds mu.
func (s *Server) exchange(w http.ResponseWriter, f url.Values, renewal bool) map[string]any {
	if _, known := s.clients[f.Get("client_id")]; !known || f.Get("resource") != s.MCP() {
		s.fault(w, "invalid_client", "client or resource of a token: %v", f)
		return nil
	}
	if renewal {
		switch used := f.Get("refresh_token"); {
		case s.do.RefreshBad != "":
			answer(w, http.StatusBadRequest, map[string]any{"error": s.do.RefreshBad, "error_description": "ended; you sent " + used})
			return nil
		case used == "" || used != s.refresh:
			if slices.Contains(s.old, used) {
				s.refresh, s.access = "", map[string]time.Time{} // it may have been stolen
			}
			s.fault(w, "invalid_grant", "refresh token %q", used)
			return nil
		}
		s.old = append(s.old, s.refresh)
		s.renewed++
	} else if !s.redeem(f) {
		s.fault(w, "invalid_grant", "code: %v", f)
		return nil
	}
	life := s.do.Life
	if life == 0 {
		life = time.Hour
	}
	access := s.secret("access")
	s.access[access] = time.Now().Add(life)
	out := map[string]any{"access_token": access, "token_type": "Bearer", "expires_in": int(life.Seconds())}
	if !s.do.NoRefresh {
		s.refresh = s.secret("refresh")
		out["refresh_token"] = s.refresh
	}
	return out
}

// redeem takes a code, once. The caller holds mu.
func (s *Server) redeem(f url.Values) bool {
	asked, ok := s.codes[f.Get("code")]
	delete(s.codes, f.Get("code"))
	sum := sha256.Sum256([]byte(f.Get("code_verifier")))
	proof := base64.RawURLEncoding.EncodeToString(sum[:])
	return ok && f.Get("grant_type") == "authorization_code" && asked.Get("client_id") == f.Get("client_id") && asked.Get("redirect_uri") == f.Get("redirect_uri") &&
		subtle.ConstantTimeCompare([]byte(proof), []byte(asked.Get("code_challenge"))) == 1
}

func answer(w http.ResponseWriter, status int, fields map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(fields)
}
