package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// series are samples of one quantity.
type series struct {
	unit string // ms, MiB
	all  []float64
}

func (s *series) add(v float64)        { s.all = append(s.all, v) }
func (s *series) took(d time.Duration) { s.unit = "ms"; s.add(float64(d) / 1e6) }
func (s *series) median() float64      { return s.at(0.5) }
func (s *series) at(q float64) float64 {
	if len(s.all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s.all))
	return sorted[int(q*float64(len(sorted)-1)+0.5)]
}

// skip drops the samples of the warm-up.
func (s *series) skip(n int) { s.all = s.all[min(n, len(s.all)):] }

// stats is a series as reported.
type stats struct {
	Unit   string  `json:"unit"`
	N      int     `json:"n"`
	Min    float64 `json:"min"`
	P10    float64 `json:"p10"`
	Median float64 `json:"median"`
	P90    float64 `json:"p90"`
	P99    float64 `json:"p99"`
}

func (s *series) stats() *stats {
	return &stats{Unit: s.unit, N: len(s.all), Min: s.at(0), P10: s.at(0.1), Median: s.median(), P90: s.at(0.9), P99: s.at(0.99)}
}

func (s stats) String() string {
	return fmt.Sprintf("median %8.3f %s   p10 %.3f  p90 %.3f  p99 %.3f  min %.3f  (n %d)", s.Median, s.Unit, s.P10, s.P90, s.P99, s.Min, s.N)
}

// result is one goal: fika's figure, the floor of the same run, and the ratio.
type result struct {
	Name      string   `json:"name"`
	Fika      *stats   `json:"fika,omitempty"`
	FloorName string   `json:"floor_name,omitempty"`
	Floor     *stats   `json:"floor,omitempty"`
	Ratio     float64  `json:"ratio,omitempty"`     // of medians
	RatioMin  float64  `json:"ratio_min,omitempty"` // of the fastest
	Goal      string   `json:"goal,omitempty"`
	Met       *bool    `json:"met,omitempty"`
	Notes     []string `json:"notes,omitempty"`
}

// compare returns a result whose goal is a ratio; with most 0 it is only reported.
func compare(name string, fika *series, floorName string, floor *series, most float64) result {
	r := result{Name: name, Fika: fika.stats(), FloorName: floorName, Floor: floor.stats()}
	if r.Floor.Median > 0 && r.Floor.Min > 0 {
		r.Ratio, r.RatioMin = r.Fika.Median/r.Floor.Median, r.Fika.Min/r.Floor.Min
	}
	if most > 0 {
		r.goal(fmt.Sprintf("<= %g x", most), r.Ratio > 0 && r.Ratio <= most)
	}
	return r
}

// bound returns a result whose goal is a number; with most 0 it is only reported.
func bound(name string, fika *series, most float64) result {
	r := result{Name: name, Fika: fika.stats()}
	if most > 0 {
		r.goal(fmt.Sprintf("<= %g %s", most, r.Fika.Unit), r.Fika.Median <= most)
	}
	return r
}

func (r *result) goal(words string, met bool) { r.Goal, r.Met = words, &met }

func (r *result) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

func (r result) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "  %s\n", r.Name)
	if r.Fika != nil {
		fmt.Fprintf(&b, "    fika   %s\n", r.Fika)
	}
	if r.Floor != nil {
		fmt.Fprintf(&b, "    floor  %s: %s\n", r.Floor, r.FloorName)
		fmt.Fprintf(&b, "    ratio  %.2f x (of the quickest: %.2f x)\n", r.Ratio, r.RatioMin)
	}
	if r.Goal != "" {
		word := "MISSED"
		if *r.Met {
			word = "met"
		}
		fmt.Fprintf(&b, "    goal   %s: %s\n", r.Goal, word)
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "    note   %s\n", n)
	}
	return b.String()
}
