package main

import (
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// busGone makes the hub stop answering, and then removes it.
func busGone(r *run) int {
	return r.meanwhile(8, func() (n int) {
		r.pause(200 * time.Millisecond)
		n += r.signal(hubWords, syscall.SIGSTOP)
		r.pause(2 * time.Second)
		r.signal(hubWords, syscall.SIGCONT)
		r.pause(300 * time.Millisecond)
		n += r.signal(hubWords, syscall.SIGKILL)
		r.pause(2 * time.Second)
		r.start()
		return n
	})
}

// busDeleted deletes the folder of the bus between two hubs.
func busDeleted(r *run) int {
	return r.meanwhile(8, func() int {
		r.pause(200 * time.Millisecond)
		n := r.dark(func() { // nobody may start another hub meanwhile
			if err := os.RemoveAll(filepath.Join(r.root, "run", "jetstream")); err != nil {
				r.bad("%v", err)
			}
		})
		r.start()
		wire(r)
		return n
	})
}

// busFull keeps the hub from writing for a while.
func busFull(r *run) int {
	return r.meanwhile(6, func() (n int) {
		r.pause(200 * time.Millisecond)
		hub := r.hubPID()
		if sizeLimit(hub, 64) != nil {
			return notHere
		}
		url := r.fika("status", "--show-bus").stdout
		j := r.new("wire", hop{"gendry", nil})
		j.request = "full"
		body := wireBody("task_request", "gendry", j)
		for range 3 { // it may refuse now, but not accept and forget
			j.accepted = r.publishTo(url, "gendry", body) || j.accepted
		}
		r.pause(2 * time.Second)
		if err := sizeLimit(hub, 0); err != nil {
			r.bad("%v", err)
		}
		if !r.publish("gendry", body) {
			r.bad("the bus does not come to itself when there is space again")
		}
		j.accepted = true
		return 1
	})
}
