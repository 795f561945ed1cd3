// Package integration tests the library and the command against real servers and over unreliable
// networks. The tests require the build tag integration.
package integration
