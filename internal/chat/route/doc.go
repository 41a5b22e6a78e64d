// Package route says which agent fits a prompt best: by the names, capabilities,
// descriptions and examples of agents, and by a small vocabulary of everyday work.
//
// It is pure. Agents and a prompt come in as values, and the same values give the same
// ranking, byte for byte; no file is opened and no model asked. It knows neither which
// agents exist nor why an agent may not be chosen: the caller says so ([Agent.Barred]).
//
// Read first: [Rank], [Agent], [Match]. text.go turns texts into terms, and
// vocabulary.txt says which words ask for which work.
package route
