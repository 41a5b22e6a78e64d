package nats

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"math/rand/v2"
	"net"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"fika"
	"fika/internal/bus"
)

// Dial connects to a server. The connection then maintains itself until Close: it redials
// for ever, asks [Options.Redial] before each attempt, and keeps up to 8 MiB of what is
// published meanwhile. Without [Options.Retry] it is an error if the server does not
// answer within Timeout.
//
// Error kinds: Denied for wrong credentials, and for a server on another machine without
// TLS and login; Invalid for settings that cannot be right; NotFound when there is no
// hub; Failed when nobody answers.
func Dial(ctx context.Context, o Options) (bus.Bus, error) {
	if err := ctx.Err(); err != nil {
		return nil, fika.Wrap("", "connect to bus", err)
	}
	if o.URL == "" && o.Redial == nil {
		return nil, fika.Errorf(fika.Invalid, "connect to bus", "no server URL is given")
	}
	c := newConn(ctx, o)
	if o.Redial != nil {
		if err := c.findServer(); err != nil && !o.Retry && o.URL == "" {
			return nil, err
		}
	}
	opts, err := c.clientOptions()
	if err != nil {
		return nil, err
	}
	if err := c.connectFirst(ctx, opts); err != nil {
		return nil, err
	}
	return c, nil
}

// nowhere stands in the client's pool until the first endpoint is known; the dialer
// replaces it with the real address.
const nowhere = "nats://127.0.0.1:4222"

// clientOptions translates the options for the client library. It is called once, after
// [Options.Redial] has been asked for the first endpoint.
func (c *conn) clientOptions() ([]nats.Option, error) {
	o := c.opts
	if c.currentEndpoint().URL != "" || o.Redial == nil {
		if err := o.withEndpoint(c.currentEndpoint()).checkURLs(c.currentEndpoint().URL); err != nil {
			return nil, err
		}
	}
	opts := []nats.Option{
		nats.Name(o.Name), nats.Timeout(c.dialTimeout()), nats.MaxReconnects(-1), nats.IgnoreAuthErrorAbort(),
		nats.CustomReconnectDelay(o.WaitAfter), nats.ReconnectBufSize(reconnectBytes),
		nats.PingInterval(pingInterval), nats.MaxPingsOutstanding(pingsOut),
		nats.RetryOnFailedConnect(o.Retry), nats.SetCustomDialer(dialer{c}),
		nats.ConnectHandler(func(*nats.Conn) { c.changeState(bus.Connected, nil) }),
		nats.ReconnectHandler(func(*nats.Conn) { c.changeState(bus.Connected, nil) }),
		nats.DisconnectErrHandler(func(nc *nats.Conn, err error) {
			if !nc.IsClosed() { // Close disconnects too
				c.changeState(bus.Reconnecting, connectError(err))
			}
		}),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { c.changeState(bus.Reconnecting, connectError(err)) }),
		nats.ClosedHandler(func(nc *nats.Conn) { c.changeState(bus.Closed, nil); close(c.closed) }),
		nats.ErrorHandler(c.asyncError),
	}
	switch {
	case o.CredsFile != "":
		opts = append(opts, nats.UserCredentials(o.CredsFile))
	case o.NKeyFile != "":
		key, err := nats.NkeyOptionFromSeed(o.NKeyFile)
		if err != nil {
			return nil, fika.Wrap(fika.Invalid, "read nkey "+o.NKeyFile, err)
		}
		opts = append(opts, key)
	default:
		opts = append(opts,
			nats.UserInfoHandler(func() (string, string) { e := c.currentEndpoint(); return e.User, e.Password }),
			nats.TokenHandler(func() string { return c.currentEndpoint().Token }))
	}
	if inbox := c.currentEndpoint().Inbox; inbox != "" {
		opts = append(opts, nats.CustomInboxPrefix(inbox))
	}
	if o.Redial != nil {
		opts = append(opts, nats.IgnoreDiscoveredServers())
	}
	conf, err := o.tlsConfig()
	if conf != nil {
		opts = append(opts, nats.Secure(conf))
	}
	return opts, err
}

// withEndpoint overrides the options with the values of an endpoint.
func (o Options) withEndpoint(e Endpoint) Options {
	o.URL, o.User, o.Password, o.Token = e.URL, e.User, e.Password, e.Token
	return o
}

