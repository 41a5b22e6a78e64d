package web

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"fika/internal/api"
)

// aliveTime bounds how long /healthz waits for the database.
const aliveTime = 5 * time.Second

// programs returns what programs reach: each door with a token, and whether the home is
// alive without one.
func (s *site) programs() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", s.healthz)
	mux.HandleFunc("GET /metrics", s.program(api.DoorMetrics, metrics))
	mux.HandleFunc("/mcp", s.program(api.DoorMCP, s.mcp))
	return mux
}

// anyOpen reports whether a door for programs is open.
func (s *site) anyOpen() bool {
	if s.Open == nil {
		return false
	}
	for _, d := range api.TokenDoors() {
		if s.Open(d) {
			return true
		}
	}
	return false
}

// program lets in whoever shows a token that counts at a door, if that is open. Others are
// told nothing.
func (s *site) program(door api.Door, answer func(http.ResponseWriter, *http.Request, api.Service)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !s.Open(door) {
			http.NotFound(w, r)
			return
		}
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if !strings.EqualFold(scheme, "Bearer") || token == "" {
			unauthorized(w)
			return
		}
		caller, err := s.Program(r.Context(), strings.TrimSpace(token), door)
		if err != nil {
			refuse(w, err)
			return
		}
		answer(w, r, caller)
	}
}

func unauthorized(w http.ResponseWriter) {
	w.Header().Set("WWW-Authenticate", `Bearer realm="fika"`)
	http.Error(w, "show a token of fika web token create: Authorization: Bearer TOKEN", http.StatusUnauthorized)
}

// refuse answers with the status of an error, and nothing else about it.
func refuse(w http.ResponseWriter, err error) {
	var e *api.Error
	if errors.As(err, &e) && (e.Code == api.Denied || e.Code == api.Unauthenticated) {
		unauthorized(w)
		return
	}
	http.Error(w, "the database does not answer", http.StatusServiceUnavailable)
}

// healthz says whether the home can work, and nothing else.
func (s *site) healthz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), aliveTime)
	defer cancel()
	if err := s.Alive(ctx); err != nil {
		http.Error(w, "the database does not answer", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("ok\n")) // a client that has left misses it
}

// metrics writes all figures in the text format of Prometheus.
func metrics(w http.ResponseWriter, r *http.Request, caller api.Service) {
	list, err := caller.Metrics(r.Context())
	if err != nil {
		refuse(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write(exposition(list)) // a client that has left misses it
}

// mcpTime is how long an answer may take: a call waits for at most 45 seconds.
const mcpTime = 2 * time.Minute

// mcp answers a program that speaks the Model Context Protocol.
func (s *site) mcp(w http.ResponseWriter, r *http.Request, caller api.Service) {
	if s.MCP == nil {
		http.NotFound(w, r)
		return
	}
	answer := http.NewResponseController(w)
	_ = answer.SetReadDeadline(time.Now().Add(mcpTime))  // else the connection ends sooner
	_ = answer.SetWriteDeadline(time.Now().Add(mcpTime)) // likewise
	s.MCP(caller).ServeHTTP(w, r)
}

// exposition returns metrics in the text format of Prometheus, version 0.0.4. A metric
// without a value is left out.
func exposition(list []api.Metric) []byte {
	var b bytes.Buffer
	for _, m := range list {
		if len(m.Samples) == 0 {
			continue
		}
		kind := "gauge"
		if m.Counter {
			kind = "counter"
		}
		b.WriteString("# HELP " + m.Name + " " + escaped(m.Help) + "\n# TYPE " + m.Name + " " + kind + "\n")
		for _, s := range m.Samples {
			b.WriteString(m.Name)
			separator := "{"
			for _, label := range [][2]string{{"agent", s.Agent}, {"model", s.Model}, {"tool", s.Tool}, {"outcome", s.Outcome}, {"engine", s.Engine}} {
				if label[1] != "" {
					b.WriteString(separator + label[0] + `="` + escaped(label[1]) + `"`)
					separator = ","
				}
			}
			if separator == "," {
				b.WriteString("}")
			}
			b.WriteString(" " + strconv.FormatFloat(s.Value, 'f', -1, 64) + "\n")
		}
	}
	return b.Bytes()
}

// escaped returns a text as it stands between quotes in the text format.
func escaped(text string) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`).Replace(text)
}
