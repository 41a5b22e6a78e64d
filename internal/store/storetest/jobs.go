package storetest

import (
	"fmt"
	"strings"
	"time"

	"fika"
	"fika/internal/store"
)

// job starts a job of a lease's agent in a chat.
func (w *world) job(l store.Lease, c fika.Conversation, command string) store.Job {
	w.Helper()
	return must(w.StartJob(w.ctx, l, store.Job{Conversation: c.ID, Request: "r", Step: 2, Command: command, Dir: "/w", Profile: "full", Log: "/logs"}))(w)
}

// words returns values with spaces between them.
func words(values ...any) string { return strings.TrimSuffix(fmt.Sprintln(values...), "\n") }

// jobs returns number and state of the jobs that match, newest first.
func (w *world) jobs(f store.JobFilter) string {
	w.Helper()
	var out []string
	for _, j := range must(w.ListJobs(w.ctx, f))(w) {
		out = append(out, words(j.Command, j.State))
	}
	return strings.Join(out, ", ")
}

var jobTests = map[string]func(*world){
	"a job ends once": func(w *world) {
		l, room := w.lease("coder"), w.chat("room")
		from := w.now()
		j := w.job(l, room, "serve")
		equal(w, "log", j.Log, "/logs/"+string(j.ID))
		p := fika.Process{PID: 7, Start: 8, BootID: "b"}
		if err := w.NoteJobProcess(w.ctx, j.ID, p); err != nil {
			w.Fatal(err)
		}
		now := must(w.Job(w.ctx, j.N))(w)
		equal(w, "it runs", words(now.State, now.Proc == p, now.AgentName, now.In, now.Step), "running true coder room 2")
		asked, first, err := w.AskJobEnd(w.ctx, j.N, "enough")
		equal(w, "asked", words(asked.Ending, first, err), "true true <nil>")
		asked, first, err = w.AskJobEnd(w.ctx, j.N, "again")
		equal(w, "asked again", words(asked.Ending, asked.Reason, first, err), "true enough false <nil>")
		killed := must(w.FinishJob(w.ctx, j.ID, fika.JobKilled, 137, "enough"))(w)
		equal(w, "killed", words(killed.State, killed.ExitCode, killed.Reason, killed.Ended.IsZero()), "killed 137 enough false")
		equal(w, "ended before", must(w.LoseJob(w.ctx, j.ID))(w).State, fika.JobKilled)
		_, first, err = w.AskJobEnd(w.ctx, j.N, "too late")
		equal(w, "too late", words(first, err), "false <nil>")
		_, err = w.Job(w.ctx, j.N+1)
		w.refused(err, fika.NotFound)
		_, _, err = w.AskJobEnd(w.ctx, j.N+1, "")
		w.refused(err, fika.NotFound)
		var told []string
		for _, e := range w.since(from) {
			if e.Kind == store.JobEvent {
				told = append(told, words(e.Seq == j.N, e.State, dataOf(w, e).Cancel))
			}
		}
		equal(w, "told", strings.Join(told, ", "), "true running false, true running true, true killed false")
	},
	"at most eight of an agent run": func(w *world) {
		l, room := w.lease("coder"), w.chat("room")
		for range store.MaxJobs {
			w.job(l, room, "x")
		}
		_, err := w.StartJob(w.ctx, l, store.Job{Conversation: room.ID})
		w.refused(err, fika.Limit)
		w.job(w.lease("tester"), room, "y")
		list := must(w.ListJobs(w.ctx, store.JobFilter{Agent: l.Agent, Running: true}))(w)
		must(w.FinishJob(w.ctx, list[0].ID, fika.JobEnded, 0, ""))(w)
		w.job(l, room, "z")
		equal(w, "page", w.jobs(store.JobFilter{Limit: 2}), "z running, y running")
		equal(w, "next page", w.jobs(store.JobFilter{Limit: 1, Before: list[0].N, Running: true}), "x running")
	},
	"only the owner of an agent starts jobs": func(w *world) {
		old, room := w.lease("coder"), w.chat("room")
		j := w.job(old, room, "x")
		next := must(w.Acquire(w.ctx, old.Agent, "next", time.Hour, true))(w)
		_, err := w.StartJob(w.ctx, old, store.Job{Conversation: room.ID})
		w.refused(err, fika.Lost)
		equal(w, "whose", must(w.Job(w.ctx, j.N))(w).Lease == next.ID, false)
		lost := must(w.LoseJob(w.ctx, j.ID))(w)
		equal(w, "lost", lost.State, fika.JobLost)
	},
	"a chat that is stopped or deleted ends its jobs": func(w *world) {
		l, room, hall := w.lease("coder"), w.chat("room"), w.chat("hall")
		w.job(l, room, "x")
		other := w.job(l, hall, "y")
		equal(w, "stopped", fmt.Sprint(must(w.StopChat(w.ctx, room.ID, ""))(w).Jobs), "[coder]")
		list := must(w.ListJobs(w.ctx, store.JobFilter{Conversation: room.ID}))(w)
		equal(w, "asked", words(list[0].Ending, list[0].Reason), "true the chat was stopped")
		equal(w, "not the other", must(w.Job(w.ctx, other.N))(w).Ending, false)
		if err := w.DeleteConversation(w.ctx, hall.ID); err != nil {
			w.Fatal(err)
		}
		_, err := w.FinishJob(w.ctx, other.ID, fika.JobKilled, 0, "")
		w.refused(err, fika.NotFound)
	},
}
