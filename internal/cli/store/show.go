package store

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"fika/internal/admin/backup"
	"fika/internal/cli/command"
	"fika/internal/service"
	"fika/internal/settings/config"
)

// JSON is a database as --json prints it.
type JSON struct {
	Path   string `json:"path"`
	Engine string `json:"engine"`
	Schema int64  `json:"schema"`
	Bytes  int64  `json:"bytes"`
	ID     string `json:"id"`
	Sync   string `json:"sync"`
	// Of a server; null for a database in a file.
	Latency        *float64 `json:"latency_ms"`
	Connections    *int     `json:"connections"`
	MaxConnections *int     `json:"max_connections"`
}

// ServerLine returns the state of a database server.
func ServerLine(m service.StoreMeta) string {
	return fmt.Sprintf("%s, %d of %d connections, %s", m.Sync, m.Connections, m.MaxConnections, m.Latency.Round(10*time.Microsecond))
}

// ToJSON returns a database as --json prints it; bytes is its size.
func ToJSON(m service.StoreMeta, bytes int64) JSON {
	return JSON{
		Path: config.WithoutSecrets(m.Path), Engine: m.Engine, Schema: m.Schema, Bytes: bytes, ID: m.StoreID, Sync: m.Sync,
		Latency: command.Optional(float64(m.Latency.Microseconds()) / 1000), Connections: command.Optional(m.Connections), MaxConnections: command.Optional(m.MaxConnections),
	}
}

func newShow(e *command.Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "show", Short: "show which database this home has, and its state", Args: command.Exactly(0, "no arguments"),
		Example: "  fika store show --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := backup.StoreMeta(cmd.Context(), e.App())
			if err != nil {
				return err
			}
			if asJSON {
				return e.PrintJSON(ToJSON(m, m.Bytes))
			}
			if err := e.Printf("%s\n%s, schema %d, id %s\n", config.WithoutSecrets(m.Path), m.Engine, m.Schema, m.StoreID); err != nil {
				return err
			}
			if m.MaxConnections > 0 {
				return e.Printf("%s\n", ServerLine(m))
			}
			return e.Printf("%s\n", m.Sync)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
