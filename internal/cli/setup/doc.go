// Package setup is fika init and fika trust: the .fika of a project, and what of it
// the person agrees to.
//
// Read first: [NewInit], [NewTrust], [OfferTrust].
package setup
