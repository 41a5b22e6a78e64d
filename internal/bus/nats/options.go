package nats

import (
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	"fika"
	"fika/internal/system/address"
)

// Options says where to connect and as which user. One of URL and Redial is needed; with
// both, URL is used only if Redial fails at first.
type Options struct {
	URL       string // nats://, tls:// or ws(s)://; several are separated by commas
	User      string
	Password  string
	Token     string
	NKeyFile  string // seed of an nkey
	CredsFile string // a .creds file with JWT and seed
	TLS       bool   // require TLS whatever the scheme
	TLSCA     string // PEM file of the authority, instead of the system's
	TLSCert   string // PEM file of the client's certificate
	TLSKey    string

	Name          string        // shown in the server's list of connections
	Inbox         string        // prefix of reply subjects; "_INBOX" if empty
	ReconnectWait time.Duration // first wait, doubled up to the longest, with jitter; 100 ms if zero
	LongestWait   time.Duration // 2 s if zero; never less than ReconnectWait
	Timeout       time.Duration // for one attempt to connect; 5 s if zero
	Retry         bool          // Dial succeeds even when the server is away

	// Redial returns the endpoint before every attempt, so that a hub that came back on
	// another port or with other credentials is found.
	Redial func() (Endpoint, error)
	Log    *slog.Logger // slow consumers, refused subjects; nil discards them
}

const (
	defaultWait    = 100 * time.Millisecond
	longestWait    = 2 * time.Second
	defaultTimeout = 5 * time.Second
	pingInterval   = 10 * time.Second
	pingsOut       = 2
	reconnectBytes = 8 << 20
	pendingMsgs    = 512 << 10
	pendingBytes   = 64 << 20
	defaultPayload = 1 << 20
)

func (o Options) firstEndpoint() Endpoint {
	return Endpoint{URL: o.URL, User: o.User, Password: o.Password, Token: o.Token, Inbox: o.Inbox}
}

func (o Options) logOrDiscard() *slog.Logger {
	if o.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Log
}

func (o Options) hasTLS() bool { return o.TLS || o.TLSCA != "" || o.TLSCert != "" }

func (o Options) hasLogin() bool {
	return o.User != "" || o.Token != "" || o.NKeyFile != "" || o.CredsFile != "" || o.TLSCert != ""
}

// tlsConfig reads the TLS files. It returns nil when TLS depends on the scheme alone.
func (o Options) tlsConfig() (*tls.Config, error) {
	if !o.hasTLS() {
		return nil, nil
	}
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.TLSCA != "" {
		pem, err := os.ReadFile(o.TLSCA)
		if err != nil {
			return nil, fika.Wrap(fika.Invalid, "read TLS authority", err)
		}
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fika.Errorf(fika.Invalid, "read TLS authority", "%s holds no PEM certificate", o.TLSCA)
		}
	}
	if o.TLSCert != "" || o.TLSKey != "" {
		pair, err := tls.LoadX509KeyPair(o.TLSCert, o.TLSKey)
		if err != nil {
			return nil, fika.Wrap(fika.Invalid, "read TLS client certificate", err)
		}
		conf.Certificates = []tls.Certificate{pair}
	}
	return conf, nil
}

// checkURLs refuses URLs that cannot be dialled, and those that leave this machine
// unencrypted or without a login.
func (o Options) checkURLs(list string) error {
	for _, raw := range strings.Split(list, ",") {
		u, err := parseURL(raw)
		if err != nil {
			return err
		}
		if address.IsLoopback(u.Hostname()) {
			continue
		}
		secure := o.hasTLS() || u.Scheme == "tls" || u.Scheme == "wss"
		if secure && (o.hasLogin() || u.User != nil) {
			continue
		}
		return fika.Errorf(fika.Denied, "connect to bus", "%s is not on this machine, so it needs TLS and a login: "+
			`set server = "tls://%s" in [nats], and user and password, token, nkey or creds`, u.Redacted(), u.Host)
	}
	return nil
}

func parseURL(raw string) (*url.URL, error) {
	raw = strings.TrimSpace(raw)
	if raw != "" && !strings.Contains(raw, "://") {
		raw = "nats://" + raw
	}
	u, err := url.Parse(raw)
	if err != nil {
		// The cause repeats the URL, including the password.
		return nil, fika.Errorf(fika.Invalid, "connect to bus", "the server URL cannot be read; it looks like nats://127.0.0.1:4222")
	}
	switch {
	case u.Hostname() == "":
		return nil, fika.Errorf(fika.Invalid, "connect to bus", "%q is not a server URL; it looks like nats://127.0.0.1:4222", u.Redacted())
	case u.Scheme != "nats" && u.Scheme != "tls" && u.Scheme != "ws" && u.Scheme != "wss":
		return nil, fika.Errorf(fika.Invalid, "connect to bus", "%s has the scheme %q; use nats, tls, ws or wss", u.Redacted(), u.Scheme)
	}
	return u, nil
}
