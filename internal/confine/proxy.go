package confine

import (
	"sync"

	"fika/internal/egress"
	"fika/internal/sandbox"
	"fika/internal/tool"
)

// proxied are the variables by which programs find the proxy that a call has in place of
// a network.
var proxied = []string{
	"HTTP_PROXY=http://" + sandbox.ProxyAddress, "HTTPS_PROXY=http://" + sandbox.ProxyAddress, "ALL_PROXY=http://" + sandbox.ProxyAddress,
	"http_proxy=http://" + sandbox.ProxyAddress, "https_proxy=http://" + sandbox.ProxyAddress, "all_proxy=http://" + sandbox.ProxyAddress,
	"NO_PROXY=localhost,127.0.0.1,::1", "no_proxy=localhost,127.0.0.1,::1",
	"NODE_USE_ENV_PROXY=1", // node 24 and later obey the variables only then
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
	h, err := sandbox.NewHandover()
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
