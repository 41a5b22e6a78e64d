package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"fika/internal/store/pgtest"
)

// serverArgs make the server keep in memory for long what was not asked to be on disk,
// so that a crash of the server shows what was not synced.
var serverArgs = [...]string{"-c", "max_connections=200", "-c", "wal_writer_delay=10000ms", "-c", "wal_writer_flush_after=512MB", "-c", "autovacuum=off"}

// startServer starts a server for the homes to come, if they are to use one.
func (o *options) startServer() (stop func(), err error) {
	switch o.engine {
	case "", "sqlite":
		return func() {}, nil
	case "postgres":
	default:
		return nil, fmt.Errorf("-engine is sqlite or postgres, not %q", o.engine)
	}
	return o.serverIn("")
}

// serverIn keeps the server's data in a folder; empty: anywhere.
func (o *options) serverIn(base string) (stop func(), err error) {
	bin := pgtest.Find()
	if bin == "" {
		return nil, errors.New("no PostgreSQL server program is installed (apt-get install postgresql)")
	}
	if base == "" {
		o.server, err = pgtest.Start(bin, serverArgs[:]...)
	} else {
		o.server, err = pgtest.StartIn(base, bin, serverArgs[:]...)
	}
	if err != nil {
		return nil, err
	}
	stop = o.server.Close
	for _, text := range []string{`CREATE EXTENSION amcheck`, `CREATE ROLE fika LOGIN`, `GRANT CREATE ON DATABASE postgres TO fika`} {
		if err := o.server.Exec(context.Background(), text); err != nil {
			stop()
			return nil, err
		}
	}
	return stop, nil
}

// restartServer crashes the server of a home, if it has one, and starts it again.
func (h *home) restartServer() {
	if h.server == nil {
		return
	}
	h.server.Kill()
	h.serverUp()
}

// serverUp starts the server of a home again. The harness's open connections are lost.
func (h *home) serverUp() {
	h.forget()
	if err := h.server.Up(serverArgs[:]...); err != nil {
		panic(err) // the harness has lost its server: no verdict is possible
	}
}

// serverRestarted is a server that crashes under load, is gone for a while, and comes
// back.
func serverRestarted(r *run) int {
	return r.meanwhile(8, func() (n int) {
		for range 3 {
			r.pause(400 * time.Millisecond)
			r.server.Kill()
			r.pause(1500 * time.Millisecond)
			r.serverUp()
			n++
		}
		return n
	})
}

// cutAll ends every session of fika.
const cutAll = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'fika'`

// change runs a statement as the server's owner.
func (r *run) change(text string) {
	if err := r.server.Exec(context.Background(), text); err != nil {
		r.bad("%s: %v", text, err)
	}
}

// serverCut is a network that drops every connection, again and again.
func serverCut(r *run) int {
	return r.meanwhile(8, func() (n int) {
		for range 8 {
			r.pause(250 * time.Millisecond)
			r.change(cutAll)
			n++
		}
		return n
	})
}

// serverRefuses is a server that refuses all connections for a while.
func serverRefuses(r *run) int {
	return r.meanwhile(8, func() (n int) {
		for range 2 {
			r.pause(400 * time.Millisecond)
			r.change(`ALTER ROLE fika CONNECTION LIMIT 0`)
			r.change(cutAll)
			r.pause(2 * time.Second)
			r.change(`ALTER ROLE fika CONNECTION LIMIT -1`)
			n++
		}
		return n
	})
}

// serverSilent is a server that answers nothing for a while, and then everything.
func serverSilent(r *run) int {
	return r.meanwhile(8, func() (n int) {
		for range 2 {
			r.pause(400 * time.Millisecond)
			n += r.server.Signal(syscall.SIGSTOP)
			r.pause(3 * time.Second)
			r.server.Signal(syscall.SIGCONT)
		}
		return n
	})
}

// serverReadOnly is a server that cannot be written to for a while, like a standby:
// work is refused with a reason, and none of it is half done.
func serverReadOnly(r *run) int {
	if !r.start() {
		return 0
	}
	r.ask("ask", "arya", "bash")
	r.settle()
	set := func(value string) {
		r.change(`ALTER SYSTEM SET default_transaction_read_only = ` + value)
		r.change(`SELECT pg_reload_conf()`)
	}
	set("on")
	if !wait(patience/4, func() bool { return r.writable() != nil }) {
		r.bad("the server can still be written")
	}
	if j := r.ask("ask", "arya"); j.accepted {
		r.bad("job %d was accepted by a database that cannot be written", j.id)
	}
	set("off")
	if !wait(patience/4, func() bool { return r.writable() == nil }) {
		r.bad("the server cannot be written again")
	}
	r.ask("ask", "arya", "bash")
	r.settle()
	return 1
}

// writable returns an error when the database refuses writes.
func (r *run) writable() error {
	r.forget() // a new session, such as another process has
	db, err := r.query()
	if err == nil {
		_, err = db.Exec(`CREATE TEMPORARY TABLE probe (x INT)`)
		r.forget()
	}
	return err
}

// serverOnSmallDisk starts a server whose data are on a disk that can be filled.
func (o *options) serverOnSmallDisk() (stop func(), err error) {
	disk, unmount, err := smallDisk()
	if err != nil {
		return nil, err
	}
	end, err := o.serverIn(disk)
	if err != nil {
		unmount()
		return nil, err
	}
	return func() { end(); unmount() }, nil
}

// serverFull is a server whose disk has no space left, for its tables and for its log,
// and gets some again. The server may have given up by then.
func serverFull(r *run) int {
	return r.meanwhile(6, func() int {
		r.pause(300 * time.Millisecond)
		ballast := filepath.Join(filepath.Dir(r.server.Dir), "ballast")
		n := fill(ballast)
		r.pause(3 * time.Second)
		_ = os.Remove(ballast)
		if r.server.Ended() {
			r.serverUp()
		}
		return n
	})
}

// fill writes a file until there is no space left.
func fill(path string) int {
	f, err := os.Create(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	block := make([]byte, 1<<16)
	for {
		if _, err := f.Write(block); err != nil {
			return 1
		}
	}
}
