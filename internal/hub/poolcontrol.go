package hub

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"fika"
	"fika/internal/bus"
	"fika/internal/bus/message"
)

// poolControls answers control messages to pools, which have no process of their own.
// Each pool has its own subscription, because nobody may listen on the subject of an
// agent that does not run. Its fields belong to the hub's goroutine.
type poolControls struct {
	hub   *Hub
	pools map[fika.AgentName]controlledPool
}

type controlledPool struct {
	members []fika.AgentName
	sub     bus.Subscription
}

// poolControlTime bounds the work for one message.
const poolControlTime = 10 * time.Second

// keep listens for exactly the pools among specs.
func (p *poolControls) keep(specs []Spec) {
	if p.hub.opts.PoolControl == nil {
		return
	}
	wanted := map[fika.AgentName][]fika.AgentName{}
	for _, s := range specs {
		if len(s.Members) > 0 && !s.Lent {
			if wanted[s.Name] = s.Members; s.Team != nil {
				wanted[s.Name] = s.Team
			}
		}
	}
	for name, pool := range p.pools {
		if !slices.Equal(pool.members, wanted[name]) {
			_ = pool.sub.Close()
			delete(p.pools, name)
		}
	}
	for name, members := range wanted {
		if p.pools[name].sub != nil {
			continue
		}
		sub, err := p.hub.opts.Bus.Subscribe(p.hub.opts.Subjects.Control(name), func(m bus.Msg) { p.answer(members, m) })
		if err != nil {
			p.hub.opts.Log.Warn("control messages to a pool are not heard", "agent", name, "err", err)
			continue
		}
		p.pools[name] = controlledPool{members, sub}
	}
}

// close stops listening.
func (p *poolControls) close() {
	for _, pool := range p.pools {
		_ = pool.sub.Close()
	}
}

// answer carries out a control message to a pool, or replies why it cannot. It runs
// beside the hub's goroutine.
func (p *poolControls) answer(members []fika.AgentName, m bus.Msg) {
	var c message.Control
	reply := message.ControlReply{OK: true}
	err := json.Unmarshal(m.Data, &c)
	if err != nil {
		err = fika.Errorf(fika.Invalid, "control", "not the JSON of a control message: %v", err)
	} else {
		ctx, cancel := context.WithTimeout(context.Background(), poolControlTime)
		defer cancel()
		err = p.hub.opts.PoolControl(ctx, members, c)
	}
	if err != nil {
		reply = message.ControlReply{Error: err.Error(), ErrorKind: string(fika.KindOf(err))}
	}
	if data, err := json.Marshal(reply); err == nil && m.Respond != nil {
		_ = m.Respond(data)
	}
	p.hub.tickSoon() // the look tells the members
}
