package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// wire is a program other than fika. It publishes until it is told that its request is
// stored, and then once more.
func wire(r *run) {
	for i, name := range agents[:2] {
		j := r.new("wire", hop{name, []string{"bash"}})
		j.request = fmt.Sprintf("wire-%d-%d", j.id, i)
		body := wireBody([]string{"task_request", "ask_request"}[i], name, j)
		j.accepted = r.publish(name, body)
		j.accepted = r.publish(name, body) && j.accepted
	}
}

func wireBody(kind, agent string, j *job) []byte {
	body, _ := json.Marshal(map[string]any{"type": kind, "requestId": j.request, "agentName": agent,
		"prompt": j.prompt(), "context": nil, "metadata": map[string]any{"sender": "prog"}})
	return body
}

// garbage sends what no program should send.
func garbage(r *run) {
	r.ask("ask", "arya")
	r.publish("arya", []byte("not JSON at all"))
	r.publish("nobody", []byte(`{"type":"ask_request","agentName":"nobody","prompt":"x"}`))
}

// publish sends a request and reports whether the stream has acknowledged it.
func (r *run) publish(agent string, body []byte) bool {
	return wait(patience/2, func() bool {
		if r.hubPID() == 0 && !r.start() {
			return false
		}
		return r.publishTo(r.fika("status", "--show-bus").stdout, agent, body)
	})
}

// publishTo tries once.
func (r *run) publishTo(url, agent string, body []byte) bool {
	nc, err := nats.Connect(url, nats.Timeout(time.Second), nats.MaxReconnects(0))
	if err != nil {
		return false
	}
	defer nc.Close()
	m, err := nc.Request("fika.agent."+agent+".request", body, time.Second)
	if err != nil {
		return false
	}
	var ack struct {
		Seq   uint64 `json:"seq"`
		Error any    `json:"error"`
	}
	return json.Unmarshal(m.Data, &ack) == nil && ack.Seq > 0 && ack.Error == nil
}
