package main

import (
	"slices"
	"testing"

	"github.com/urlget/urlget/fetch/cookies"
)

func TestWorkerUsesOnlyGivenFiles(t *testing.T) {
	t.Parallel()
	c := untrustedConfig(&networkFlags{knownHosts: []string{"hosts"}, tofu: "certificates"}, cookies.New())
	if s := c.SFTP; !slices.Equal(s.KnownHosts, []string{"hosts"}) || !s.NoConfig || !s.NoAgent || !s.NoIdentities {
		t.Errorf("%+v", s)
	}
	if c.Gemini.Certificates != "certificates" {
		t.Errorf("%+v", c.Gemini)
	}
	c = untrustedConfig(&networkFlags{}, cookies.New())
	if c.SFTP.KnownHosts != nil || c.Gemini.Certificates != "" {
		t.Errorf("%+v, %+v", c.SFTP, c.Gemini)
	}
}
