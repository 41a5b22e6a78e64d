package mcp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"fika/internal/extension/mcp"
	"fika/internal/tool"
)

// TestIdleServerIsEnded: a server that is not called is ended after a while, and the next
// call starts it again.
func TestIdleServerIsEnded(t *testing.T) {
	b := newBench(t)
	s := b.server("ordinary")
	b.pinned(s)
	b.reopen(time.Millisecond)
	for round := range 3 {
		r := b.must(s, "where", "")
		var pid int
		if _, err := fmt.Sscanf(r.Text[strings.Index(r.Text, "pid "):], "pid %d", &pid); err != nil {
			t.Fatal(err)
		}
		if n := b.started.Load(); int(n) != round+1 {
			t.Errorf("%d servers were started for %d calls", n, round+1)
		}
		for deadline := time.Now().Add(time.Minute); syscall.Kill(pid, 0) == nil; {
			if time.Now().After(deadline) {
				t.Fatal("it is never ended")
			}
			<-time.After(time.Millisecond)
		}
	}
}

// TestCallsKeepAServer: a server is not idle while any call uses it.
func TestCallsKeepAServer(t *testing.T) {
	b := newBench(t)
	s := b.server("ordinary")
	b.pinned(s)
	b.reopen(time.Millisecond)
	begun := make(chan struct{})
	ended := make(chan error)
	go func() {
		_, err := b.call(t.Context(), s, "slow", "", func([]byte) { close(begun) })
		ended <- err
	}()
	<-begun
	for range 50 {
		b.must(s, "echo", `{"text":"hello"}`)
	}
	select {
	case err := <-ended:
		t.Errorf("the slow call ended: %v", err)
	default:
	}
	if n := b.started.Load(); n != 1 {
		t.Errorf("%d servers were started", n)
	}
	_ = b.pool.Close()
	<-ended
}

// TestStart: what a call needs is started ahead of it, and nothing is called.
func TestStart(t *testing.T) {
	b := newBench(t)
	s := b.server("ordinary")
	b.pinned(s)
	b.reopen(0)
	for _, one := range b.pinned(s).ToolsFor(s, mcp.Use{Pool: b.pool}) {
		if one.Spec().Name != "srv__where" {
			continue
		}
		starter, ok := tool.StarterOf(tool.Deferred(tool.WithLimit(one, tool.Limits{})))
		if !ok {
			t.Fatal("it starts nothing")
		}
		starter.Start(t.Context(), tool.Call{Name: "srv__where", Args: json.RawMessage(`{}`)})
		if n := b.started.Load(); n != 1 {
			t.Fatalf("%d servers were started", n)
		}
	}
	b.must(s, "where", "")
	if n := b.started.Load(); n != 1 {
		t.Errorf("%d servers were started", n)
	}
}
