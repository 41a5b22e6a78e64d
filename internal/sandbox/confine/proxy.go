package confine

import (
	"fmt"
	"sync"

	"fika/internal/sandbox"
	"fika/internal/sandbox/egress"
	"fika/internal/tool"
)

// proxyVariables are those by which programs find the proxy that a call has in place of a
// network.
func proxyVariables(port uint16) []string {
	at := fmt.Sprintf("http://127.0.0.1:%d", port)
	return []string{
		"HTTP_PROXY=" + at, "HTTPS_PROXY=" + at, "ALL_PROXY=" + at, "http_proxy=" + at, "https_proxy=" + at, "all_proxy=" + at,
		"NO_PROXY=localhost,127.0.0.1,::1", "no_proxy=localhost,127.0.0.1,::1",
		"NODE_USE_ENV_PROXY=1", // node 24 and later obey the variables only then
	}
}

// proxied reports whether the call has a proxy: it is a command, it has no network of the
// machine but one of its own, and hosts are named for it.
func (c *call) proxied() bool {
	o := &c.agent.opts
	return c.plugin == "" && len(o.Hosts) > 0 && !o.Network && c.Tier() == string(sandbox.Full)
}

// proxy is that of one call. The zero proxy is none.
type proxy struct {
	handover *sandbox.Handover
	traffic  *tool.Traffic
	stop     chan struct{}
	serving  *sync.WaitGroup
}

// openProxy returns the proxy of a call, which begins to serve once the call's process
// has handed over its listener. The caller must close it.
func (c *call) openProxy() (proxy, error) {
	if !c.proxied() {
		return proxy{}, nil
	}
	h, err := sandbox.NewHandover(c.port())
	if err != nil {
		return proxy{}, err
	}
	p := proxy{handover: h, traffic: &tool.Traffic{}, stop: make(chan struct{}), serving: &sync.WaitGroup{}}
	p.serving.Go(func() {
		l, err := h.Listener()
		if err != nil {
			return // the process has not started, and says why
		}
		end := (&egress.Proxy{Hosts: c.agent.opts.Hosts}).Serve(l)
		<-p.stop
		*p.traffic = tool.Traffic(end())
	})
	return p, nil
}

// close ends the proxy with all its connections, and fills the traffic.
func (p proxy) close() {
	if p.handover == nil {
		return
	}
	close(p.stop)
	p.handover.Close()
	p.serving.Wait()
}
