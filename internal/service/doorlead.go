package service

import (
	"context"
	"time"

	"fika"
	"fika/internal/api"
)

// doorPatience is how long a door waits for an agent to start or stop: less than a browser
// waits for an answer.
const doorPatience = 20 * time.Second

func (d door) StartAgent(ctx context.Context, agent string, w api.Write) error {
	c := d.write(w)
	row, err := c.Agents.Find(ctx, agent)
	if err == nil {
		_, err = c.Agents.Start(ctx, row, doorPatience)
	}
	return d.fails(err)
}

func (d door) StopAgent(ctx context.Context, agent, how string, w api.Write) error {
	manner, ok := map[string]fika.Desired{api.StopStep: fika.DesiredStopped, api.StopFinish: fika.DesiredFinish, api.StopNow: fika.DesiredNow}[how]
	if !ok {
		return d.fails(fika.Errorf(fika.Invalid, "", "an agent is stopped by step, finish or now, not by %.40q", how))
	}
	c := d.write(w)
	row, err := c.Agents.Find(ctx, agent)
	if err == nil {
		_, err = c.Agents.Stop(ctx, row, manner, doorPatience)
	}
	return d.fails(err)
}
