package command

// PersonName is what the person who answers is called.
func PersonName(e *Env) string {
	if c, err := e.App().Config(); err == nil && c.Username != "" {
		return c.Username
	}
	return "user"
}
