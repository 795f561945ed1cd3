// Package guide has the programs of docs/library.md. The guide shows its functions as they are
// here, which a test sees to.
package guide
