package schedule

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // zones even if the system has none

	"fika/internal/text/spelling"
)

// FindZone returns the time zone with a name such as Europe/Stockholm. An empty name
// means this machine's zone, which is also returned for an invalid name. wrong says
// what is wrong with the name; it is empty if nothing is.
func FindZone(name string) (zone *time.Location, wrong string) {
	if name == "" || strings.EqualFold(name, "local") {
		return time.Local, ""
	}
	if zone, err := time.LoadLocation(name); err == nil {
		return zone, ""
	}
	text := fmt.Sprintf("time zone %q not found", name)
	if near := spelling.Nearest(name, commonZones()); near != "" {
		return time.Local, text + "; did you mean " + near + "?"
	}
	return time.Local, text + ": write one as Europe/Stockholm or UTC, or leave it out for that of this machine"
}

// commonZones returns the zones that are suggested for a misspelt name.
func commonZones() []string {
	var all []string
	for area, cities := range map[string]string{
		"Africa":    "Cairo Casablanca Johannesburg Lagos Nairobi",
		"America":   "Anchorage Argentina/Buenos_Aires Bogota Chicago Denver Halifax Lima Los_Angeles Mexico_City New_York Phoenix Santiago Sao_Paulo Toronto Vancouver",
		"Asia":      "Bangkok Dubai Ho_Chi_Minh Hong_Kong Jakarta Jerusalem Karachi Kathmandu Kolkata Manila Riyadh Seoul Shanghai Singapore Taipei Tehran Tokyo",
		"Australia": "Adelaide Brisbane Melbourne Perth Sydney",
		"Europe":    "Amsterdam Athens Berlin Brussels Bucharest Budapest Copenhagen Dublin Helsinki Istanbul Kyiv Lisbon London Madrid Moscow Oslo Paris Prague Rome Stockholm Vienna Warsaw Zurich",
		"Pacific":   "Auckland Honolulu",
		"Atlantic":  "Reykjavik",
	} {
		for _, city := range strings.Fields(cities) {
			all = append(all, area+"/"+city)
		}
	}
	return append(all, "UTC", "Local")
}
