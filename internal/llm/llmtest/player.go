package llmtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// player answers one request from a script.
type player struct {
	server *Server
	rec    *Record
	w      http.ResponseWriter
	gone   <-chan struct{}
	speech speech

	begun  bool
	noDone bool
	open   bool
	stop   string
}

// speech is one wire format; every string it returns is ready to send.
type speech interface {
	begin() string
	text(chunk string) string
	reasoning(chunk string) string
	call(id, name string, pieces []string) []string
	whole(text string, calls []ToolCall) []string
	refusal(words string) string
	usage(a Action)
	end(reason string, done bool) string
	trouble(kind, message string) string
}

func (p *player) play(script Script) {
	if p.rec.Wire == OpenAI {
		p.speech = &openAISpeech{model: p.rec.Model}
	} else {
		p.speech = &anthropicSpeech{model: p.rec.Model}
	}
	for _, a := range script {
		if !p.act(a) {
			return
		}
	}
	p.start()
	p.send(p.speech.end(p.stop, !p.noDone && !p.open))
	if p.open {
		p.hang()
	}
}

// act performs one action; it returns false when the answer is over.
func (p *player) act(a Action) bool {
	switch a.kind {
	case actStatus:
		p.status(a)
		return false
	case actWait:
		return p.wait(a.wait)
	case actDelay:
		return p.pause(a.delay)
	case actUsage:
		p.speech.usage(a)
		return true
	case actStop:
		p.stop = a.name
		return true
	case actNoDone:
		p.noDone = true
		return true
	case actOpen:
		p.open = true
		return true
	}
	p.start()
	switch a.kind {
	case actStall:
		p.hang()
		return false
	case actCut:
		p.cut()
		return false
	case actError:
		p.send(p.speech.trouble(a.name, a.text[0]))
		return false
	case actRefusal:
		p.stop = "refusal"
		return p.send(p.speech.refusal(a.text[0]))
	}
	return p.stream(a)
}

// stream performs the actions that send something and continue.
func (p *player) stream(a Action) bool {
	var out []string
	switch a.kind {
	case actText:
		for _, chunk := range a.text {
			out = append(out, p.speech.text(chunk))
		}
	case actReasoning:
		for _, chunk := range a.text {
			out = append(out, p.speech.reasoning(chunk))
		}
	case actCall:
		out = p.speech.call(a.id, a.name, a.text)
	case actWhole:
		out = p.speech.whole(a.text[0], a.calls)
	case actRaw:
		out = a.text
	case actComment:
		out = []string{": " + a.text[0] + "\n\n"}
	}
	for _, s := range out {
		if !p.send(s) {
			return false
		}
	}
	return true
}

func (p *player) start() {
	if p.begun {
		return
	}
	p.begun = true
	p.w.Header().Set("Content-Type", "text/event-stream")
	p.w.Header().Set("Cache-Control", "no-cache")
	p.w.WriteHeader(http.StatusOK)
	p.send(p.speech.begin())
}

func (p *player) send(s string) bool {
	if s == "" {
		return true
	}
	leaving := time.Now()
	_, err := io.WriteString(p.w, s)
	if f, ok := p.w.(http.Flusher); ok {
		f.Flush()
	}
	now := time.Now()
	p.server.update(func() {
		if p.rec.First.IsZero() {
			p.rec.First = now
		}
		p.rec.Leaving, p.rec.Last, p.rec.Gone = leaving, now, p.rec.Gone || err != nil
	})
	return err == nil
}

func (p *player) status(a Action) {
	p.w.Header().Set("Content-Type", "application/json")
	if a.delay > 0 {
		p.w.Header().Set("Retry-After-Ms", fmt.Sprint(a.delay.Milliseconds()))
		p.w.Header().Set("Retry-After", fmt.Sprint(int64((a.delay+time.Second-1)/time.Second)))
	}
	p.w.WriteHeader(a.status)
	raw, _ := json.Marshal(map[string]any{"type": "error", "error": map[string]any{"type": "error", "message": a.text[0]}})
	p.send(string(raw))
}

func (p *player) wait(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	case <-p.gone:
		p.server.update(func() { p.rec.Gone = true })
	case <-p.server.ctx.Done():
	}
	return false
}

func (p *player) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-p.gone:
		p.server.update(func() { p.rec.Gone = true })
	case <-p.server.ctx.Done():
	}
	return false
}

func (p *player) hang() { p.wait(nil) }

// cut closes the connection without ending the answer.
func (p *player) cut() {
	if conn, _, err := http.NewResponseController(p.w).Hijack(); err == nil {
		conn.Close()
	}
}
