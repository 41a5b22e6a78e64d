package command

// PersonName returns the name of the person who answers: the username in the config.
func PersonName(e *Env) string {
	if c, err := e.App().Config(); err == nil && c.Username != "" {
		return c.Username
	}
	return "user"
}
