package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// scene is something that people and programs do with fika. Any of its commands may
// meet a process that dies, and may be killed itself.
type scene struct {
	name string
	play func(*run)
}

// scenes are few and short: each crash point is tried in those that pass it.
func scenes() []scene {
	return []scene{
		{"ask", func(r *run) { r.ask("ask", "arya", r.pick("", 2).tools...) }},
		{"task", func(r *run) { r.ask("task", "gendry", "bash", "goals") }},
		{"wake", func(r *run) { r.ask("ask", "hotpie", "bash") }},
		{"chat", func(r *run) { r.chat(r.chain(3, r.rng.IntN(2))...) }},
		{"follow", func(r *run) { r.follow("ask", "gendry", r.pick("", 1).tools...) }},
		{"files", func(r *run) { r.ask("ask", "arya", "create", "edit", "pair") }},
		{"tell", func(r *run) { r.ask("task", "arya", "tell") }},
		{"wire", wire},
		{"garbage", garbage},
		{"once", func(r *run) { r.once("notes", "bash"); r.once("notes") }},
		{"pause", pause},
		{"brake", brake},
		{"table", sit},
		{"hold", hold},
		{"stop", stop},
		{"cancel", cancel},
		{"deadline", deadline},
		{"limit", limit},
		{"restart", restart},
		{"chats", chats},
		{"contexts", contexts},
		{"compact", compact},
		{"grow", grow},
		{"suspend", suspend},
		{"recover", recovered},
		{"switch", switchAsk},
		{"delegate", func(r *run) { r.ask("task", "arya", "hand", "bash") }},
		{"called", called},
		{"dead", dead},
		{"outage", outage},
		{"search", search},
		{"idle", idle},
		{"move", move},
		{"restore", restore},
		{"approve", approve},
		{"unanswered", unanswered},
		{"withdrawn", withdrawn},
		{"trespass", trespass},
		{"spend", spend},
		{"handed", handed},
		{"recalled", recalled},
		{"replaced", replaced},
		{"workflow", func(r *run) { r.flow("thirty") }},
		{"team", team},
		{"held-run", heldRun},
		{"failed-run", failedRun},
		{"limited-run", limitedRun},
		{"schedule", timed},
		{"backup", backedUp},
		{"pool", pooled},
		{"board", boarded},
		{"land", landed},
		{"models", severalModels},
	}
}

// people runs a command that changes something and may have to be repeated: a killed
// one has done it or not.
func (r *run) people(args ...string) result {
	res := r.fika(args...)
	if res.code < 0 {
		res = r.fika(args...)
	}
	return res
}

func pause(r *run) {
	j := r.chat(r.chain(3, 1)...)
	r.people("chat", "pause", j.chat)
	r.people("chat", "resume", j.chat)
}

// brake pauses everything, new chats included.
func brake(r *run) {
	r.ask("ask", "arya", "bash", "read")
	r.people("chat", "pause", "--all")
	r.chat(r.chain(2, 0)...)
	r.people("chat", "resume", "--all")
}

// sit is a person who joins a chat, holds it while there, and leaves.
func sit(r *run) {
	j := r.chat(r.chain(2, 1)...)
	r.typed("/who\n/quit\n", "chat", "join", j.chat, "--pause", "--as", "eve")
	r.passOver() // someone killed at the table gives up the chat by silence
}

// hold is a person whose terminal dies while the chat is held: the hub releases it.
func hold(r *run) {
	j := r.chat(r.chain(2, 1)...)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	cmd := r.command(ctx, "chat", "join", j.chat, "--pause", "--as", "eve")
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		r.bad("join: %v", err)
		return
	}
	gone := make(chan struct{})
	go func() { defer close(gone); _ = cmd.Wait() }()
	wait(patience/4, func() bool {
		select {
		case <-gone: // killed at a crash point
			return true
		default:
		}
		n, err := r.number(`SELECT count(*) FROM brakes WHERE owner LIKE 'eve%'`)
		return err == nil && n > 0
	})
	if r.rng.IntN(2) == 0 {
		_, _ = io.WriteString(stdin, "hello\n")
	}
	cancel()
	<-gone
	r.passOver()
}

