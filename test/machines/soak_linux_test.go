package machines

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"fika"
)

// soak is a table at work on three hosts that are not left alone: twenty agents, of which some
// stay on their host, some go on elsewhere when theirs is down, and some are of a pool over all
// of them. A fourth host is the person's, which nothing happens to.
type soak struct {
	*lab
	desk     *host
	remote   string // of the repository of which each host has a clone
	asked    []fika.RequestID
	longs    map[fika.AgentName]fika.RequestID // the last that each was asked to work on for long
	longAsks []string                          // all of these
	counts   map[string]int
	taken    map[fika.AgentName][]time.Time // when an agent's leases began
	moved    map[fika.AgentName][]string    // the homes that it has been on
	until    map[*host]time.Time            // when its trouble ends
	ends     map[*host]func()
	longer   *host               // in a trouble that is longer than a lease
	started  map[*host]time.Time // when its hub was started last
	rand     *rand.Rand
	broken   []string // promises
}

// bad notes that a promise was broken.
func (s *soak) bad(format string, args ...any) {
	s.broken = append(s.broken, fmt.Sprintf(format, args...))
}

// TestSoak has three hosts work for MINUTES while every ten seconds one of them is killed,
// frozen, cut off or restarted, and then checks that nothing was lost or done twice, that no
// tool of an owner that had lost its lease has written, and that the figures are those of the
// ledger. WITHOUT names guards of package crash to leave out: then it has to find something.
func TestSoak(t *testing.T) {
	minutes, err := strconv.ParseFloat(os.Getenv("MINUTES"), 64)
	if err != nil {
		t.Skip("skipped: MINUTES says how long it goes on (make machines MINUTES=5)")
	}
	seed, _ := strconv.ParseUint(os.Getenv("SEED"), 10, 64)
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	without := os.Getenv("WITHOUT")
	t.Logf("SEED=%d WITHOUT=%q", seed, without)
	s := newSoak(t, seed, without)
	began := time.Now()
	for i := 0; time.Since(began) < time.Duration(minutes*float64(time.Minute)); i++ {
		s.step(i)
		s.trouble(time.Since(began))
		<-time.After(300 * time.Millisecond)
	}
	for h := range s.ends {
		s.heal(h)
	}
	s.rest()
	s.verdict(time.Since(began))
	s.judge(without != "")
}

// judge fails the test for what was found; or, in a control, if nothing was.
func (s *soak) judge(control bool) {
	for _, what := range s.broken {
		if control {
			s.Logf("found: %s", what)
		} else {
			s.Error(what)
		}
	}
	if control && len(s.broken) == 0 {
		s.Error("nothing was noticed")
	}
}

// TestSoakNotices is the control of TestSoak: the processes of a host are stopped, while the
// tools of its agents run on, until other hosts have these agents. With all guards nothing
// comes of it. Without the watchdog, the tools write after the takeover, and the verdict of
// the soak says so.
func TestSoakNotices(t *testing.T) {
	long(t)
	for name, without := range map[string]string{"with all guards": "", "without the watchdog": "watch"} {
		t.Run(name, func(t *testing.T) {
			s := newSoak(t, 1, without)
			roamers := []fika.AgentName{"r1", "r2"}
			for i, name := range roamers {
				s.askLong(fmt.Sprintf("ask-%d", i), name)
			}
			s.lab.until("both are in their tools", func() bool {
				return len(s.written(s.hosts[0], "r1")) > 0 && len(s.written(s.hosts[0], "r2")) > 0
			})
			s.lookAtLeases()
			s.stopProcesses(s.hosts[0])
			s.lab.until("other hosts have them", func() bool {
				s.lookAtLeases()
				return !slices.ContainsFunc(roamers, func(name fika.AgentName) bool { return len(s.moved[name]) < 2 })
			})
			<-time.After(2 * time.Second) // for what a tool writes now
			s.hosts[0].signalAll(contSignal)
			s.rest()
			s.verdict(0)
			s.judge(without != "")
		})
	}
}

func newSoak(t *testing.T, seed uint64, without string) *soak {
	l := newLab(t, 4, "")
	s := &soak{
		lab: l, desk: l.hosts[3], remote: l.remote(), counts: map[string]int{}, longs: map[fika.AgentName]fika.RequestID{}, taken: map[fika.AgentName][]time.Time{},
		moved: map[fika.AgentName][]string{}, until: map[*host]time.Time{}, started: map[*host]time.Time{}, ends: map[*host]func(){}, rand: rand.New(rand.NewPCG(seed, 1)),
	}
	bin := binary
	if without != "" {
		bin = buildChaos(t)
	}
	for _, h := range l.hosts {
		h.bin = bin
		if without != "" {
			h.chaos = t.TempDir()
			h.obey("without", without)
		}
	}
	s.desk.must("up")
	for i, h := range l.hosts[:3] {
		h.clone(s.remote)
		s.configureWorker(h, i+1)
		h.must("up")
	}
	s.desk.must("chat", "create", "room")
	return s
}

// rest pauses the schedules, and waits until nothing is under way.
func (s *soak) rest() {
	for n := range s.hosts[:3] { // each of which has a schedule, and would begin what it has missed
		check(s.T, s.db.PauseSchedule(s.Context(), fmt.Sprintf("s%d", n+1), time.Time{}))
	}
	var open []string
	s.Cleanup(func() {
		for _, what := range open { // it was waited for in vain
			s.Log(what)
		}
	})
	s.lab.until("everything has ended", func() bool {
		s.bringUp()
		s.approve()
		s.lookAtLeases()
		open = nil
		for _, what := range unfinished {
			for _, found := range s.find(never[what]) {
				open = append(open, what+": "+found)
			}
		}
		return len(open) == 0
	})
}

// lookAtLeases notes when the leases of the agents began, and where.
func (s *soak) lookAtLeases() {
	rows, err := s.db.ListAgents(s.Context())
	check(s.T, err)
	for _, row := range rows {
		if row.Owner == "" {
			continue
		}
		if known := s.taken[row.Name]; !slices.Contains(known, row.StartedAt) {
			s.taken[row.Name] = append(known, row.StartedAt)
		}
		if homes := s.moved[row.Name]; len(homes) == 0 || homes[len(homes)-1] != row.HomeID {
			s.moved[row.Name] = append(homes, row.HomeID)
		}
	}
}
