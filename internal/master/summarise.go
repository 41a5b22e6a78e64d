package master

import (
	"context"
	"strings"

	"fika"
)

// beginSummary has an agent's conversation summed up, without keeping the console
// waiting.
func (m *Master) beginSummary(ctx context.Context, name string) error {
	if m.o.Summarise == nil {
		return fika.Errorf(fika.Invalid, "", "no summary is written here; fika agent summarise")
	}
	row, err := m.o.Directory.Find(ctx, strings.TrimPrefix(name, "@"))
	if err != nil {
		return err
	}
	m.printLine("Summing up what @%s has before it...", row.Name)
	m.runBeside(func() func() {
		text, err := m.o.Summarise(ctx, row.Name)
		return func() {
			if err != nil {
				m.showTrouble(err)
				return
			}
			m.printLine("@%s, summed up:", row.Name)
			m.o.Screen.Print(m.render(text))
		}
	})
	return nil
}