// passOver moves the clock on until no absent person holds a chat.
func (r *run) passOver() {
	_ = r.tell("clock", "60000")
	if !wait(patience/2, func() bool {
		if r.hubPID() == 0 {
			r.start()
		}
		n, err := r.number(`SELECT count(*) FROM brakes`)
		return err == nil && n == 0
	}) {
		r.bad("a chat stays held by nobody")
	}
	_ = r.tell("clock", "0")
}

// stop ends a chain deliberately; what was dropped may be missing.
func stop(r *run) {
	j := r.chat(r.chain(3, 1)...)
	j.may = []string{"cancelled"}
	r.people("chat", "stop", j.chat)
}

func cancel(r *run) {
	j := r.ask("ask", "arya", "long", "bash")
	j.may = []string{"cancelled", "done"}
	if j.request == "" {
		return
	}
	r.people("request", "cancel", j.request)
	if wait(patience/4, func() bool { return r.fika("request", "wait", "--timeout", "1s", j.request).code != 7 }) {
		r.people("request", "retry", j.request)
		r.kills++ // a retry asks again
	}
}

// deadline is a request whose time has passed before it is claimed.
func deadline(r *run) {
	r.people("chat", "pause", "--all")
	j := r.ask("task", "arya", "bash")
	if db, err := r.query(); err == nil {
		if _, err := db.Exec(r.sql(`UPDATE requests SET deadline = 1 WHERE id = ?`), j.request); err != nil {
			r.bad("deadline: %v", err)
		}
	}
	j.may = []string{"failed", "cancelled", "done"}
	wait(2*time.Second, func() bool {
		n, err := r.number(`SELECT count(*) FROM requests WHERE finished_at = 0`)
		return err == nil && n == 0
	})
	r.people("chat", "resume", "--all")
	r.ask("ask", "arya") // with its outcome, arya announces the other
}

// limit is a chain that is stopped by its depth, and continued deliberately.
func limit(r *run) {
	path := filepath.Join(r.root, "config.toml")
	text, err := os.ReadFile(path)
	if err != nil {
		r.bad("%v", err)
		return
	}
	_ = os.WriteFile(path, append(text, "\n[chat]\nmax_turns_per_chain = 2\n"...), 0o600)
	r.people("down")
	r.start()
	j := r.chat(r.chain(4, 0)...)
	j.may = []string{"cancelled"}
	r.settle()
	r.people("chat", "continue", j.chat)
}

// restart is an agent that is stopped in the middle of its work.
func restart(r *run) {
	r.ask("ask", "arya", "long", "bash", "read")
	r.people("agent", "stop", "arya")
	r.people("agent", "start", "arya")
	r.ask("ask", "gendry", "long")
	r.people("agent", "restart", "gendry")
}

// chats creates, renames, empties and removes chats.
func chats(r *run) {
	j := r.chat(r.chain(2, 0)...)
	r.settle()
	r.people("chat", "create", "spare")
	r.people("chat", "send", "spare", "nobody is meant")
	r.people("chat", "pin", j.chat, "1")
	r.people("chat", "unpin", j.chat, "1")
	r.people("chat", "limit", "spare", "--turns", "500")
	r.people("chat", "rename", "spare", "other")
	if res := r.people("chat", "rename", "other", "spare"); res.code != 0 && res.code != 3 { // 3: the killed command has done it
		r.bad("%v", res)
	}
	r.people("chat", "mode", "spare", "plan")
	r.people("chat", "rewind", "spare", "1")
	r.people("chat", "rewind", "spare", "--back")
	r.people("chat", "clear", "spare", "--yes")
	r.people("chat", "delete", "spare", "--yes")
	r.people("chat", "create", "old")
	_ = r.tell("clock", "172800000") // empty chats go after a day
	r.people("chat", "cleanup")
	_ = r.tell("clock", "0")
}

