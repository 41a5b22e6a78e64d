package api

import "context"

// Meter says how much goes on and was done.
type Meter interface {
	// Metrics returns the figures of the home, by name, as far as they are about agents
	// that the principal may see. Counters never fall, whatever is deleted, and go on
	// where they were after a restart.
	Metrics(context.Context) ([]Metric, error)
}

// Metric is a figure with its values.
type Metric struct {
	Name    string // as Prometheus names it, with its unit
	Help    string // one line
	Counter bool   // it only grows; otherwise it says how things stand
	Samples []Sample
}

// Sample is a value of a metric. The labels that it does not have are empty; there are no
// others, so their number does not grow with conversations or requests.
type Sample struct {
	Agent, Model, Tool, Outcome, Engine string
	Value                               float64
}
