// Package integration tests the library and the command against real servers and bad networks. The
// tests need the build tag integration.
package integration
