package machines

import (
	"os"
	"syscall"
	"time"
)

const contSignal = syscall.SIGCONT

// trouble is something that is done to a host for some seconds.
type trouble struct {
	name  string
	long  time.Duration
	begin func(*host)
	end   func(*host)
}

// beyond is longer than a lease, and than it takes others to see that a host is down.
const beyond = 55 * time.Second

func (s *soak) troubles() []trouble {
	again := func(h *host) { h.boot() }
	freeze, thaw := func(h *host) { h.signalAll(syscall.SIGSTOP) }, func(h *host) { h.signalAll(contSignal) }
	stop := func(of func(*host) *os.Process) func(*host) {
		return func(h *host) { _ = of(h).Signal(syscall.SIGSTOP) }
	}
	cont := func(of func(*host) *os.Process) func(*host) {
		return func(h *host) { _ = of(h).Signal(contSignal) }
	}
	pg, nats := func(h *host) *os.Process { return h.pg.Process }, func(h *host) *os.Process { return h.nats.Process }
	return []trouble{
		{"killed", 8 * time.Second, (*host).kill, again},
		{"killed, and not there beyond its leases", beyond, (*host).kill, again},
		{"frozen", 8 * time.Second, freeze, thaw},
		{"frozen beyond its leases", beyond, freeze, thaw},
		{"stopped beyond its leases, its tools not", beyond, s.stopProcesses, thaw},
		{"cut off from the database", 10 * time.Second, stop(pg), cont(pg)},
		{"cut off from the database beyond its leases", beyond, stop(pg), cont(pg)},
		{"cut off from the bus", 10 * time.Second, stop(nats), cont(nats)},
		{"brought down", 12 * time.Second, func(h *host) { h.begin("down") }, func(*host) {}},
		{"its processes killed, not its tools", 3 * time.Second, func(h *host) {
			for _, pid := range h.processes(h.bin) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}, func(*host) {}},
	}
}

// isUp reports whether a host has its hub.
func (s *soak) isUp(h *host) bool { return len(h.processes("up --foreground")) > 0 }

// bringUp starts the hubs of hosts that nothing happens to, as their init system would: again
// and again, because what happens to one may also happen while it starts.
func (s *soak) bringUp() {
	for _, h := range s.hosts[:3] {
		if s.ends[h] == nil && time.Since(s.started[h]) > 3*time.Second && !s.isUp(h) {
			s.started[h] = time.Now()
			h.begin("up")
		}
	}
}

// stopProcesses stops the processes of fika on a host, and not what their agents' tools run.
func (s *soak) stopProcesses(h *host) {
	for _, pid := range h.processes(h.bin) {
		_ = syscall.Kill(pid, syscall.SIGSTOP)
	}
}

// trouble ends what has lasted long enough, and every ten seconds begins something else on a
// host: what is longer than a lease on one at a time, so that another one can take over.
func (s *soak) trouble(passed time.Duration) {
	for h, end := range s.until {
		if time.Now().After(end) {
			s.heal(h)
		}
	}
	s.bringUp()
	if passed < time.Duration(s.counts["troubles"]+1)*10*time.Second {
		return
	}
	s.counts["troubles"]++
	h, list := s.hosts[s.rand.IntN(3)], s.troubles()
	x := list[s.rand.IntN(len(list))]
	for x.long >= beyond && s.longer != nil {
		x = list[s.rand.IntN(len(list))]
	}
	if s.ends[h] != nil {
		return
	}
	if x.long >= beyond {
		s.longer = h
	}
	x.begin(h)
	s.until[h], s.ends[h] = time.Now().Add(x.long), func() { x.end(h) }
	s.Logf("%4.0f s: %s is %s", passed.Seconds(), h.name, x.name)
}

// heal ends the trouble of a host.
func (s *soak) heal(h *host) {
	end := s.ends[h]
	delete(s.ends, h)
	delete(s.until, h)
	if s.longer == h {
		s.longer = nil
	}
	end()
}
