// Package guide contains the programs of docs/library.md. A test checks that the guide shows them
// as they are here.
package guide
