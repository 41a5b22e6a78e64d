package anthropic

import (
	"slices"
	"strconv"
	"strings"
)

// family is how the models of one generation think. Sources, read in November
// 2026:
//
//   - the types ThinkingConfig*Param and OutputConfigEffort of
//     anthropic-sdk-go v1.84.0 (message.go), and its list of models;
//   - https://platform.claude.com/docs/en/build-with-claude/effort
//   - https://platform.claude.com/docs/en/models/fable-5/migration-guide: only
//     adaptive thinking; a budget and "disabled" are refused;
//   - https://platform.claude.com/docs/en/models/opus-5-5/whats-new-opus-5-5:
//     likewise; reasoning is tied to model and conversation;
//   - https://platform.claude.com/docs/en/models/opus-5/migration-guide:
//     thinks unless told not to;
//   - https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-adaptive-thinking.html:
//     adaptive since 4.6, where a budget is deprecated; none since 4.7;
//   - https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks:
//     which models check the beginning.
type family struct {
	adaptive bool     // takes {"type": "adaptive"} and an effort
	budgets  bool     // takes a number of tokens
	unbidden bool     // thinks unless told not to
	always   bool     // cannot be told not to
	disable  string   // the type that turns thinking off; empty: leave the field out
	efforts  []string // of adaptive thinking, least first
	bound    bool     // checks that nothing before its reasoning has changed

	structured bool // holds an answer to a schema: since 4.5, platform.claude.com/docs/en/build-with-claude/structured-outputs
}

// familyOf derives a model's family from its name: claude-TIER-MAJOR-MINOR, or
// claude-MAJOR-MINOR-TIER before 4. A name that is not Anthropic's gets a budget, which
// other makers' servers know; an unknown tier counts as new.
func familyOf(model string) family {
	parts := strings.FieldsFunc(strings.ToLower(model), func(r rune) bool { return strings.ContainsRune("-./@:_", r) })
	at := slices.Index(parts, "claude")
	if at < 0 {
		return family{budgets: true}
	}
	tier, version := nameAndVersion(parts[at+1:])
	f := family{adaptive: true, structured: true, efforts: []string{"low", "medium", "high", "xhigh", "max"}}
	switch {
	case version < 406:
		return family{budgets: true, structured: version >= 405}
	case version == 406:
		f.budgets = true
		f.efforts = []string{"low", "medium", "high", "max"}
	case version < 500: // off unless asked for
	default:
		f.unbidden = true
		f.always = tier != "sonnet" && tier != "haiku" && (tier != "opus" || version >= 505)
		f.bound = version >= 505 || version >= 501 && (tier == "fable" || tier == "mythos")
		f.disable = "disabled"
		if tier == "sonnet" && version >= 505 {
			f.disable = "between_tools"
		}
	}
	return f
}

// nameAndVersion returns the tier, and the version as 100 × major + minor. A number of
// more than two digits is a date; no number counts as 5.
func nameAndVersion(parts []string) (tier string, version int) {
	var numbers []int
	for _, p := range parts {
		n, err := strconv.Atoi(p)
		switch {
		case err == nil && len(p) <= 2 && len(numbers) < 2:
			numbers = append(numbers, n)
		case err != nil && tier == "":
			tier = p
		}
	}
	switch len(numbers) {
	case 0:
		return tier, 500
	case 1:
		return tier, 100 * numbers[0]
	}
	return tier, 100*numbers[0] + numbers[1]
}

// clampEffort returns the nearest effort at or below the requested one that the family
// knows, else its lowest.
func (f family) clampEffort(effort string) string {
	order := []string{"minimal", "low", "medium", "high", "xhigh", "max"}
	for i := slices.Index(order, effort); i > 0; i-- {
		if slices.Contains(f.efforts, order[i]) {
			return order[i]
		}
	}
	return f.efforts[0]
}
