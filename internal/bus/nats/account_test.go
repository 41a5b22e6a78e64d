package nats

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"fika"
	"fika/internal/bus"
)

// TestServerAccount: with the printed configuration a host has its stream and reads what a
// program asks; the program can ask and read, and cannot answer for an agent, nor make a
// stream; nobody else gets in.
func TestServerAccount(t *testing.T) {
	t.Parallel()
	text, err := ServerAccount("team.fika", "host-word", "program-word")
	must(t, err)
	path := filepath.Join(t.TempDir(), "nats.conf")
	must(t, os.WriteFile(path, []byte(text), 0o600))
	o, err := server.ProcessConfigFile(path)
	must(t, err)
	o.Host, o.Port, o.StoreDir, o.NoSigs, o.NoLog = "127.0.0.1", server.RANDOM_PORT, t.TempDir(), true, true
	s, err := server.NewServer(o)
	must(t, err)
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(patience) {
		t.Fatal("the server does not start")
	}
	url := "nats://" + s.Addr().String()
	login := Options{URL: url, User: AccountHost, Password: "host-word"}
	if lacks := Probe(deadline(t), login, "team.fika", nil); len(lacks) > 0 {
		t.Fatalf("a host lacks %q", lacks)
	}
	b, err := Dial(deadline(t), login)
	must(t, err)
	t.Cleanup(func() { must(t, b.Close()) })
	in, unkept, err := OpenExternal(deadline(t), b, InboundOptions{Prefix: "team.fika", Log: func(err error) { t.Log(err) }})
	must(t, err)
	if unkept != nil {
		t.Fatalf("a host keeps no stream: %v", unkept)
	}
	must(t, in.Probe(deadline(t), patience))
	wrong := make(chan error, 10)
	program, err := nats.Connect(url, nats.UserInfo(AccountProgram, "program-word"), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { wrong <- err }))
	must(t, err)
	t.Cleanup(program.Close)
	got := make(chan string, 10)
	stop := consuming(t, in, func(_ context.Context, m bus.Msg) error { got <- string(m.Data); return nil })
	defer stop()
	must(t, program.Publish("team.fika.agent.coder.request", []byte("hi")))
	if body := next(t, got); body != "hi" {
		t.Errorf("the host reads %q", body)
	}
	heard, err := program.SubscribeSync("team.fika.agent.coder.response")
	must(t, err)
	must(t, program.FlushTimeout(patience))
	must(t, b.Publish("team.fika.agent.coder.response", []byte("ho")))
	if m, err := heard.NextMsg(patience); err != nil || string(m.Data) != "ho" {
		t.Errorf("the program reads %v, %v", m, err)
	}
	for _, subject := range []string{"team.fika.agent.coder.response", "team.fika.agent.coder.status", "$JS.API.STREAM.CREATE.mine", "other"} {
		must(t, program.Publish(subject, []byte("{}")))
		must(t, program.FlushTimeout(patience))
		if err := next(t, wrong); !errors.Is(err, nats.ErrPermissionViolation) {
			t.Errorf("a program publishes to %s: %v", subject, err)
		}
	}
	if _, err := Dial(deadline(t), Options{URL: url}); err == nil {
		t.Error("somebody without a password gets in")
	}
	if _, err := ServerAccount("team..fika", "a", "b"); !fika.IsKind(err, fika.Invalid) {
		t.Errorf("a bad prefix: %v", err)
	}
}

func TestVersionsThatKeepRequests(t *testing.T) {
	for version, want := range map[string]bool{"2.9.10": false, "2.10.0": true, "2.12.1": true, "3.0.0": true, "1.4.1": false, "": true, "dev": true} {
		if keepsRequests(version) != want {
			t.Errorf("%q keeps requests: %v", version, !want)
		}
	}
}
