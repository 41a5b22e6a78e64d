// Package setup is fika init and fika trust, which make the .fika of a project and put
// it in force with the person's consent.
//
// Read first: [NewInit], [NewTrust], [OfferTrust].
package setup
