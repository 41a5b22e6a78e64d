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
		if err := a.ExternalOptions(c, &o); err != nil {
			return BusAccess{}, err
		}
		return BusAccess{URL: o.URL, User: o.User, Password: o.Password, Token: o.Token, NKey: o.NKeyFile, Creds: o.CredsFile,
			TLSCA: o.TLSCA, TLSCert: o.TLSCert, TLSKey: o.TLSKey}, nil
	}
	ep, err := busnats.Credentials(h.RunDir(), busnats.UserMember)
	return BusAccess{URL: ep.URL, User: ep.User, Password: ep.Password, Own: true}, err
}

// BusAccount is an account for a NATS server that is not fika's own.
type BusAccount struct {
	Config                       string // for nats-server
	HostUser, HostPassword       string
	ProgramUser, ProgramPassword string
}

// BusAccount returns an account with new passwords for the subjects of this home. Error
// kinds: Denied, Invalid for a bad subject_prefix.
func (c *Service) BusAccount() (BusAccount, error) {
	a := BusAccount{HostUser: busnats.AccountHost, HostPassword: busnats.NewPassword(), ProgramUser: busnats.AccountProgram, ProgramPassword: busnats.NewPassword()}
	if err := c.may("host.bus"); err != nil {
		return a, err
	}
	var err error
	a.Config, err = busnats.ServerAccount(c.config().NATS.SubjectPrefix, a.HostPassword, a.ProgramPassword)
	return a, err
}
