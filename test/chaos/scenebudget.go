package main

import "fmt"

// spend is a budget that is used up while an agent is in the middle of its work, and
// is raised again: it has room for the first call of a turn, which reserves 24000
// tokens, and not for the second.
func spend(r *run) {
	r.settle()
	spent, err := r.number(`SELECT COALESCE(sum(input + output), 0) FROM usage`)
	if err != nil {
		r.bad("%v", err)
	}
	r.budget(spent + 24_000 + 50)
	r.ask("ask", "arya", "bash", "bash")
	r.awake(func() bool {
		n, err := r.number(`SELECT count(*) FROM requests WHERE state = 'waiting' AND reason = 'limit'`)
		return err == nil && n > 0
	})
	r.ask("task", "gendry", "bash")
	r.budget(1_000_000)
}

// budget sets how many tokens the home may spend in a day.
func (r *run) budget(tokens int) {
	r.people("budget", "set", "home", "--per", "day", "--tokens", fmt.Sprint(tokens))
}
