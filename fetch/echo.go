package fetch

import (
	"bytes"
	"slices"
	"strings"
)

// Servers repeat commands in their replies, with the secrets in them: "500 'PASS x' not understood". So
// the secrets that a connection has sent are masked in what it receives: in lines, and in the bytes of the
// reply to the secret. Later bytes may be content, which is recorded as it is.

const (
	// maxSecrets bounds the secrets that a connection remembers. Drivers try a few logins.
	maxSecrets = 8
	// leastSecret is the length in bytes from which a secret is masked among bytes, not only in lines.
	leastSecret = 4
)

// remember notes the secret in p, which is recorded as shown.
func (c *Conn) remember(p, shown []byte) {
	for len(p) > 0 && len(shown) > 0 && p[0] == shown[0] {
		p, shown = p[1:], shown[1:]
	}
	for len(p) > 0 && len(shown) > 0 && p[len(p)-1] == shown[len(shown)-1] {
		p, shown = p[:len(p)-1], shown[:len(shown)-1]
	}
	secret := string(bytes.Trim(p, `"`)) // IMAP quotes it
	all := c.knownSecrets()
	if secret == "" || len(all) == maxSecrets || slices.Contains(all, secret) {
		return
	}
	all = append(slices.Clip(all), secret)
	c.secrets.Store(&all)
}

func (c *Conn) knownSecrets() []string {
	if all := c.secrets.Load(); all != nil {
		return *all
	}
	return nil
}

// maskLine returns what to record for a received line.
func (c *Conn) maskLine(line string) string {
	for _, secret := range c.knownSecrets() {
		line = strings.ReplaceAll(line, secret, "****")
	}
	return line
}

// maskReply returns what to record for received bytes. Their number remains. The reply may be content, such
// as a document of Gopher or Gemini, where a short secret could be part of any word.
func (c *Conn) maskReply(p []byte) []byte {
	if c.sentSecret.Load() && c.rec.Load().wantsBytes() {
		for _, secret := range c.knownSecrets() {
			if len(secret) < leastSecret {
				continue
			}
			p = bytes.ReplaceAll(p, []byte(secret), bytes.Repeat([]byte("*"), len(secret)))
		}
	}
	return p
}
