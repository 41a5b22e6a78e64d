package service

import (
	"fika/internal/app"
	busnats "fika/internal/bus/nats"
)

// BusAccess says how a program that is not fika reaches the bus, and as which user.
type BusAccess struct {
	URL      string `json:"url"`
	User     string `json:"user"`
	Password string `json:"password"`
	Token    string `json:"token"`
	NKey     string `json:"nkey"`  // path of a seed file
	Creds    string `json:"creds"` // path of a credentials file
	TLSCA    string `json:"tls_ca"`
	TLSCert  string `json:"tls_cert"`
	TLSKey   string `json:"tls_key"`
	Own      bool   `json:"embedded"`
}

// ReadBusAccess returns the address and credential for a foreign program: those of a
// member of the hub's own server, or those that the configuration names for an external
// one.
func ReadBusAccess(a *app.App) (BusAccess, error) {
	h, c, err := a.HomeAndConfig()
	if err != nil {
		return BusAccess{}, err
	}
	if a.External(c, h) {
		var o busnats.Options
		a.ExternalOptions(c, &o)
		return BusAccess{URL: o.URL, User: o.User, Password: o.Password, Token: o.Token, NKey: o.NKeyFile, Creds: o.CredsFile,
			TLSCA: o.TLSCA, TLSCert: o.TLSCert, TLSKey: o.TLSKey}, nil
	}
	ep, err := busnats.Credentials(h.RunDir(), busnats.UserMember)
	return BusAccess{URL: ep.URL, User: ep.User, Password: ep.Password, Own: true}, err
}