// contexts creates, renames, exports and removes contexts, and begins asks anew.
func contexts(r *run) {
	copied := filepath.Join(r.dir, "copy")
	r.people("context", "new", "first", "--if-missing", "--prompt", "be kind")
	r.once("first", "goals")
	r.people("context", "export", "first", copied)
	r.people("context", "import", "second", copied)
	r.people("context", "rename", "second", "third")
	r.people("context", "clear", "third")
	r.people("context", "delete", "third", "--yes")
	r.people("agent", "reset", "arya")
}

// compact replaces entries by a summary, and undoes that.
func compact(r *run) {
	for range 3 {
		r.once("notes", "list")
	}
	r.people("context", "compact", "notes")
	r.once("notes")
	r.people("agent", "summarise", "notes")
	r.people("context", "compact", "notes", "--undo")
}

// grow is a context that is compacted automatically in the middle of a turn.
func grow(r *run) {
	config := "auto_compact = true\nauto_compact_threshold = 2\n"
	r.people("context", "new", "notes")
	if err := os.WriteFile(filepath.Join(r.root, "contexts", "notes", "local.toml"), []byte(config), 0o600); err != nil {
		r.bad("%v", err)
	}
	for range 3 {
		r.once("notes", "flood")
	}
}

// suspend halts a turn between two steps: the first ends only when the chat is
// paused.
func suspend(r *run) {
	j := r.chat(hop{"arya", []string{"gate", "read"}}, hop{"gendry", nil})
	r.begun(j)
	r.people("chat", "pause", j.chat)
	if err := os.WriteFile(r.marker+".gate", nil, 0o600); err != nil {
		r.bad("%v", err)
	}
	wait(patience/4, func() bool {
		n, err := r.number(`SELECT count(*) FROM requests WHERE state = 'running'`)
		return err == nil && n == 0
	})
	r.people("chat", "resume", j.chat)
}

// recovered is an agent that is killed in the middle of a tool, so that its
// successor has something to take over.
func recovered(r *run) {
	r.kills++
	j := r.ask("ask", "arya", "long", "read")
	r.begun(j)
	r.signal(agentWords("arya"), syscall.SIGKILL)
}

// begun waits until the first tool of a job has begun.
func (r *run) begun(j *job) {
	wait(patience/4, func() bool {
		n, err := r.number(`SELECT count(*) FROM steps WHERE kind = 'tool' AND state = 'started'`)
		return err == nil && n > 0
	})
}

// switchAsk switches an agent back to an older conversation.
func switchAsk(r *run) {
	r.settle()
	old := ""
	if db, err := r.query(); err == nil {
		for _, old = range column(r, db, `SELECT c.name FROM conversations c JOIN agents a ON a.active_ask = c.id WHERE a.name = 'arya'`) {
		}
	}
	r.people("agent", "reset", "arya")
	r.ask("ask", "arya")
	r.typed("/switch arya "+old+"\n/quit\n", "master")
}

// dead is a chat that fails and is tried again.
func dead(r *run) {
	j := r.chat(hop{"arya", []string{"fail"}}, hop{"gendry", nil})
	j.may = []string{"failed"}
	r.kills++ // a retry asks again as well
	wait(patience/4, func() bool {
		n, err := r.number(`SELECT count(*) FROM requests WHERE state = 'failed'`)
		return err == nil && n > 0
	})
	r.people("chat", "retry", j.chat)
}

// outage is a model whose provider asks for time, and a person who does not wait for that.
func outage(r *run) {
	j := r.chat(hop{"arya", []string{"busy"}}, hop{"gendry", nil})
	r.kills++ // a turn that goes on asks again as well
	wait(patience/4, func() bool {
		n, err := r.number(`SELECT count(*) FROM requests WHERE state = 'waiting' AND reason = 'provider'`)
		return err == nil && n > 0
	})
	r.people("chat", "retry", j.chat)
}

// sceneNames returns the names for messages.
func sceneNames(list []scene) string {
	var names []string
	for _, s := range list {
		names = append(names, s.name)
	}
	return strings.Join(names, ", ")
}
