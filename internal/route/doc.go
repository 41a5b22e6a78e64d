// Package route tells which agent fits a prompt best: by names, capabilities,
// descriptions and examples of agents, and by a small vocabulary of everyday work.
//
// It is pure. Agents and a prompt come in as values, and the same values give the
// same ranking, byte for byte; no file is opened and no model asked. It neither
// knows which agents there are nor why one may not be chosen: who calls it says
// so ([Agent.Barred]).
//
// Read first: [Rank], [Agent], [Match]. text.go turns texts into terms, and
// vocabulary.txt says what is asked for with which words.
package route