// connectFirst makes the first connection. The library takes no context, so the dialer
// ends the attempt when ctx ends.
func (c *conn) connectFirst(ctx context.Context, opts []nats.Option) error {
	target := c.currentEndpoint().URL
	if target == "" {
		target = nowhere
	}
	nc, err := nats.Connect(target, opts...)
	c.freeContext()
	if ctxErr := ctx.Err(); err != nil && ctxErr != nil {
		return fika.Wrap("", "connect to bus at "+redactServers(target), ctxErr)
	}
	if err != nil {
		return fika.Wrap("", "connect to bus at "+redactServers(target), connectError(err))
	}
	c.nc = nc
	if nc.IsConnected() {
		c.changeState(bus.Connected, nil)
	}
	return nil
}

// firstDial returns the function that opens TCP connections while Dial runs; they are
// closed when ctx ends.
func (c *conn) firstDial(ctx context.Context) func(network, address string) (net.Conn, error) {
	return func(network, address string) (net.Conn, error) {
		nd := net.Dialer{Timeout: c.dialTimeout()}
		tcp, err := nd.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		stop := context.AfterFunc(ctx, func() { _ = tcp.Close() })
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.dial == nil {
			stop()
			return tcp, ctx.Err()
		}
		c.unbind = append(c.unbind, stop)
		return tcp, nil
	}
}

// freeContext detaches the connection from the context of Dial.
func (c *conn) freeContext() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, stop := range c.unbind {
		stop()
	}
	c.dial, c.unbind = nil, nil
}

func redactServers(list string) string {
	parts := strings.Split(list, ",")
	for i, p := range parts {
		if u, err := parseURL(p); err == nil {
			parts[i] = u.Redacted()
		}
	}
	return strings.Join(parts, ",")
}

func (c *conn) dialTimeout() time.Duration {
	if c.opts.Timeout > 0 {
		return c.opts.Timeout
	}
	return defaultTimeout
}

// WaitAfter returns the wait after an attempt to connect, counted from 1. It doubles with
// each attempt, and has jitter so that clients do not all return at once.
func (o Options) WaitAfter(attempt int) time.Duration {
	d := o.ReconnectWait
	if d <= 0 {
		d = defaultWait
	}
	longest := max(cmp.Or(o.LongestWait, longestWait), d)
	for ; attempt > 1 && d < longest; attempt-- {
		d *= 2
	}
	d = min(d, longest)
	return d/2 + rand.N(d)
}

// findServer asks Redial where the server is now.
func (c *conn) findServer() error {
	e, err := c.opts.Redial()
	if err != nil {
		return err
	}
	if err := c.opts.withEndpoint(e).checkURLs(e.URL); err != nil {
		return err
	}
	c.mu.Lock()
	c.ep = e
	c.mu.Unlock()
	return nil
}

// dialer opens the TCP connections of a conn.
type dialer struct{ c *conn }

// Dial connects to the current endpoint if that can change, otherwise to address.
func (d dialer) Dial(network, address string) (net.Conn, error) {
	if d.c.opts.Redial != nil {
		if err := d.c.findServer(); err != nil {
			return nil, err
		}
		u, err := parseURL(d.c.currentEndpoint().URL)
		if err != nil {
			return nil, err
		}
		address = u.Host
		if u.Port() == "" {
			address = net.JoinHostPort(u.Hostname(), "4222")
		}
	}
	d.c.mu.Lock()
	dial := d.c.dial
	d.c.mu.Unlock()
	if dial == nil {
		nd := net.Dialer{Timeout: d.c.dialTimeout()}
		dial = nd.Dial
	}
	return dial(network, address)
}

// connectError gives an error of the library a kind and a message.
func connectError(err error) error {
	var own *fika.Error
	var untrusted *tls.CertificateVerificationError
	switch {
	case err == nil || errors.As(err, &own):
		return err
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked):
		return fika.Wrap(fika.Denied, "log in to bus", err)
	case errors.Is(err, nats.ErrSecureConnRequired), errors.Is(err, nats.ErrSecureConnWanted), errors.As(err, &untrusted):
		return fika.Wrap(fika.Denied, "log in to bus", err)
	case errors.Is(err, nats.ErrNoServers), errors.Is(err, nats.ErrTimeout):
		return fika.Errorf(fika.Failed, "", "nobody answers there")
	default:
		return fika.Wrap(fika.Failed, "", err)
	}
}
