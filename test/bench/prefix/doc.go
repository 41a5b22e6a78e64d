// Package prefix measures how much of what a program sends to a model the model's
// provider has read before. Providers cache a conversation by its beginning and bill the
// rest in full, so whatever changes near the beginning is paid for again with all that
// follows it.
//
// Read first: [Counter] (a model server that records what it is sent), [Row] (what was
// counted), [Scenes] (the conversations that are measured, with their goals).
//
// It shares no code with the program that it measures. A counter owns its server; a
// [Home] owns its folder, and a hub that a scene starts in it is brought down with the
// scene.
package prefix
