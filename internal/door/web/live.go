package web

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"fika/internal/api"
)

const (
	// updateTime is how long changes are collected before they are shown.
	updateTime = 250 * time.Millisecond
	// lookTime is how often a view is read again although no event says that it has
	// changed, because processes come and go without one.
	lookTime = 5 * time.Second
	// beatTime is how often a stream gives a sign of life. The script calls a page stale
	// that has had none for three seconds.
	beatTime = time.Second
	// maxStreams is how many streams the server keeps open: a browser opens six
	// connections to one host at most, so with more pages than that the others ask again
	// and again (pollTime).
	maxStreams = 4
	pollTime   = 2 * time.Second
	textTime   = 100 * time.Millisecond
)

// live streams the changes of a view: each part that has changed, whole.
func (s *site) live(load loader) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		to, ok := s.person(r)
		if !ok {
			http.Error(w, "log in", http.StatusUnauthorized)
			return
		}
		from, err := strconv.ParseInt(cmp.Or(r.FormValue("after"), "-1"), 10, 64)
		if err != nil {
			http.Error(w, "after is the seq of an entry", http.StatusBadRequest)
			return
		}
		x, err := load(r.Context(), to, r, from)
		if err != nil {
			http.Error(w, sentence(err), statusOf(err))
			return
		}
		defer s.streams.Add(-1)
		many := s.streams.Add(1) > maxStreams
		l := liveView{site: s, to: to, r: r, load: load, out: newOutput(w), sent: map[string]uint64{}, seed: maphash.MakeSeed(), last: from}
		if err := l.show(x); err == nil {
			if many {
				_ = l.out.send("poll", int(pollTime.Milliseconds()))
				return
			}
			l.follow(r.Context(), x)
		}
	}
}

// liveView is a view that a browser shows now.
type liveView struct {
	site *site
	to   api.Service
	r    *http.Request
	load loader
	out  output
	sent map[string]uint64 // by part: what the browser has of it
	seed maphash.Seed
	last int64 // seq of the last entry that the browser has
	text liveText
}

// follow sends what changes until the browser has left, the session has ended, or the
// server ends.
func (l *liveView) follow(ctx context.Context, x view) {
	ctx, cancel := context.WithCancel(ctx)
	events := make(chan api.Event) // unbuffered: a slow browser loses live text, which the service drops
	var reader sync.WaitGroup
	defer reader.Wait()
	defer cancel()
	reader.Go(func() { l.read(ctx, x.scope, events) })
	beat, look := time.NewTicker(beatTime), time.NewTicker(lookTime)
	defer beat.Stop()
	defer look.Stop()
	every := max(x.every, updateTime)
	var due, typed <-chan time.Time
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case e := <-events:
			switch {
			case e.Kind == "": // the stream has ended: the browser comes again
				return
			case e.Kind == api.DeltaEvent:
				l.text.add(e)
				if typed == nil {
					typed = time.After(textTime)
				}
			case e.Kind == api.RequestEvent && slices.Contains([]string{"done", "failed", "cancelled", "interrupted", "dead"}, e.State):
				l.text.end(e.Request)
				err = l.out.send("ended", e.Request)
			}
			if due == nil && e.Kind != api.MarkEvent && e.Kind != api.DeltaEvent {
				due = time.After(every)
			}
		case <-typed:
			typed = nil
			err = l.text.flush(l.out)
		case <-due:
			due = nil
			err = l.update(ctx)
		case <-look.C:
			if due == nil {
				err = l.update(ctx)
			}
		case <-beat.C:
			if !l.site.loggedIn(l.r) {
				_ = l.out.send("logout", "")
				return
			}
			err = l.out.send("beat", "")
		}
		if err != nil {
			return
		}
	}
}

// read passes events on. The zero event says that no more come.
func (l *liveView) read(ctx context.Context, scope api.Scope, to chan<- api.Event) {
	pass := func(e api.Event) bool {
		select {
		case to <- e:
			return true
		case <-ctx.Done():
			return false
		}
	}
	for e, err := range l.to.Watch(ctx, scope, api.FromNow) {
		if err != nil || e.Kind == api.ResetEvent || !pass(e) {
			break
		}
		if e.Kind == api.MarkEvent && !pass(api.Event{Kind: api.ConversationEvent}) {
			break // what happened between the view and the mark is shown, too
		}
	}
	pass(api.Event{})
}

// update reads the view again and sends what has changed.
func (l *liveView) update(ctx context.Context) error {
	for {
		x, err := l.load(ctx, l.to, l.r, l.last)
		if err == nil {
			err = l.show(x)
		}
		if err != nil || x.Log == nil || !x.Log.more {
			return err
		}
	}
}

// show sends the parts of a view that the browser does not have.
func (l *liveView) show(x view) error {
	for _, p := range x.Parts {
		html, err := l.site.views.part(p)
		if err != nil {
			return err
		}
		sum := maphash.Bytes(l.seed, html)
		if l.sent[p.ID] == sum {
			continue
		}
		if err := l.out.send("part", string(html)); err != nil {
			return err
		}
		l.sent[p.ID] = sum
	}
	if x.Log == nil || len(x.Log.Items) == 0 {
		return nil
	}
	return l.showEntries(x.Log)
}

// newEntries are entries that follow those that the browser has. The live text of their
// requests has become theirs.
type newEntries struct {
	HTML     string   `json:"html"`
	Last     int64    `json:"last"`
	Requests []string `json:"requests"`
}

func (l *liveView) showEntries(log *chatLog) error {
	html, err := l.site.views.render("items", chatLog{Name: log.Name, Items: log.Items})
	if err != nil {
		return err
	}
	out := newEntries{HTML: string(html), Last: log.Last, Requests: []string{}}
	for _, i := range log.Items {
		if i.Request != "" && !slices.Contains(out.Requests, i.Request) {
			out.Requests = append(out.Requests, i.Request)
			l.text.end(i.Request)
		}
	}
	l.last = log.Last
	return l.out.send("entries", out)
}

// output is a stream of server-sent events.
type output struct {
	w   http.ResponseWriter
	out *http.ResponseController
}

func newOutput(w http.ResponseWriter) output {
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	_ = out.SetReadDeadline(time.Time{}) // that of the request would end it
	return output{w, out}
}

// send sends one event with its data as JSON.
func (o output) send(kind string, data any) error {
	body, err := json.Marshal(data)
	if err != nil {
		return err
	}
	if err := o.out.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(o.w, "event: %s\ndata: %s\n\n", kind, body); err != nil {
		return err
	}
	return o.out.Flush()
}
