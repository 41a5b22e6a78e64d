package master

import (
	"context"
	"strings"

	"fika"
	"fika/internal/text/hint"
)

// beginSummary runs /summarise AGENT: it has an agent's conversation summarised, without
// keeping the console waiting.
func (m *Master) beginSummary(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return fika.Errorf(fika.Invalid, "", "/summarise takes the name of an agent")
	}
	if m.o.Summarise == nil {
		return fika.Errorf(fika.Invalid, "", "no summary is written here; %s", hint.AgentSummarise.With())
	}
	row, err := m.o.Directory.Find(ctx, strings.TrimPrefix(args[0], "@"))
	if err != nil {
		return err
	}
	m.out.printLine("Summing up what @%s has before it...", row.Name)
	m.runBeside(func() func() {
		text, err := m.o.Summarise(ctx, row.Name)
		return func() {
			if err != nil {
				m.showTrouble(err)
				return
			}
			m.out.printLine("@%s, summed up:", row.Name)
			m.o.Screen.Print(m.out.rendered(text))
		}
	})
	return nil
}
