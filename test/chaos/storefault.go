package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"time"
)

// storeLocked is another program that keeps the database locked.
func storeLocked(r *run) int {
	return r.meanwhile(8, func() (n int) {
		for range 2 {
			r.pause(300 * time.Millisecond)
			if release := r.lock(); release != nil {
				r.pause(1500 * time.Millisecond)
				release()
				n++
			}
		}
		return n
	})
}

// lock takes the write lock of the database.
func (r *run) lock() (release func()) {
	db, err := r.connect()
	if err != nil {
		return nil
	}
	ctx := context.Background()
	conn, err := db.Conn(ctx)
	if err != nil {
		r.bad("lock: %v", errors.Join(err, db.Close()))
		return nil
	}
	lock := "BEGIN IMMEDIATE"
	if r.url != "" {
		lock = "BEGIN; LOCK TABLE agents, conversations, requests, entries, notifications, chains, steps IN ACCESS EXCLUSIVE MODE"
	}
	if !wait(patience/4, func() bool { // a deadlock may end this one
		if _, err = conn.ExecContext(ctx, lock); err != nil {
			_, _ = conn.ExecContext(ctx, "ROLLBACK")
		}
		return err == nil
	}) {
		r.bad("lock: %v", errors.Join(err, conn.Close(), db.Close()))
		return nil
	}
	return func() {
		_, err := conn.ExecContext(ctx, "ROLLBACK")
		if err := errors.Join(err, conn.Close(), db.Close()); err != nil {
			r.bad("lock: %v", err)
		}
	}
}

// storeReadOnly is a database that cannot be written to for a while: work is refused
// with a reason, and none of it is half done.
func storeReadOnly(r *run) int {
	if !r.start() {
		return 0
	}
	r.ask("ask", "arya", "bash")
	r.settle()
	files, _ := filepath.Glob(filepath.Join(r.root, "fika.db*"))
	defer func() { _ = immutable(files, false) }()
	if err := immutable(files, true); err != nil {
		return notHere
	}
	if j := r.ask("ask", "arya"); j.accepted {
		r.bad("job %d was accepted by a database that cannot be written", j.id)
	}
	if err := immutable(files, false); err != nil {
		r.bad("%v", err)
	}
	r.ask("ask", "arya", "bash")
	r.settle()
	return 1
}

// storeFull is a full disk under the database of all running processes.
func storeFull(r *run) int {
	return r.meanwhile(6, func() (n int) {
		r.pause(300 * time.Millisecond)
		pids := r.processes("")
		for pid := range pids {
			if err := sizeLimit(pid, 4096); errors.Is(err, syscall.EPERM) {
				return notHere
			}
		}
		r.pause(2 * time.Second)
		for pid := range r.processes("") {
			_ = sizeLimit(pid, 0)
		}
		return len(pids)
	})
}

// storeLimit is a database that has reached its maximum size, and may grow again after
// a restart.
func storeLimit(r *run) int {
	if !r.start() {
		return 0
	}
	r.ask("ask", "arya", "read")
	r.settle()
	pages, err := r.number(`SELECT page_count FROM pragma_page_count`)
	if err != nil {
		r.bad("%v", err)
	}
	r.people("down")
	_ = r.tell("pages", fmt.Sprint(pages+3))
	r.start()
	refused := 0
	for range 20 {
		if j := r.ask("ask", "arya", "flood", "bash"); j.refused {
			refused++
		}
	}
	_ = r.tell("pages", "0")
	r.dark(func() {})
	r.settle()
	return refused
}
