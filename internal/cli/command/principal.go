package command

import (
	"os"

	"fika/internal/api"
	"fika/internal/rights/caller"
	"fika/internal/settings/config"
	"fika/internal/settings/folder"
	"fika/internal/system/process"
)

// Principal returns who runs this command: a person, or an agent through one of its
// tools. It is found out once. All known homes are looked at, because a tool can name
// another home.
func (e *Env) Principal() (api.Principal, error) {
	if e.principal.Kind != api.Nobody {
		return e.principal, nil
	}
	root, err := e.App().Root()
	if err != nil {
		return api.Principal{}, err
	}
	o := caller.Options{Step: e.App().Getenv(process.Mark)}
	o.Ancestors, o.Known = process.Ancestors(os.Getpid())
	if len(o.Ancestors) > 0 {
		for _, home := range folder.KnownHomes(root, e.App().Getenv) {
			for _, h := range folder.HomeAt(home).Holders() {
				o.Holders = append(o.Holders, caller.Holder{Process: h.Process, Agent: h.Agent, Home: home})
			}
		}
	}
	e.principal = caller.Find(o).Principal(root, e.username())
	return e.principal, nil
}

// username returns the name that the person goes by: $FIKA_USERNAME, or what the
// settings say. It is not checked here.
func (e *Env) username() string {
	if name := e.App().Getenv("FIKA_USERNAME"); name != "" {
		return name
	}
	if conf, err := e.App().Config(); err == nil {
		return conf.Username
	}
	return config.Default().Username // who only looks does not need the settings
}

// InsideTool reports whether a tool runs this command, and not a person. It is true if
// that cannot be found out.
func (e *Env) InsideTool() bool {
	who, err := e.Principal()
	return err != nil || who.Kind != api.Person
}
