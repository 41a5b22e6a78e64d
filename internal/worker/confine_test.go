package worker

import (
	"io"
	"os"
	"strings"
	"testing"

	"fika/internal/app"
	"fika/internal/bus"
	"fika/internal/turn"
)

// What is recorded of a call is what held when its process started, whatever the
// files say when it has ended: a command that had the network taints the turn.
func TestCallIsRecordedAsItWasConfined(t *testing.T) {
	x := sit(t, "guard.sandbox = \"best\"\nguard.network = \"on\"")
	live, err := x.worker.LiveRuntime(x.Context(), RuntimeOptions{Dir: x.app.Dir(), Stderr: io.Discard, Warn: x.warn, Notify: app.Waker{Bus: bus.Nobody{}}}, nil, true)
	x.must(err)
	runs := live.last().confineCall("", x.app.Dir(), nil, turn.Opened{})
	if !runs.Network() {
		t.Fatal("no network, although it is on")
	}
	if runs.Tier() == "none" {
		if os.Getenv("CI") == "true" {
			t.Fatal("no sandbox works here, and CI is true")
		}
		t.Skip("no sandbox works here, and without one everything reaches the network")
	}
	file := x.worker.Folder.Home.ConfigFile()
	text, err := os.ReadFile(file)
	x.must(err)
	x.must(os.WriteFile(file, []byte(strings.Replace(string(text), `network = "on"`, `network = "off" # taken away`, 1)), 0o600))
	if !runs.Network() {
		t.Error("a call that was made with the network is recorded as one without")
	}
	if live.last().confineCall("", x.app.Dir(), nil, turn.Opened{}).Network() {
		t.Error("the next call has the network, which was taken away")
	}
}
