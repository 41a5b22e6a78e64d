package main

// spend is a budget that ends while an agent is in the middle of its work, and
// is raised again.
func spend(r *run) {
	r.budget("100000")
	before := r.markers()
	r.ask("ask", "arya", "long", "long", "bash")
	wait(patience/4, func() bool {
		if r.hubPID() == 0 {
			r.start()
		}
		return r.markers() > before
	})
	r.budget("60")
	r.ask("task", "gendry", "bash")
	r.budget("1000000")
}

// budget says how many tokens the home may spend in a day.
func (r *run) budget(tokens string) {
	r.people("budget", "set", "home", "--per", "day", "--tokens", tokens)
}
