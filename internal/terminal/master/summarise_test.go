package master

import (
	"context"
	"testing"
	"testing/synctest"

	"fika"
)

func TestTheMasterSumsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		err := run(t, d.master(func(o *Options) {
			o.Summarise = func(_ context.Context, agent fika.AgentName) (string, error) {
				return "what @" + string(agent) + " \x1b[31mdoes", nil
			}
		}), d, func() {
			d.lines <- "/summarise @coder"
			d.shows(t, "@coder, summed up:\nwhat @coder does")
			d.lines <- "/summarise"
			d.shows(t, "/summarise takes the name of an agent")
			d.lines <- "/summarise nobody"
		})
		if err == nil {
			t.Error("an unknown agent is no failure")
		}
	})
}
