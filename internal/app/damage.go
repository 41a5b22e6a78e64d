package app

import busnats "fika/internal/bus/nats"

// DamageWarnings says what the home has lost of what other programs asked for,
// until a person has acknowledged it.
func (a *App) DamageWarnings() []string {
	h, err := a.Home()
	if err != nil {
		return nil
	}
	return busnats.DamageWarnings(h.RunDir())
}
