package master

import (
	"context"
	"strings"

	"fika"
	"fika/internal/text/hint"
)

// beginCompaction runs /compact AGENT [WHAT TO KEEP]: it has an agent's conversation
// compacted, without keeping the console waiting.
func (m *Master) beginCompaction(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return fika.Errorf(fika.Invalid, "", "/compact takes the name of an agent, and perhaps what the summary should keep")
	}
	if m.o.Compact == nil {
		return fika.Errorf(fika.Invalid, "", "nothing is compacted here; %s", hint.ContextCompact.With())
	}
	row, err := m.o.Directory.Find(ctx, strings.TrimPrefix(args[0], "@"))
	if err != nil {
		return err
	}
	m.out.printLine("Compacting the conversation of @%s...", row.Name)
	m.runBeside(func() func() {
		said, err := m.o.Compact(ctx, row.Name, strings.Join(args[1:], " "))
		return func() {
			if err != nil {
				m.showTrouble(err)
				return
			}
			m.out.printSuccess("%s", said)
		}
	})
	return nil
}
