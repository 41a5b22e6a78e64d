package app

import "fika/internal/settings/config"

// UsedExecutors returns the [[executors]] entries that are used for tools.
func UsedExecutors(c *config.Config) (out []config.Executor) {
	for _, x := range c.Executors {
		used := x.Name == c.Tools.Executor
		for i := range c.Agents {
			used = used || x.Name == c.Agents[i].Executor
		}
		if used {
			out = append(out, x)
		}
	}
	return out
}
