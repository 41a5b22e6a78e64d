// Package site checks the links of the Markdown files, and those of the site that make site
// makes of them. It knows no page by name, so that pages may be moved and renamed.
//
// Read first: TestLinks, and TestSite, which builds the site with FULL=1.
package site
