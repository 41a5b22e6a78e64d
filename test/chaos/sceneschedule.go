package main

import (
	"fmt"
	"time"
)

// timed is work that begins by schedule: it begins once, whatever dies while it
// begins. Before that the schedule is made, paused and resumed.
func timed(r *run) {
	j := r.new("task", hop{"arya", []string{"bash"}})
	at := time.Now().UTC().Add(30 * time.Minute)
	res := r.people("schedule", "create", "timed", "--cron", fmt.Sprintf("%d %d * * *", at.Minute(), at.Hour()), "--zone", "UTC", "--agent", "arya", j.prompt())
	if res.code != 0 && r.fika("schedule", "show", "timed").code != 0 {
		j.refused = true
		return
	}
	r.people("schedule", "pause", "timed")
	r.people("schedule", "resume", "timed")
	r.fika("schedule", "resume", "timed") // even if both were killed
	_ = r.tell("clock", "3600000")
	begun := func() bool {
		if r.hubPID() == 0 {
			r.start()
		}
		n, err := r.number(`SELECT count(*) FROM schedules WHERE begun_at > 0`)
		return err == nil && n > 0
	}
	if j.accepted = wait(patience/2, begun); !j.accepted {
		r.bad("a time of a schedule has passed, and nothing began")
	}
	_ = r.tell("clock", "0")
	r.people("schedule", "delete", "timed")
}
