package guard

import "net"

// ReachRule returns the rule that decides whether the commands of bash reach a host; nil:
// none does.
func ReachRule(rules []Rule, host string, tainted bool) *Rule {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	var fitting []Rule
	for _, r := range rules {
		named := r.Tool == "bash" || r.Do != Allow && r.forTool("bash") // a rule about fetching allows commands nothing
		if r.Host != "" && named && (!r.Tainted || tainted) {
			fitting = append(fitting, r)
		}
	}
	return judge(fitting, Facts{Default: Ask}, host, func(r Rule) bool { return matchHost(r.Host, host) }).Rule
}
