package machines

import (
	"fmt"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// TestForeignRequests: other programs ask the agents of three hosts over the bus, while the
// hub that reads it is killed, the next one is frozen, and the server of the bus is ended and
// comes back. Each request has one row and one outcome, and for each agent they are in the
// order in which they were sent.
func TestForeignRequests(t *testing.T) {
	long(t)
	const each = 334
	l := newLab(t, 3, "")
	for _, h := range l.hosts {
		h.must("up")
	}
	url := l.bus.ClientURL()
	nc, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
	check(t, err)
	t.Cleanup(nc.Close)
	want := map[string][]string{}
	for i := range each {
		switch i {
		case each / 4: // the hub that came first reads what programs ask
			l.hosts[0].killOf("up --foreground")
		case each / 2:
			l.restartBus()
		case 3 * each / 4:
			h := l.hosts[1]
			h.signalAll(syscall.SIGSTOP)
			defer h.signalAll(syscall.SIGCONT)
			time.AfterFunc(30*time.Second, func() { h.signalAll(syscall.SIGCONT) })
		}
		for n := 1; n <= 3; n++ {
			agent := fmt.Sprintf("a%d", n)
			id := fmt.Sprintf("%s-%03d", agent, i)
			want[agent] = append(want[agent], id)
			body := fmt.Appendf(nil, `{"type": "ask_request", "requestId": %q, "agentName": %q, "prompt": "hello"}`, id, agent)
			l.until("the bus has "+id, func() bool { // its stream answers that it has it; the id makes a repeat one
				_, err := nc.Request("fika.agent."+agent+".request", body, 2*time.Second)
				return err == nil
			})
		}
	}
	l.until("each has one outcome", func() bool {
		return slices.Equal(l.find(`SELECT CAST(count(*) AS TEXT) FROM requests WHERE finished_at <> 0`), []string{fmt.Sprint(3 * each)})
	})
	for agent, ids := range want {
		got := l.find(`SELECT r.id FROM requests r JOIN agents a ON a.id = r.agent WHERE a.name = '` + agent + `' ORDER BY r.n`)
		if !slices.Equal(got, ids) {
			t.Errorf("%s has %d requests of %d, or not in their order", agent, len(got), len(ids))
		}
	}
	if bad := l.find(`SELECT id || ' ' || state FROM requests WHERE state <> 'done'`); len(bad) > 0 {
		t.Errorf("not done: %v", bad)
	}
}

// restartBus ends the server of the bus and starts it again where it was, with its disk.
func (l *lab) restartBus() {
	l.Helper()
	port := l.bus.Addr().String()
	var at natsserver.Options
	_, err := fmt.Sscanf(port, "127.0.0.1:%d", &at.Port)
	check(l.T, err)
	dir := filepath.Join(l.dir, "js")
	l.bus.Shutdown()
	l.bus.WaitForShutdown()
	at.Host, at.JetStream, at.StoreDir, at.NoSigs, at.NoLog = "127.0.0.1", true, dir, true, true
	s, err := natsserver.NewServer(&at)
	check(l.T, err)
	s.Start()
	l.bus = s
	if !s.ReadyForConnections(patience) {
		l.Fatal("NATS does not start again")
	}
}
