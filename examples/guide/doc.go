// Package guide contains the programs of docs/library.md, except those about queues, which are in
// queue/guide_test.go. A test checks that the guide shows them as they are there.
package guide
