package main

import "os"

// spend is a budget that ends while an agent is in the middle of its work, and
// is raised again.
func spend(r *run) {
	r.budget("100000")
	before := r.markers()
	r.ask("ask", "arya", "gate", "bash")
	r.awake(func() bool { return r.markers() > before })
	r.budget("60")
	_ = os.WriteFile(r.marker+".gate", nil, 0o600)
	r.awake(func() bool {
		n, err := r.number(`SELECT count(*) FROM requests WHERE state = 'running'`)
		return err == nil && n == 0
	})
	r.ask("task", "gendry", "bash")
	r.budget("1000000")
}

// budget says how many tokens the home may spend in a day.
func (r *run) budget(tokens string) {
	r.people("budget", "set", "home", "--per", "day", "--tokens", tokens)
}
